"""ABI checks of the exchange table: C functions must not throw."""

from __future__ import annotations

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, about, check
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.exchange_table import allocate, table_result


@check(
    "ABI-06",
    "no-memory",
    "an allocation that no memory can hold is a failure: nothing is thrown, the process lives",
    risky=True,
)
def allocator_without_memory(producer: Producer) -> CheckResult:
    line = "print(api.allocate(_adversary.make(shape=(1 << 45,))))"
    about(table_result(producer, True, "", line).repro)
    code, owned, errors = allocate(producer, _adversary.make(shape=(1 << 45,)))
    observed = f"code {code}, SetError {errors}"
    return table_result(producer, code != 0 and owned is None, observed, line)
