"""Owns the checks of what a consumer does with a capsule: names, copies, what it keeps alive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.consumer import GIVE, Consumer, Given, Import, text
from refarray.conformance.harness.recorder import PLAIN, Recorder, asked, imported, old
from refarray.conformance.requirements import Level


def _named(case: str, expected: str, fields: dict[str, Any]) -> None:
    @check("CONS-05", "consumer", case, expected, risky=True)
    def _(consumer: Consumer) -> CheckResult:
        recorder = Recorder(**fields)
        found = consumer.take(recorder)
        calls = recorder.deleter_calls
        held = found.refused and calls == 0
        return consumer.seen(held, f"{found}; {calls} deleter calls", text(fields))


_named(
    "used",
    "a capsule named used_dltensor is refused, its pointer not touched",
    {"name": "used_dltensor"},
)
_named(
    "used-versioned",
    "a capsule named used_dltensor_versioned is refused",
    {"name": "used_dltensor_versioned"},
)
_named("foreign", "a capsule of another name is refused, its pointer not touched", {"name": "foo"})
_named("nameless", "a capsule without a name is refused, its pointer not touched", {"name": None})


def _not_capsule(case: str, value: Any) -> None:
    @check(
        "CONS-05",
        "consumer",
        case,
        f"a __dlpack__ that returns {value!r} is an exception",
        risky=True,
    )
    def _(consumer: Consumer) -> CheckResult:
        found = consumer.take(Recorder(lambda **_: value))
        return consumer.seen(found.refused, f"{found}", f"give(returns={value!r})")


_not_capsule("none", None)
_not_capsule("int", 7)


@check("LIFE-10", "consumer", "renamed", "a capsule that was taken is called used_…", risky=True)
def _renamed(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    recorder.keep = True
    found = consumer.take(recorder)
    if found.error is not None:
        raise NotApplicable(f"it refuses: {found}")
    name = _adversary.name_of(recorder.capsule)
    return consumer.seen(str(name).startswith("used_dltensor"), f"named {name}", PLAIN)


@check(
    "LIFE-12",
    "consumer",
    "twice",
    "a capsule that was taken is refused the second time; one deleter call in all",
    risky=True,
)
def _twice(consumer: Consumer) -> CheckResult:
    def answer(**keywords: Any) -> Any:
        if recorder.capsule is None:
            Given.__dlpack__(recorder, **keywords)
        return recorder.capsule

    recorder = Recorder(answer)
    recorder.keep = True
    first = consumer.take(recorder)
    if first.error is not None:
        raise NotApplicable(f"it refuses: {first}")
    if not str(_adversary.name_of(recorder.capsule)).startswith("used_"):
        raise NotApplicable("it does not rename what it takes: LIFE-10 judges that")
    second = consumer.take(recorder)
    observed = f"the second time: {second}"
    refused = second.refused
    del first, second
    recorder.capsule = False
    calls = recorder.deleter_calls
    call = consumer.subject.from_dlpack
    lines = [f"{GIVE}; {consumer.subject.imports}", "x = give(returns=give().__dlpack__())"]
    repro = "\n".join([*lines, f"print({call.format('x')}, {call.format('x')})"])
    return CheckResult(refused and calls == 1, f"{observed}; {calls} deleter calls", repro)


@check("FLAG-10", "consumer", "read-only", "READ_ONLY data is not exported again as writable")
def _read_only(consumer: Consumer) -> CheckResult:
    if "readonly" not in consumer.subject.arrays:
        raise NotApplicable(f"{consumer.subject.name} has no read-only arrays")
    found = imported(consumer, Recorder(flags=1))
    held = found.readonly
    return consumer.seen(
        held, "READ_ONLY" if held else "exported as writable", "give(shape=(3,), flags=1)"
    )


def view_of(array: Any, address: int) -> Any:
    """A slice that shows the same memory, of `address`; None where slices are copies, or none."""
    try:
        view = array[1:]
        return view if Import(view).address == address + 4 else None
    except Exception:
        return None


@check(
    "CONS-12",
    "consumer",
    "alive",
    "the tensor lives as long as what was imported, and is given back with it",
    risky=True,
)
def _alive(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    found = imported(consumer, recorder)
    during = recorder.tensors[-1].deleter_calls
    view = view_of(found.array, recorder.address)
    found.array = None
    with_view = recorder.tensors[-1].deleter_calls if view is not None else 0
    observed = f"{during} deleter calls while it lives, {with_view} while a view lives"
    return consumer.seen(during == 0 and with_view == 0, observed, PLAIN)


@check("TENS-18", "consumer", "shared", "a contiguous tensor is taken without a copy")
def _shared(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    found = imported(consumer, recorder)
    held = found.address == recorder.address
    return consumer.seen(held, "shared" if held else "copied", PLAIN)


@check(
    "COPY-04",
    "consumer",
    "forwarded",
    "from_dlpack(x, copy=True) and copy=False are passed on to the producer",
)
def _forwarded(consumer: Consumer) -> CheckResult:
    seen = []
    for value in (True, False):
        recorder = Recorder()
        found = consumer.take(recorder, copy=value)
        if isinstance(found.error, TypeError) and not recorder.requests:
            raise NotApplicable(f"it has no copy: {found}")
        seen.append(any(request.get("copy") is value for request in recorder.requests))
    told = consumer.seen(all(seen), asked(recorder), PLAIN, copy=False)
    # Who makes the copy is said of the producer only; that it is made, COPY-05 and COPY-07 judge.
    return replace(told, level=Level.DISPUTED)


@check(
    "COPY-07",
    "consumer",
    "ignored",
    "a producer that ignores copy=True is copied by the consumer",
    risky=True,
)
def _ignored(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    found = imported(consumer, recorder, copy=True)
    held = found.address != recorder.address
    return consumer.seen(held, "copied" if held else "the producer's own memory", PLAIN, copy=True)


@check(
    "COPY-08",
    "consumer",
    "copied",
    "a producer that copies under copy=False, and says so, is refused",
    risky=True,
)
def _copied(consumer: Consumer) -> CheckResult:
    recorder = Recorder(flags=2)
    found = consumer.take(recorder, copy=False)
    if isinstance(found.error, TypeError) and not recorder.requests:
        raise NotApplicable(f"it has no copy: {found}")
    if recorder.unasked:
        raise NotApplicable("it asks for the legacy struct only")
    return consumer.seen(
        found.error is not None, f"{found}", "give(shape=(3,), flags=2)", copy=False
    )


def _old_copy(case: str, value: bool, expected: str, level: str = "") -> None:
    @check("COPY-09", "consumer", case, expected, risky=True, level=level)
    def _(consumer: Consumer) -> CheckResult:
        recorder = old("stream max_version")
        found = consumer.take(recorder, copy=value)
        if isinstance(found.error, TypeError) and not recorder.requests:
            raise NotApplicable(f"it has no copy: {found}")
        if not value:
            held = found.error is not None
        else:
            held = found.error is not None or found.address != recorder.address
        given = "give(shape=(3,), knows='stream max_version')"
        return consumer.seen(held, f"{found}", given, copy=value)


_old_copy(
    "old-copy-true",
    True,
    "an old producer under copy=True: the consumer copies or refuses; the request is not dropped",
)
_old_copy(
    "old-copy-false",
    False,
    "an old producer under copy=False: refused, the request is not dropped",
    level="HAZARD",  # no copy may have been made; nobody can tell
)


@check(
    "CONS-10",
    "consumer",
    "struct-cuda",
    "struct says CUDA, __dlpack_device__ says CPU: refused, or on CUDA; the data is not touched",
    risky=True,
)
def _struct_wins(consumer: Consumer) -> CheckResult:
    recorder = Recorder(device=(2, 0), dunder_device=(1, 0), data=0xDEAD0008)
    found = consumer.take(recorder)
    told = "give(device=(2, 0), dunder_device=(1, 0), data=0xDEAD0008)"
    if found.error is not None:
        return consumer.seen(found.refused, f"{found}", told)
    device = tuple(found.held()["device"])
    return consumer.seen(device == (2, 0), f"{found}, on device {device}", told)
