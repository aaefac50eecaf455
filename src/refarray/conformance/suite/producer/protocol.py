"""CONS checks of a producer: it has both methods of the protocol."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import CheckResult, check, subject_code
from refarray.conformance.harness.producer import Producer

METHODS = ("__dlpack__", "__dlpack_device__")


def list_missing(array: Any) -> list[str]:
    """The methods of the protocol that the array's type lacks."""
    with subject_code():
        return [name for name in METHODS if not hasattr(type(array), name)]


@check("CONS-02", "methods", "the array type has __dlpack__ and __dlpack_device__")
def type_has_both_methods(producer: Producer) -> CheckResult:
    text = producer.text()
    missing = list_missing(producer.make(text))
    observed = f"missing: {', '.join(missing) or 'none'}"
    return CheckResult(not missing, observed, producer.repro(f"print(dir({text}))"))
