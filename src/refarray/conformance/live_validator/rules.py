"""Owns what a spy concludes: the requirements that one real exchange can show to be kept or
broken."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from refarray.conformance.findings import BROKEN, Finding, Outcome
from refarray.conformance.harness.producer import raised
from refarray.conformance.requirements import requirement
from refarray.conformance.subjects.lookup import subject, version_of

if TYPE_CHECKING:
    from refarray.conformance.live_validator.calls import Call, Taking
    from refarray.conformance.live_validator.spy import Spy

Told = Iterator[tuple[bool, str]]
"""Whether it held, and what was seen; nothing where there was nothing to judge."""
RULES: list[tuple[str, str, str, Callable[[Spy], Told]]] = []
"""(requirement, role, what is expected, judge)."""
STREAMED = {2, 10}
"""Device types whose consumers have to pass a stream: CUDA and ROCm."""
HOST = {1, 3, 11}
KEYWORDS = ("stream", "max_version", "dl_device", "copy")


def rule(name: str, role: str, expected: str) -> Callable[[Callable[[Spy], Told]], Any]:
    """Enters the decorated function as one rule."""

    def enter(judge: Callable[[Spy], Told]) -> Callable[[Spy], Told]:
        RULES.append((name, role, expected, judge))
        return judge

    return enter


def exports(spy: Spy) -> list[Call]:
    """The calls of __dlpack__."""
    return [call for call in spy.calls if call.method == "__dlpack__"]


def gives(spy: Spy) -> list[Call]:
    """These, and the calls of the exchange table that give a tensor."""
    return [call for call in spy.calls if call.method in {"__dlpack__", "from_py"}]


def tensors(spy: Spy) -> list[tuple[Call, Any]]:
    """Of those the ones that gave a tensor that may be read, and its fields."""
    return [(c, c.held) for c in gives(spy) if c.held is not None and c.held.get("dtype")]


def announced(spy: Spy) -> tuple[int, int] | None:
    """The device that the producer named last."""
    for call in reversed(spy.calls):
        if call.method == "__dlpack_device__" and call.error is None:
            pair = call.answer
            if not isinstance(pair, tuple) or len(pair) != 2:
                return None
            try:  # an enum's member is as good as an int
                return int(pair[0]), int(pair[1])
            except (TypeError, ValueError):
                return None
    return None


# --- the producer


@rule("LIFE-06", "producer", "a capsule named dltensor or dltensor_versioned, after its struct")
def _capsule(spy: Spy) -> Told:
    for call in exports(spy):
        if call.error is None:
            yield call.held is not None, call.reply


@rule("DEV-01", "producer", "__dlpack_device__() returns a pair of ints")
def _pair(spy: Spy) -> Told:
    for call in spy.calls:
        if call.method == "__dlpack_device__" and call.error is None:
            yield announced(spy) is not None, f"{call.answer!r}"


@rule("DEV-03", "producer", "without dl_device the struct's device is the announced one")
def _same_device(spy: Spy) -> Told:
    device = announced(spy)
    for call, held in tensors(spy):
        if device is not None and call.keywords.get("dl_device") is None:
            yield held["device"] == device, f"announced {device}, the struct has {held['device']}"


@rule("PROD-01", "producer", "__dlpack__ knows stream, max_version, dl_device and copy")
def _keywords(spy: Spy) -> Told:
    for call in exports(spy):
        if set(call.keywords) <= set(KEYWORDS):
            unknown = isinstance(call.error, TypeError) and "keyword" in str(call.error)
            if unknown or call.error is None:
                yield not unknown, f"{call.request} {call.reply}"


@rule("VERS-04", "producer", "without max_version: the legacy struct, or BufferError")
def _legacy(spy: Spy) -> Told:
    for call in exports(spy):
        if call.keywords.get("max_version") is None and (call.held is not None):
            yield call.held["version"] is None, f"{call.request} {call.reply}"


@rule("VERS-05", "producer", "max_version of 1.0 or more gives the versioned struct")
def _versioned(spy: Spy) -> Told:
    for call in exports(spy):
        asked = call.keywords.get("max_version")
        if isinstance(asked, tuple) and asked >= (1, 0) and call.held is not None:
            version = call.held["version"]
            yield version is not None and version[0] == 1, f"{call.request} {call.reply}"


@rule("TENS-03", "producer", "data is NULL where there are no elements")
def _empty(spy: Spy) -> Told:
    for _, held in tensors(spy):
        if held["shape"] is not None and math.prod(held["shape"]) == 0:
            yield not held["data"], f"shape {held['shape']}, data {held['data'] or 0:#x}"


@rule("TENS-06", "producer", "from DLPack 1.2 on strides are not NULL for one axis or more")
def _strides(spy: Spy) -> Told:
    for _, held in tensors(spy):
        if held["ndim"] > 0 and held["version"] is not None and held["version"] >= (1, 2):
            yield held["strides"] is not None, f"ndim {held['ndim']}, strides {held['strides']}"


@rule("TENS-08", "producer", "shape is not NULL for one axis or more")
def _shape(spy: Spy) -> Told:
    for _, held in tensors(spy):
        if held["ndim"] > 0:
            yield held["shape"] is not None, f"ndim {held['ndim']}, shape {held['shape']}"


@rule("FLAG-01", "producer", "only flags that DLPack 1 has are set")
def _flags(spy: Spy) -> Told:
    for _, held in tensors(spy):
        if held["flags"] is not None:
            yield held["flags"] & ~7 == 0, f"flags {held['flags']:#x}"


@rule("FLAG-03", "producer", "IS_COPIED is set after copy=True")
def _copied(spy: Spy) -> Told:
    for call, held in tensors(spy):
        if call.keywords.get("copy") is True and held["flags"] is not None:
            yield bool(held["flags"] & 2), f"{call.request} {call.reply}"


@rule("PROD-12", "producer", "copy=False never gives a copy")
def _not_copied(spy: Spy) -> Told:
    for call, held in tensors(spy):
        if call.keywords.get("copy") is False and held["flags"] is not None:
            yield not held["flags"] & 2, f"{call.request} {call.reply}"


@rule("LIFE-20", "producer", "each call of __dlpack__ gives a tensor of its own")
def _own(spy: Spy) -> Told:
    alive: dict[int, int] = {}
    for call in gives(spy):
        if call.watched is None:
            continue
        ended = min(call.deletions(), default=2**63)
        other = alive.get(call.watched.original, 0)
        yield other <= call.started, f"managed tensor at {call.watched.original:#x}"
        alive[call.watched.original] = ended


@rule("TENS-16", "producer", "shape and strides do not change until the deleter runs")
def _unchanged(spy: Spy) -> Told:
    for call in gives(spy):
        if call.watched is not None:
            wrote = call.watched.producer_wrote
            yield not wrote, "they changed" if wrote else "they did not change"


@rule("LIFE-08", "producer", "the destructor of a capsule that nobody took calls the deleter")
def _destructor(spy: Spy) -> Told:
    for call in exports(spy):
        events = call.events()
        unused = [
            e for e in events if e[0] == "capsule" and call.held and e[6] == call.held["name"]
        ]
        if unused and call.watched is not None and call.watched.has_deleter:
            did = any(event[0] == "destructor" for event in events)
            if did or not any(event[0] == "deleter" for event in events):
                yield did, "it did" if did else "the capsule went, the deleter was not called"


@rule("LIFE-15", "producer", "the deleter leaves no Python exception set")
def _quiet(spy: Spy) -> Told:
    for call in gives(spy):
        for event in call.events():
            if event[0] == "deleter" and event[3]:
                yield not event[5], "it left one" if event[5] else "it left none"


# --- the consumer


@rule("CONS-01", "consumer", "__dlpack_device__ is called before __dlpack__")
def _order(spy: Spy) -> Told:
    asked = [call.method for call in spy.calls if not call.by_table]
    if "__dlpack__" in asked:
        yield asked[0] == "__dlpack_device__", f"{asked[0]} is called first"


@rule("VERS-09", "consumer", "the first call of __dlpack__ passes max_version of 1.0 or more")
def _newest(spy: Spy) -> Told:
    for call in exports(spy)[:1]:
        asked = call.keywords.get("max_version")
        yield isinstance(asked, tuple) and asked >= (1, 0), call.request


@rule("CONS-08", "consumer", "for data on the CPU stream is left out or None")
def _no_stream(spy: Spy) -> Told:
    device = announced(spy)
    if device is not None and device[0] in HOST:
        for call in exports(spy):
            given = call.keywords.get("stream", *(call.arguments[:1] or (None,)))
            yield given is None, call.request


@rule("STRM-01", "consumer", "for a device with streams stream is passed")
def _stream(spy: Spy) -> Told:
    device = announced(spy)
    if device is not None and device[0] in STREAMED:
        for call in exports(spy):
            yield "stream" in call.keywords, call.request


@rule("CONS-09", "consumer", "copy and dl_device are left out where nothing was asked")
def _defaults(spy: Spy) -> Told:
    for call in exports(spy)[:1]:
        given = {"copy", "dl_device"} & set(call.keywords)
        yield not any(call.keywords[name] is None for name in given), call.request


@rule("CONS-04", "consumer", "only a TypeError is a reason to ask again")
def _retry(spy: Spy) -> Told:
    asked = exports(spy)
    for before, after in itertools.pairwise(asked):
        if before.error is not None and set(after.keywords) < set(before.keywords):
            words = f"{raised(before.error)}, then {after.request}"
            yield isinstance(before.error, TypeError), words


@rule("LIFE-10", "consumer", "a capsule that was taken is renamed used_…")
def _used(spy: Spy) -> Told:
    for call in exports(spy):
        after = call.name_after
        if call.held is None or after is None:
            continue
        kinds = {event[0] for event in call.events()}
        taken = "deleter" in kinds or (not kinds & {"destructor"} and only_shared(spy, call))
        if taken or after != call.held["name"]:
            yield after == f"used_{call.held['name']}", f"{call.held['name']} is now {after}"


def only_shared(spy: Spy, call: Call) -> bool:
    """Whether an array that shares memory came of this tensor, and of no other."""
    return any(
        taking.arrival in {"shared", "writable"} and within(spy, taking) == [call]
        for taking in spy.takings
    )


def within(spy: Spy, taking: Taking) -> list[Call]:
    """The calls of one import that gave a tensor."""
    return [c for c, _ in tensors(spy) if taking.started <= c.started <= taking.ended]


@rule("LIFE-03", "consumer", "the deleter runs exactly once")
def _once(spy: Spy) -> Told:
    for call in gives(spy):
        if call.watched is None or not call.watched.has_deleter:
            continue
        count = call.watched.deleter_calls
        if count > 1 or spy.finished:
            yield count == 1, f"it ran {count} times"


@rule("CONS-12", "consumer", "the tensor is kept for as long as the array that shares its memory")
def _kept(spy: Spy) -> Told:
    for taking in spy.takings:
        calls = within(spy, taking)
        end = taking.dropped
        if end is not None and len(calls) == 1 and only_shared(spy, calls[0]):
            early = min(calls[0].deletions(), default=end) < end
            yield not early, "deleted while it was shared" if early else "alive until then"


@rule("LIFE-19", "consumer", "nothing is written to the struct, its shape or its strides")
def _untouched(spy: Spy) -> Told:
    for call in gives(spy):
        if call.watched is not None:
            wrote = call.watched.consumer_wrote
            yield not wrote, "they were written to" if wrote else "they were not"


@rule("CONS-03", "consumer", "what the producer raises comes through")
def _through(spy: Spy) -> Told:
    for taking in spy.takings:
        calls = [c for c in spy.calls if taking.started <= c.started <= taking.ended]
        if calls and calls[-1].error is not None and not isinstance(calls[-1].error, TypeError):
            came = taking.error
            while came is not None and came is not calls[-1].error:
                came = came.__cause__ or came.__context__
            words = f"{raised(calls[-1].error)}; {taking.error and raised(taking.error)} came"
            yield came is taking.error is not None, words


@rule("COPY-04", "consumer", "copy is passed on to the producer")
def _passed(spy: Spy) -> Told:
    for taking in spy.takings:
        asked = [c for c in exports(spy) if taking.started <= c.started <= taking.ended]
        if taking.keywords.get("copy") is not None and asked:
            copy = asked[0].keywords.get("copy")
            yield copy is taking.keywords["copy"], asked[0].request


@rule("FLAG-10", "consumer", "read-only data arrives read-only where there are such arrays")
def _sticky(spy: Spy) -> Told:
    if "readonly" not in subject(spy.consumer).arrays:
        return  # it has no read-only arrays: FLAG-09 lets it ignore the flag
    for taking in spy.takings:
        sent = [held for _, held in tensors(spy) if (held["flags"] or 0) & 1]
        if sent and taking.readonly is not None and taking.arrival in {"shared", "writable"}:
            yield taking.readonly, taking.result


def judged(spy: Spy) -> list[Finding]:
    """A finding for each rule that had something to judge: the worst that it saw."""
    out = []
    for name, role, expected, judge in RULES:
        told = list(judge(spy))
        if not told:
            continue
        held, observed = min(told, key=lambda each: each[0])
        level = requirement(name).level
        who = spy.producer if role == "producer" else spy.consumer
        outcome = Outcome.PASS if held else BROKEN[level]
        case = f"spy-{spy.producer}-{spy.consumer}"
        version = version_of(who)
        out.append(Finding(name, level, who, version, role, case, outcome, expected, observed, ""))
    return out
