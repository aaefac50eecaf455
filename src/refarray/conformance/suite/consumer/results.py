"""Owns the checks of what a consumer makes of legal tensors: dtypes, flags, devices, copies."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.consumer import Consumer, Given, give, text
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.harness.producer import raised
from refarray.conformance.harness.recorder import FIELDS, PLAIN, Recorder, imported
from refarray.conformance.requirements import Level
from refarray.conformance.suite.producer.methods import left_out


@check("COPY-01", "consumer", "signature", "from_dlpack(x, /, *, device=None, copy=None)")
def _signature(consumer: Consumer) -> CheckResult:
    function = consumer.function()
    target = consumer.subject.from_dlpack.partition("(")[0]
    if not consumer.subject.array_api:
        raise NotApplicable(f"{consumer.subject.name} does not claim the array API")
    repro = f"{consumer.subject.imports}\nimport inspect; print(inspect.signature({target}))"
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        return CheckResult(False, raised(error), repro)
    held = all(
        name in found and left_out(found[name], str | int | tuple) for name in ("device", "copy")
    )
    return CheckResult(held, f"({', '.join(map(str, found.values()))})", repro)


@check(
    "VERS-08",
    "consumer",
    "ignored",
    "a legacy capsule from a producer that ignores max_version is taken for what it is",
    risky=True,
)
def _ignored(consumer: Consumer) -> CheckResult:
    recorder = Recorder(versioned=False)
    found = imported(consumer, recorder)
    held = found.values == [0.0, 1.0, 2.0]
    return consumer.seen(held, f"values {found.values}", "give(shape=(3,), versioned=False)")


class Forced(Given):
    """Hands out a versioned capsule whatever it was asked."""

    def __dlpack__(self, **_: Any) -> Any:
        """The same for everybody."""
        self.tensors.append(_adversary.make(**self.fields))
        return self.tensors[-1].capsule()


@check(
    "VERS-08",
    "consumer",
    "unasked",
    "a versioned capsule that was not asked for is taken for what it is, or refused",
    risky=True,
)
def _unasked(consumer: Consumer) -> CheckResult:
    producer = Forced(FIELDS)
    found = consumer.take(producer)
    if found.error is not None:
        return consumer.seen(found.refused, f"{found}", PLAIN)
    return consumer.seen(found.values == [0.0, 1.0, 2.0], f"values {found.values}", PLAIN)


@check("CONS-07", "consumer", "class", "a tensor that cannot be imported is a BufferError")
def _class(consumer: Consumer) -> CheckResult:
    fields = {"shape": (3,), "data": FLOATS, "dtype": (99, 32, 1)}
    found = consumer.take(give(**fields))
    if found.error is None:
        raise NotApplicable("it imports any dtype")
    return consumer.seen(isinstance(found.error, BufferError), f"{found}", text(fields))


@check(
    "DEV-07",
    "consumer",
    "class",
    "a device that is not supported is a BufferError, as the text recommends",
    level="SHOULD",
)
def _device_class(consumer: Consumer) -> CheckResult:
    fields = {"shape": (3,), "data": 0xDEAD0008, "device": (9, 0)}
    found = consumer.take(give(**fields))
    if found.error is None:
        raise NotApplicable("it imports from any device")
    return consumer.seen(isinstance(found.error, BufferError), f"{found}", text(fields))


@check(
    "FLAG-11",
    "consumer",
    "legacy",
    "a legacy tensor is imported as writable: it has no flag that says otherwise",
    risky=True,
    level="DISPUTED",  # nothing forbids a consumer to be careful
)
def _no_flags(consumer: Consumer) -> CheckResult:
    fields = {"shape": (3,), "versioned": False}
    found = imported(consumer, Recorder(versioned=False))
    if consumer.subject.immutable:
        raise NotApplicable("its arrays may never be written")
    held = not found.readonly
    return consumer.seen(held, "writable" if held else "read-only", text(fields))


SMALL = {
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}


def _kept(name: str, code: int) -> None:
    @check("DTYPE-17", "consumer", name, f"{name} is {name} when it is exported again", risky=True)
    def _(consumer: Consumer) -> CheckResult:
        fields = {"shape": (4,), "data": bytes(4), "dtype": (code, 8, 1)}
        found = consumer.take(give(**fields))
        held = tuple(found.held()["dtype"])
        return consumer.seen(held == (code, 8, 1), f"exported again as {held}", text(fields))


for _name, _code in SMALL.items():
    _kept(_name, _code)


def _packed(name: str, case: str, expected: str, flags: int) -> None:
    @check(name, "consumer", case, expected, risky=True)
    def _(consumer: Consumer) -> CheckResult:
        if flags and consumer.subject.overloads:
            raise NotApplicable("its functions are shown no flags that they could pass on")
        fields = {"shape": (4,), "data": b"\x21\x43\x65\x87", "dtype": (17, 4, 1), "flags": flags}
        found = consumer.take(give(**fields))
        held = found.held()
        if held.get("flags") is None:
            raise NotApplicable("its export has no flags")
        right = tuple(held["dtype"]) == (17, 4, 1) and held["flags"] & 4 == flags
        return consumer.seen(
            right, f"dtype {tuple(held['dtype'])}, flags {held['flags']}", text(fields)
        )


_packed("DTYPE-09", "packed", "packed fp4 stays packed, or is refused", 0)
_packed("FLAG-07", "padded", "padded fp4 stays padded, or is refused", 4)


@check(
    "FLAG-08",
    "consumer",
    "unknown",
    "an unknown flag bit is passed over or refused, and not exported again",
    risky=True,
)
def _unknown_flag(consumer: Consumer) -> CheckResult:
    fields = {**FIELDS, "flags": 1 << 40}
    found = consumer.take(give(**fields))
    flags = found.held().get("flags")
    if flags is None:
        raise NotApplicable("its export has no flags")
    return consumer.seen(not flags >> 3, f"exported again with flags {flags:#x}", text(fields))


@check(
    "FLAG-09",
    "consumer",
    "read-only",
    "READ_ONLY data is imported, whether the library has read-only arrays or not",
    risky=True,
)
def _read_only(consumer: Consumer) -> CheckResult:
    fields = {**FIELDS, "flags": 1}
    if consumer.subject.overloads:
        raise NotApplicable("its functions say whether they write to what they take")
    producer = give(**fields)
    found = consumer.take(producer)
    if producer.unasked:
        raise NotApplicable("it asks for the legacy struct only")
    return consumer.seen(found.error is None, f"{found}", text(fields))


@check(
    "TENS-19",
    "consumer",
    "round-trip",
    "an array of its own comes back with shape, strides, dtype and device",
    risky=True,
)
def _round_trip(consumer: Consumer) -> CheckResult:
    source, own = consumer.own("transposed", "plain")
    before, after = consumer.look(own), consumer.take(own).held()
    fields = ("shape", "strides", "dtype", "device")
    told = [tuple(tuple(each[name] or ()) for name in fields) for each in (before, after)]
    return consumer.seen(told[0] == told[1], f"{told[0]}, came back as {told[1]}", source)


@check(
    "COPY-02",
    "consumer",
    "device",
    "without device the result is on the CPU, as what was given",
    risky=True,
)
def _same_device(consumer: Consumer) -> CheckResult:
    found = imported(consumer, Recorder())
    device = tuple(found.held()["device"])
    return consumer.seen(device == (1, 0), f"on {device}", PLAIN)


@check(
    "COPY-03",
    "consumer",
    "own-device",
    "device= of an array of its own on the CPU is served, or BufferError",
)
def _own_device(consumer: Consumer) -> CheckResult:
    _, own = consumer.own()
    device = getattr(own, "device", None)
    if device is None:
        raise NotApplicable("its arrays have no device")
    found = consumer.take(Recorder(), device=device)
    if isinstance(found.error, TypeError):
        raise NotApplicable(f"COPY-01 judges it: {found}")
    held = found.error is None or isinstance(found.error, BufferError)
    return consumer.seen(held, f"{found}", PLAIN, device=device)


@check(
    "COPY-05",
    "consumer",
    "independent",
    "after copy=True of an array of its own neither side sees the other's writes",
    risky=True,
)
def _independent(consumer: Consumer) -> CheckResult:
    source, own = consumer.own()
    found = consumer.take(own, copy=True)
    before = consumer.look(own)
    held = found.address != int(before["data"]) + int(before["byte_offset"])
    observed = "memory of its own" if held else "the same memory"
    seen = consumer.seen(held, observed, source, copy=True)
    if consumer.subject.immutable:  # nobody can tell
        return replace(seen, level=Level.HAZARD)
    return seen


@check("COPY-06", "consumer", "shared", "copy=False shares, or is an exception", risky=True)
def _shared(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    found = imported(consumer, recorder, copy=False)
    held = found.address == recorder.address
    return consumer.seen(held, "shared" if held else "copied", PLAIN, copy=False)


@check("COPY-11", "consumer", "foreign", "a device that is no device is an exception", risky=True)
def _no_device(consumer: Consumer) -> CheckResult:
    found = consumer.take(Recorder(), device="no such device")
    return consumer.seen(found.error is not None, f"{found}", PLAIN, device="no such device")


@check("AAPI-06", "consumer", "device", "an array that came back is on a device equal to its own")
def _equal_device(consumer: Consumer) -> CheckResult:
    source, own = consumer.own()
    if not hasattr(own, "device"):
        raise NotApplicable("its arrays have no device")
    found = consumer.take(own)
    if found.error is not None:
        raise NotApplicable(f"it refuses its own arrays: {found}")
    back = getattr(found.array, "device", None)
    return consumer.seen(bool(back == own.device), f"{own.device} and {back}", str(source))


@check(
    "LIFE-13",
    "consumer",
    "refused",
    "after a refusal the capsule is as it was, or used with its deleter called",
    risky=True,
)
def _refused(consumer: Consumer) -> CheckResult:
    recorder = Recorder(dtype=(99, 32, 1))
    recorder.keep = True
    found = consumer.take(recorder)
    if found.error is None:
        raise NotApplicable("it imports any dtype")
    found.error = None
    if recorder.capsule is None:
        raise NotApplicable("it took no capsule")
    name = str(_adversary.name_of(recorder.capsule))
    calls = recorder.tensors[-1].deleter_calls
    held = calls > 0 if name.startswith("used") else calls == 0  # LIFE-03 counts them
    return consumer.seen(held, f"named {name}, {calls} deleter calls", "give(dtype=(99, 32, 1))")


@check(
    "LIFE-27",
    "consumer",
    "re-entered",
    "a deleter that imports by the same library does not hang it",
    risky=True,
)
def _re_entered(consumer: Consumer) -> CheckResult:
    inner: list[str] = []

    def again() -> None:
        inner.append(f"{consumer.take(give(**FIELDS))}")

    found = consumer.take(give(**{**FIELDS, "deleter": again}))
    if found.error is not None:
        raise NotApplicable(f"it refuses: {found}")
    found.array = None
    return consumer.seen(
        True,
        f"in the deleter: {inner[0] if inner else 'not called yet'}",
        f"give(deleter=lambda: {consumer.subject.from_dlpack.format('give()')})",
    )
