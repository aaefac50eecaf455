"""CONS checks of a consumer: the calls it makes, the exceptions and the capsules it accepts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refarray.conformance import _adversary, judgements
from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.harness.consumer import Consumer, Import, give, text
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.harness.recorder import PLAIN, Recorder, describe_calls
from refarray.conformance.requirements import Level


@check("CONS-01", "order", "__dlpack_device__ is called before __dlpack__")
def device_is_asked_first(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    consumer.take(recorder)
    methods = [method for method, _ in recorder.calls]
    return consumer.make_result(
        judgements.device_is_asked_first(methods), describe_calls(recorder), PLAIN
    )


@check("CONS-02", "neither", "an object without the methods is an AttributeError")
def object_without_methods(consumer: Consumer) -> CheckResult:
    found = consumer.take(object())
    result = consumer.make_result(isinstance(found.error, AttributeError), f"{found}", "object()")
    # Only the array API names the class.
    return result if consumer.subject.array_api else replace(result, level=Level.HAZARD)


class Odd(Exception):
    """An exception class that no library knows."""


PROPAGATED: tuple[type[BaseException], ...] = (
    *(BufferError, ValueError, MemoryError, RuntimeError, KeyboardInterrupt, Odd),
)


@check_cases(
    "CONS-03",
    {kind.__name__: kind for kind in PROPAGATED},
    "a {case} that the producer raises reaches the caller unchanged",
)
def raises_in_dlpack(consumer: Consumer, kind: type[BaseException]) -> CheckResult:
    if consumer.subject.overloads:
        raise NotApplicable("an input that no overload accepts is a TypeError, whatever it raised")
    error = kind("raised by the producer")

    def answer(**_: Any) -> Any:
        raise error

    found = consumer.take(Recorder(answer))
    given = f"give(raises={kind.__name__ if kind is not Odd else 'Exception'}('no'))"
    return consumer.make_result(found.error is error, f"{found}", given)


class RaisesInDevice(Recorder):
    """A producer whose `__dlpack_device__` raises."""

    def __dlpack_device__(self) -> tuple[int, int]:
        self.calls.append(("__dlpack_device__", {}))
        raise Odd("raised by __dlpack_device__")


@check("CONS-03", "device", "an exception of __dlpack_device__ reaches the caller unchanged")
def raises_in_device(consumer: Consumer) -> CheckResult:
    recorder = RaisesInDevice()
    found = consumer.take(recorder)
    if ("__dlpack_device__", {}) not in recorder.calls:
        raise NotApplicable("it does not call __dlpack_device__")
    given = "give(dunder_device=Exception('no'))"
    return consumer.make_result(isinstance(found.error, Odd), f"{found}", given)


@check(
    "CONS-04",
    "genuine-type-error",
    "a TypeError that every call raises reaches the caller, after one retry at most",
    level="HAZARD",  # the text shows one retry, and forbids no second one
)
def genuine_type_error(consumer: Consumer) -> CheckResult:
    def answer(**_: Any) -> Any:
        raise TypeError("a bug of the producer's")

    recorder = Recorder(answer)
    found = consumer.take(recorder)
    calls = len(recorder.requests)
    held = isinstance(found.error, TypeError) and calls <= 2
    return consumer.make_result(
        held, f"{found} after {calls} calls", "give(raises=TypeError('a bug'))"
    )


NAMES: dict[str, tuple[str | None, str]] = {
    "used": (
        "used_dltensor",
        "a capsule named used_dltensor is refused, its pointer not touched",
    ),
    "used-versioned": (
        "used_dltensor_versioned",
        "a capsule named used_dltensor_versioned is refused",
    ),
    "foreign": ("foo", "a capsule of another name is refused, its pointer not touched"),
    "nameless": (None, "a capsule without a name is refused, its pointer not touched"),
}


@check_cases("CONS-05", NAMES, "{value[1]}", risky=True)
def foreign_capsule_name(consumer: Consumer, row: tuple[str | None, str]) -> CheckResult:
    fields: dict[str, Any] = {"name": row[0]}
    recorder = Recorder(**fields)
    found = consumer.take(recorder)
    calls = recorder.deleter_calls
    held = found.refused and calls == 0
    return consumer.make_result(held, f"{found}; {calls} deleter calls", text(fields))


@check_cases(
    "CONS-05",
    {"none": None, "int": 7},
    "a __dlpack__ that returns {value!r} is an exception",
    risky=True,
)
def no_capsule(consumer: Consumer, returned: Any) -> CheckResult:
    found = consumer.take(Recorder(lambda **_: returned))
    return consumer.make_result(found.refused, f"{found}", f"give(returns={returned!r})")


@check(
    "CONS-06",
    "named",
    "a capsule is renamed before the deleter of a refused tensor runs",
    risky=True,
)
def capsule_is_renamed_before_deleter(consumer: Consumer) -> CheckResult:
    names: list[str] = []

    def deleter() -> None:
        names.append(str(_adversary.name_of(recorder.capsule)))

    recorder = Recorder(dtype=(99, 32, 1), deleter=deleter)
    recorder.keep = True
    found = consumer.take(recorder)
    if found.error is None:
        raise NotApplicable("it imports any dtype")
    if not names or len(recorder.tensors) != 1:  # a second request leaves the first capsule unused
        raise NotApplicable("it left the capsule as it was, or asked more than once")
    held = names[0].startswith("used")
    return consumer.make_result(held, f"named {names[0]}", "give(dtype=(99, 32, 1))")


@check("CONS-07", "class", "a tensor that cannot be imported is a BufferError")
def unsupported_tensor(consumer: Consumer) -> CheckResult:
    fields = {"shape": (3,), "data": FLOATS, "dtype": (99, 32, 1)}
    found = consumer.take(give(**fields))
    if found.error is None:
        raise NotApplicable("it imports any dtype")
    return consumer.make_result(isinstance(found.error, BufferError), f"{found}", text(fields))


@check("CONS-08", "cpu", "for data on the CPU stream is left out or None")
def no_stream_for_cpu(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    consumer.take(recorder)
    held = all(request.get("stream") is None for request in recorder.requests)
    return consumer.make_result(held, describe_calls(recorder), PLAIN)


@check(
    "CONS-09",
    "defaults",
    "copy and dl_device are left out of the first call when nothing was asked",
)
def defaults_are_left_out(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    consumer.take(recorder)
    if not recorder.requests:
        raise NotApplicable("it never called __dlpack__")
    first = recorder.requests[0]
    if any(first.get(name) is not None for name in judgements.OPTIONAL):
        raise NotApplicable(f"it asks for something of its own: {describe_calls(recorder)}")
    return consumer.make_result(
        judgements.leaves_out_defaults(first), describe_calls(recorder), PLAIN
    )


@check(
    "CONS-10",
    "struct-cuda",
    "struct says CUDA, __dlpack_device__ says CPU: refused, or on CUDA; the data is not touched",
    risky=True,
    same_as=("DEV-07[consumer-device2]",),
)
def device_of_struct_counts(consumer: Consumer) -> CheckResult:
    recorder = Recorder(device=(2, 0), dunder_device=(1, 0), data=0xDEAD0008)
    found = consumer.take(recorder)
    given = "give(device=(2, 0), dunder_device=(1, 0), data=0xDEAD0008)"
    if found.error is not None:
        return consumer.make_result(found.refused, f"{found}", given)
    device = tuple(found.read_fields()["device"])
    return consumer.make_result(device == (2, 0), f"{found}, on device {device}", given)


@check("CONS-11", "bare", "a bare capsule, which is outside the standard, is an exception")
def bare_capsule(consumer: Consumer) -> CheckResult:
    found = consumer.take(give().__dlpack__())
    return consumer.make_result(found.error is not None, f"{found}", "give().__dlpack__()")


def view_of(array: Any, address: int) -> Any:
    """A slice that shares the memory at `address`; None if slices copy, or do not exist."""
    try:
        view = array[1:]
        return view if Import(view).address == address + 4 else None
    except Exception:
        return None


@check(
    "CONS-12",
    "alive",
    "the tensor lives as long as the imported array, and is deleted with it",
    risky=True,
)
def tensor_lives_as_long_as_array(consumer: Consumer) -> CheckResult:
    consumer.require_sharing()
    recorder = Recorder()
    found = consumer.import_from(recorder)
    during = recorder.tensors[-1].deleter_calls
    view = view_of(found.array, recorder.address)
    found.array = None
    with_view = recorder.tensors[-1].deleter_calls if view is not None else 0
    observed = f"{during} deleter calls while it lives, {with_view} while a view lives"
    return consumer.make_result(during == 0 and with_view == 0, observed, PLAIN)
