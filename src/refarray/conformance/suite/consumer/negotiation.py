"""Owns the checks of how a consumer asks: order, keywords, retries, exceptions, names, copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.recorder import PLAIN, Recorder, asked, old
from refarray.conformance.requirements import Level

OPTIONAL = {"copy", "dl_device"}


@check("CONS-01", "consumer", "order", "__dlpack_device__ is called before __dlpack__")
def _order(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    consumer.take(recorder)
    names = [name for name, _ in recorder.calls]
    return consumer.seen(names[:1] == ["__dlpack_device__"], asked(recorder), PLAIN)


@check(
    "VERS-09",
    "consumer",
    "first",
    "the first call passes the consumer's own max_version, 1.0 or newer",
)
def _first(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    consumer.take(recorder)
    if not recorder.requests:
        raise NotApplicable("it never called __dlpack__")
    version = recorder.requests[0].get("max_version")
    return consumer.seen(version is not None and tuple(version) >= (1, 0), asked(recorder), PLAIN)


@check("CONS-08", "consumer", "cpu", "for data on the CPU stream is left out or None")
def _stream(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    consumer.take(recorder)
    held = all(request.get("stream") is None for request in recorder.requests)
    return consumer.seen(held, asked(recorder), PLAIN)


@check(
    "CONS-09",
    "consumer",
    "defaults",
    "copy and dl_device are left out of the first call when nothing was asked",
)
def _defaults(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    consumer.take(recorder)
    if not recorder.requests:
        raise NotApplicable("it never called __dlpack__")
    given = {name: value for name, value in recorder.requests[0].items() if name in OPTIONAL}
    if any(value is not None for value in given.values()):
        raise NotApplicable(f"it asks for something of its own: {asked(recorder)}")
    return consumer.seen(not given, asked(recorder), PLAIN)


def old_text(known: str) -> str:
    """As a repro makes it."""
    return f"give(shape=(3,), knows={known!r})"


def _old(case: str, known: str) -> None:
    @check(
        "VERS-09",
        "consumer",
        case,
        f"a producer whose __dlpack__ knows only ({known}) is asked again without the rest",
    )
    def _(consumer: Consumer) -> CheckResult:
        recorder = old(known)
        found = consumer.take(recorder)
        return consumer.seen(found.error is None, f"{found}; {asked(recorder)}", old_text(known))


_old("old-stream", "stream")
_old("old-max-version", "stream max_version")


class Odd(Exception):
    """An exception that no library knows."""


def _propagates(case: str, kind: type[BaseException]) -> None:
    @check(
        "CONS-03",
        "consumer",
        case,
        f"a {kind.__name__} that the producer raises comes out as it is",
    )
    def _(consumer: Consumer) -> CheckResult:
        if consumer.subject.overloads:
            raise NotApplicable("what no overload takes is a TypeError, whatever was raised")
        error = kind("raised by the producer")

        def answer(**_: Any) -> Any:
            raise error

        found = consumer.take(Recorder(answer))
        seen = found.error
        while seen is not None and seen is not error:
            seen = None if kind is not TypeError else seen.__context__
        told = f"give(raises={kind.__name__ if kind is not Odd else 'Exception'}('no'))"
        return consumer.seen(seen is error, f"{found}", told)


for _kind in (BufferError, ValueError, MemoryError, RuntimeError, KeyboardInterrupt, Odd):
    _propagates(_kind.__name__, _kind)


@check(
    "CONS-04",
    "consumer",
    "genuine-type-error",
    "a TypeError that every call raises surfaces, after one retry at most",
)
def _genuine(consumer: Consumer) -> CheckResult:
    def answer(**_: Any) -> Any:
        raise TypeError("a bug of the producer's")

    recorder = Recorder(answer)
    found = consumer.take(recorder)
    held = isinstance(found.error, TypeError) and len(recorder.requests) <= 2
    return consumer.seen(
        held, f"{found} after {len(recorder.requests)} calls", "give(raises=TypeError('a bug'))"
    )


class Raising(Recorder):
    """Its `__dlpack_device__` raises."""

    def __dlpack_device__(self) -> tuple[int, int]:
        self.calls.append(("__dlpack_device__", {}))
        raise Odd("raised by __dlpack_device__")


@check("CONS-03", "consumer", "device", "what __dlpack_device__ raises comes out as it is")
def _device_raises(consumer: Consumer) -> CheckResult:
    recorder = Raising()
    found = consumer.take(recorder)
    if ("__dlpack_device__", {}) not in recorder.calls:
        raise NotApplicable("it does not call __dlpack_device__")
    return consumer.seen(
        isinstance(found.error, Odd), f"{found}", "give(dunder_device=Exception('no'))"
    )


def _missing(case: str, given: Callable[[], Any]) -> None:
    @check("CONS-02", "consumer", case, "an object without the methods is an AttributeError")
    def _(consumer: Consumer) -> CheckResult:
        found = consumer.take(given())
        seen = consumer.seen(isinstance(found.error, AttributeError), f"{found}", "object()")
        # Only the array API names the class.
        return seen if consumer.subject.array_api else replace(seen, level=Level.HAZARD)


_missing("neither", object)
