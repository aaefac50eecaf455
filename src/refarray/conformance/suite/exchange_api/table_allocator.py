"""CAPI checks of the table's allocator: managed_tensor_allocator."""

from __future__ import annotations

import builtins
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.exchange_table import allocate, table_result

ALLOCATE = "print(api.allocate(_adversary.make(shape=(2, 3))))"


@check("CAPI-20", "prototype", "the allocator reads dtype, ndim, shape and device only", risky=True)
def reads_only_the_prototype(producer: Producer) -> CheckResult:
    wild = _adversary.make(shape=(2, 3), data=0xDEAD0008, strides=0xDEAD0008, byte_offset=2**63)
    code, owned, errors = allocate(producer, wild)
    held = code == 0 and owned is not None and tuple(owned.fields()["shape"]) == (2, 3)
    return table_result(producer, held, f"code {code}, errors {errors}", ALLOCATE)


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "dtype": {"dtype": (99, 32, 1)},
    "device": {"device": (9, 0)},
    "huge": {"shape": (2**62, 8)},
    "negative": {"shape": (-1,)},
}


@check_cases(
    "CAPI-21",
    IMPOSSIBLE,
    "an impossible allocation returns failure and calls SetError once",
    risky=True,
)
def failure_is_reported(producer: Producer, fields: dict[str, Any]) -> CheckResult:
    code, owned, errors = allocate(producer, _adversary.make(**fields))
    held = code != 0 and owned is None and len(errors) == 1
    line = f"print(api.allocate(_adversary.make(**{fields!r})))"
    return table_result(producer, held, f"code {code}, SetError {errors}", line)


@check(
    "CAPI-22",
    "thread",
    "the allocator works in a native thread while another thread holds the GIL",
    risky=True,
)
def works_in_native_thread(producer: Producer) -> CheckResult:
    code, owned, errors = allocate(producer, _adversary.make(shape=(2, 3)), thread=True)
    line = "print(api.allocate(_adversary.make(shape=(2, 3)), thread=True))"
    observed = f"code {code}, errors {errors}"
    return table_result(producer, code == 0 and owned is not None, observed, line)


@check("CAPI-23", "layout", "the allocated tensor is row-major, writable, with strides", risky=True)
def layout_is_row_major(producer: Producer) -> CheckResult:
    code, owned, errors = allocate(producer, _adversary.make(shape=(2, 3)))
    if code != 0:
        raise NotApplicable(f"it allocates nothing: {errors}")
    fields = owned.fields()
    held = tuple(fields["strides"] or ()) == (3, 1) and fields["flags"] == 0
    observed = f"strides {fields['strides']}, flags {fields['flags']}"
    return table_result(producer, held, observed, ALLOCATE)


@check(
    "CAPI-24", "kind", "the kind passed to SetError is the name of a Python exception", risky=True
)
def error_kind_is_an_exception(producer: Producer) -> CheckResult:
    code, _, errors = allocate(producer, _adversary.make(dtype=(99, 32, 1)))
    if code == 0 or not errors:
        raise NotApplicable(f"code {code}, SetError {errors}")
    kind = getattr(builtins, errors[0][0], None)
    held = isinstance(kind, type) and issubclass(kind, BaseException)
    line = "print(api.allocate(_adversary.make(dtype=(99, 32, 1))))"
    return table_result(producer, held, f"kind {errors[0][0]!r}", line)
