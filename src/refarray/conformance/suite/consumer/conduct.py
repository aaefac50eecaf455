"""Owns the checks of a consumer's manners: what it shows, when it renames, what it takes at all."""

from __future__ import annotations

import ctypes
import inspect
import mmap
import warnings
from array import array
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.consumer import Consumer, Import, give
from refarray.conformance.harness.producer import raised
from refarray.conformance.harness.recorder import PLAIN, Recorder, asked, imported
from refarray.conformance.suite.producer.methods import left_out

NIBBLES = b"\x21\x43"
FP4: dict[str, Any] = {"shape": (4,), "dtype": (17, 4, 1)}


@check(
    "DEV-08",
    "consumer",
    "device",
    "a BufferError of __dlpack_device__ comes out as a BufferError",
)
def _no_device(consumer: Consumer) -> CheckResult:
    recorder = Recorder(dunder_device=BufferError("it has no strided form"))
    found = consumer.take(recorder)
    if ("__dlpack_device__", {}) not in recorder.calls:
        raise NotApplicable("it does not call __dlpack_device__")
    told = "give(dunder_device=BufferError('it has no strided form'))"
    return consumer.seen(isinstance(found.error, BufferError), f"{found}", told)


def capsules_of(made: Any) -> list[str]:
    """The public attributes of an object that are capsules."""
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(made):
            try:
                value = None if name.startswith("_") else inspect.getattr_static(made, name)
            except AttributeError:
                continue
            if type(value).__name__ == "PyCapsule":
                out.append(name)
    return out


@check(
    "LIFE-23",
    "consumer",
    "hidden",
    "the capsule is used up when from_dlpack returns, and the result shows none",
    risky=True,
)
def _hidden(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    recorder.keep = True
    found = imported(consumer, recorder)
    capsule = type(found.array).__name__ == "PyCapsule"
    shown = ["the result itself"] if capsule else capsules_of(found.array)
    observed = f"capsules shown: {', '.join(shown) or 'none'}"
    return consumer.seen(not shown, observed, PLAIN)


@check(
    "CONS-06",
    "consumer",
    "named",
    "when the deleter of a refused tensor runs, its capsule has been renamed",
    risky=True,
)
def _named(consumer: Consumer) -> CheckResult:
    names: list[str] = []

    def look() -> None:
        names.append(str(_adversary.name_of(recorder.capsule)))

    recorder = Recorder(dtype=(99, 32, 1), deleter=look)
    recorder.keep = True
    found = consumer.take(recorder)
    if found.error is None:
        raise NotApplicable("it imports any dtype")
    if not names or len(recorder.tensors) != 1:  # who asks twice lets one capsule go unused
        raise NotApplicable("it left the capsule as it was, or asked more than once")
    held = names[0].startswith("used")
    return consumer.seen(held, f"named {names[0]}", "give(dtype=(99, 32, 1))")


@check(
    "CONS-11", "consumer", "bare", "a bare capsule, which is outside the standard, is an exception"
)
def _bare(consumer: Consumer) -> CheckResult:
    found = consumer.take(give().__dlpack__())
    return consumer.seen(found.error is not None, f"{found}", "give().__dlpack__()")


@check(
    "COPY-12",
    "consumer",
    "further",
    "keywords of from_dlpack that the standard has not have a default that says nothing was asked",
)
def _further(consumer: Consumer) -> CheckResult:
    function = consumer.function()
    name = consumer.subject.from_dlpack.partition("(")[0]
    repro = f"{consumer.subject.imports}\nimport inspect; print(inspect.signature({name}))"
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise NotApplicable(f"no signature can be read: {error}") from error
    further = [each for each in found[1:] if each.name not in {"device", "copy"}]
    named = [each for each in further if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    if not named:
        raise NotApplicable("it has none")
    held = all(left_out(each, str | int | tuple) for each in named)
    return CheckResult(held, ", ".join(map(str, named)), repro)


@check(
    "COPY-10",
    "consumer",
    "other",
    "device= of its own arrays, answered with one on another device: refused, not touched",
    risky=True,
)
def _other_device(consumer: Consumer) -> CheckResult:
    _, own = consumer.own()
    device = getattr(own, "device", None)
    if device is None:
        raise NotApplicable("its arrays have no device")
    fields: dict[str, Any] = {"shape": (3,), "data": 0xDEAD0008, "device": (2, 0)}
    recorder = Recorder(**fields)
    found = consumer.take(recorder, device=device)
    if isinstance(found.error, TypeError) and not recorder.requests:
        raise NotApplicable(f"it has no device: {found}")
    if not recorder.tensors:
        raise NotApplicable(f"it refuses before it asks: {found}; {asked(recorder)}")
    told = "give(shape=(3,), data=0xDEAD0008, device=(2, 0))"
    return consumer.seen(found.error is not None, f"{found}", told, device=device)


def asarray(consumer: Consumer) -> tuple[str, Any]:
    """The name of asarray beside from_dlpack, and the function. NotApplicable without one."""
    name = consumer.subject.from_dlpack.partition("(")[0]
    if not consumer.subject.array_api or not name.endswith("from_dlpack"):
        raise NotApplicable(f"{consumer.subject.name} does not claim the array API")
    name = name.removesuffix("from_dlpack") + "asarray"
    try:
        return name, eval(name, consumer.namespace)
    except (AttributeError, NameError) as error:
        raise NotApplicable(f"it has no asarray: {error}") from error


@check("AAPI-05", "consumer", "buffer", "asarray takes an object with the buffer protocol")
def _buffer(consumer: Consumer) -> CheckResult:
    name, function = asarray(consumer)
    repro = "\n".join(
        [
            f"from array import array; {consumer.subject.imports}",
            f"print({name}(array('f', [0, 1, 2])))",
        ]
    )
    try:
        made = Import(function(array("f", [0, 1, 2])))
    except Exception as error:
        return CheckResult(False, raised(error), repro)
    return CheckResult(made.values == [0.0, 1.0, 2.0], f"values {made.values}", repro)


@check(
    "AAPI-05", "consumer", "no-copy", "asarray of another dtype under copy=False is a ValueError"
)
def _no_copy(consumer: Consumer) -> CheckResult:
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
        return CheckResult(isinstance(error, ValueError), raised(error), repro)
    return CheckResult(False, "accepted", repro)


def copied(consumer: Consumer, **fields: Any) -> bytes:
    """The first two bytes of a copy of packed fp4 data. NotApplicable when there is none."""
    found = imported(consumer, Recorder(**FP4, **fields), copy=True)
    held = found.held()
    if tuple(held["dtype"]) != FP4["dtype"] or held.get("flags", 0) & 4:
        raise NotApplicable(f"exported as {tuple(held['dtype'])}, flags {held.get('flags')}")
    return ctypes.string_at(int(held["data"]) + int(held["byte_offset"]), 2)


@check(
    "DTYPE-10",
    "consumer",
    "copied",
    "a copy of packed fp4 holds its elements in the same order: the low nibble first",
    risky=True,
)
def _order(consumer: Consumer) -> CheckResult:
    data = copied(consumer, data=NIBBLES + bytes(6))
    told = f"give(shape=(4,), dtype=(17, 4, 1), data={NIBBLES!r})"
    return consumer.seen(data == NIBBLES, f"{data.hex(' ')} of 21 43", told, copy=True)


@check(
    "DTYPE-16",
    "consumer",
    "rounded",
    "three packed fp4 elements are two bytes: nothing behind them is read",
    risky=True,
)
def _rounded(consumer: Consumer) -> CheckResult:
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    protect = ctypes.CDLL(None).mprotect
    if protect(ctypes.c_void_p(start + mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
        raise NotApplicable("this system protects no pages")
    pages[mmap.PAGESIZE - 2 : mmap.PAGESIZE] = NIBBLES
    fields: dict[str, Any] = {"shape": (3,), "dtype": (17, 4, 1), "data": start + mmap.PAGESIZE - 2}
    found = imported(consumer, Recorder(**fields), copy=True)
    held = tuple(found.held()["shape"]) == (3,)
    told = "give(shape=(3,), dtype=(17, 4, 1), data=two_bytes_before_a_guard_page)"
    return consumer.seen(held, f"{found}", told, copy=True)
