"""AAPI checks of a consumer: asarray, and the device of an imported array."""

from __future__ import annotations

from array import array
from typing import Any

from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    describe_error,
    subject_code,
)
from refarray.conformance.harness.consumer import Consumer, Import


def asarray(consumer: Consumer) -> tuple[str, Any]:
    """The name of the asarray in the namespace of from_dlpack, and the function. NotApplicable if
    there is none."""
    name = consumer.subject.from_dlpack.partition("(")[0]
    if not consumer.subject.array_api or not name.endswith("from_dlpack"):
        raise NotApplicable(f"{consumer.subject.name} does not claim the array API")
    name = name.removesuffix("from_dlpack") + "asarray"
    try:
        return name, eval(name, consumer.namespace)
    except (AttributeError, NameError) as error:
        raise NotApplicable(f"it has no asarray: {error}") from error


@check("AAPI-05", "buffer", "asarray takes an object with the buffer protocol")
def asarray_of_buffer(consumer: Consumer) -> CheckResult:
    name, function = asarray(consumer)
    repro = "\n".join(
        [
            f"from array import array; {consumer.subject.imports}",
            f"print({name}(array('f', [0, 1, 2])))",
        ]
    )
    given = array("f", [0, 1, 2])
    try:
        made = Import(function(given))
    except Exception as error:
        return CheckResult(False, describe_error(error), repro)
    values = made.values
    return CheckResult(values == [0.0, 1.0, 2.0], f"values {values}", repro)


@check("AAPI-05", "no-copy", "asarray of another dtype under copy=False is a ValueError")
def asarray_without_copy(consumer: Consumer) -> CheckResult:
    name, function = asarray(consumer)
    source, own = consumer.own()
    other = consumer.subject.dtype.format("float64")
    if not other or "float64" not in consumer.subject.dtypes:
        raise NotApplicable(f"{consumer.subject.name} has no float64")
    line = f"{name}({source}, dtype=({other}).dtype, copy=False)"
    repro = f"{consumer.subject.imports}\nprint({line})"
    try:
        function(own, dtype=eval(other, consumer.namespace).dtype, copy=False)
    except Exception as error:
        return CheckResult(isinstance(error, ValueError), describe_error(error), repro)
    return CheckResult(False, "accepted", repro)


@check("AAPI-06", "device", "an imported array's device equals the original's")
def device_is_equal(consumer: Consumer) -> CheckResult:
    source, own = consumer.own()
    with subject_code():
        if not hasattr(own, "device"):
            raise NotApplicable("its arrays have no device")
    found = consumer.take(own)
    if found.error is not None:
        raise NotApplicable(f"it refuses its own arrays: {found}")
    with subject_code():
        back = getattr(found.array, "device", None)
        held = bool(back == own.device)
        observed = f"{own.device} and {back}"
    return consumer.make_result(held, observed, source)
