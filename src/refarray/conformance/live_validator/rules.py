"""The rules of the live validator, their registry, and the queries on a spy's records that they
share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from refarray.conformance import judgements
from refarray.conformance.cases import describe_error
from refarray.conformance.findings import BROKEN, Finding, Outcome
from refarray.conformance.live_validator.calls import Call, ImportCall, Record
from refarray.conformance.requirements import requirement
from refarray.conformance.subjects.lookup import subject, version_of

Verdicts = Iterator[tuple[bool, str]]
"""(whether the requirement held, observation) of each instance; empty if it did not apply."""
RULES: list[tuple[str, str, str, Callable[[Record], Verdicts]]] = []
"""(requirement, role, expectation, function)."""


def rule(name: str, role: str, expected: str) -> Callable[[Callable[[Record], Verdicts]], Any]:
    """Registers the decorated function as a rule."""

    def register(judge: Callable[[Record], Verdicts]) -> Callable[[Record], Verdicts]:
        RULES.append((name, role, expected, judge))
        return judge

    return register


def exports(spy: Record) -> list[Call]:
    """The calls of `__dlpack__`."""
    return [call for call in spy.calls if call.method == "__dlpack__"]


def tensor_calls(spy: Record) -> list[Call]:
    """The calls of `__dlpack__` and of the exchange table's from_py."""
    return [call for call in spy.calls if call.method in {"__dlpack__", "from_py"}]


def list_exports(spy: Record) -> list[tuple[Call, Any]]:
    """The calls that returned a tensor of a supported version, with its fields."""
    return [(c, c.held) for c in tensor_calls(spy) if c.held is not None and c.held.get("dtype")]


def find_device(spy: Record) -> tuple[int, int] | None:
    """The last result of `__dlpack_device__`; None if it is no pair of ints."""
    for call in reversed(spy.calls):
        if call.method == "__dlpack_device__" and call.error is None:
            pair = call.answer
            if not isinstance(pair, tuple) or len(pair) != 2:
                return None
            try:  # members of enumerations are allowed
                return int(pair[0]), int(pair[1])
            except (TypeError, ValueError):
                return None
    return None


def is_shared_alone(spy: Record, call: Call) -> bool:
    """Whether an import with this tensor alone made an array that shares memory."""
    return any(
        imported.arrival in {"shared", "writable"} and calls_during(spy, imported) == [call]
        for imported in spy.imports
    )


def calls_during(spy: Record, imported: ImportCall) -> list[Call]:
    """The calls during one import that returned a tensor."""
    return [c for c, _ in list_exports(spy) if imported.started <= c.started <= imported.ended]


# --- consumers

STREAMED = {2, 10}
"""Device types with streams, for which consumers must pass `stream`: CUDA and ROCm."""
HOST = {1, 3, 11}
"""Device types that the CPU accesses without a stream: CPU, CUDA pinned and ROCm pinned memory."""


@rule("CONS-01", "consumer", "__dlpack_device__ is called before __dlpack__")
def _order(spy: Record) -> Verdicts:
    asked = [call.method for call in spy.calls if not call.by_table]
    if "__dlpack__" in asked:
        yield judgements.device_is_asked_first(asked), f"{asked[0]} is called first"


@rule("VERS-09", "consumer", "the first call of __dlpack__ passes max_version of 1.0 or more")
def _newest(spy: Record) -> Verdicts:
    for call in exports(spy)[:1]:
        asked = call.keywords.get("max_version")
        yield judgements.asks_for_versioned(asked), call.request


@rule("CONS-08", "consumer", "for data on the CPU stream is omitted or None")
def _no_stream(spy: Record) -> Verdicts:
    device = find_device(spy)
    if device is not None and device[0] in HOST:
        for call in exports(spy):
            given = call.keywords.get("stream", *(call.arguments[:1] or (None,)))
            yield given is None, call.request


@rule("STRM-01", "consumer", "for a device with streams, stream is passed")
def _stream(spy: Record) -> Verdicts:
    device = find_device(spy)
    if device is not None and device[0] in STREAMED:
        for call in exports(spy):
            yield "stream" in call.keywords, call.request


@rule("CONS-09", "consumer", "copy and dl_device are omitted when the user passed neither")
def _defaults(spy: Record) -> Verdicts:
    for call in exports(spy)[:1]:
        yield judgements.leaves_out_defaults(call.keywords), call.request


@rule("CONS-04", "consumer", "__dlpack__ is called again only after a TypeError")
def _retry(spy: Record) -> Verdicts:
    asked = exports(spy)
    for before, after in itertools.pairwise(asked):
        if before.error is not None and set(after.keywords) < set(before.keywords):
            text = f"{describe_error(before.error)}, then {after.request}"
            yield isinstance(before.error, TypeError), text


@rule("LIFE-10", "consumer", "a consumed capsule is renamed used_…")
def _used(spy: Record) -> Verdicts:
    for call in exports(spy):
        after = call.name_after
        if call.held is None or after is None:
            continue
        kinds = {event[0] for event in call.events()}
        consumed = "deleter" in kinds or (not kinds & {"destructor"} and is_shared_alone(spy, call))
        if consumed or after != call.held["name"]:
            yield after == f"used_{call.held['name']}", f"{call.held['name']} is now {after}"


@rule("LIFE-03", "consumer", "the deleter runs exactly once")
def _once(spy: Record) -> Verdicts:
    for call in tensor_calls(spy):
        if call.watched is None or not call.watched.has_deleter:
            continue
        count = call.watched.deleter_calls
        if count > 1 or spy.finished:
            yield count == 1, f"it ran {count} times"


@rule("CONS-12", "consumer", "the tensor lives as long as the array that shares its memory")
def _kept(spy: Record) -> Verdicts:
    for imported in spy.imports:
        calls = calls_during(spy, imported)
        end = imported.dropped
        if end is not None and len(calls) == 1 and is_shared_alone(spy, calls[0]):
            early = min(calls[0].deletions(), default=end) < end
            yield not early, "deleted before the array" if early else "alive until then"


@rule("LIFE-19", "consumer", "the consumer does not write to the struct, shape or strides")
def _untouched(spy: Record) -> Verdicts:
    for call in tensor_calls(spy):
        if call.watched is not None:
            wrote = call.watched.consumer_wrote
            yield not wrote, "they were written to" if wrote else "they were not written to"


@rule("CONS-03", "consumer", "the producer's exception is propagated")
def _through(spy: Record) -> Verdicts:
    for imported in spy.imports:
        calls = [c for c in spy.calls if imported.started <= c.started <= imported.ended]
        if calls and calls[-1].error is not None and not isinstance(calls[-1].error, TypeError):
            error = imported.error
            while error is not None and error is not calls[-1].error:
                error = error.__cause__ or error.__context__
            other = describe_error(imported.error) if imported.error else "nothing"
            text = f"{describe_error(calls[-1].error)}; the consumer raised {other}"
            yield error is imported.error is not None, text


@rule("COPY-04", "consumer", "copy is passed to the producer")
def _passed(spy: Record) -> Verdicts:
    for imported in spy.imports:
        asked = [c for c in exports(spy) if imported.started <= c.started <= imported.ended]
        if imported.keywords.get("copy") is not None and asked:
            copy = asked[0].keywords.get("copy")
            yield copy is imported.keywords["copy"], asked[0].request


@rule(
    "FLAG-10",
    "consumer",
    "read-only data is imported read-only if the library has read-only arrays",
)
def _sticky(spy: Record) -> Verdicts:
    if "readonly" not in subject(spy.consumer).arrays:
        return  # FLAG-09: a library without read-only arrays may ignore the flag
    for imported in spy.imports:
        sent = [
            held for _, held in list_exports(spy) if judgements.is_read_only(held["flags"] or 0)
        ]
        if sent and imported.readonly is not None and imported.arrival in {"shared", "writable"}:
            yield imported.readonly, imported.result


# --- producers

KEYWORDS = ("stream", "max_version", "dl_device", "copy")


@rule(
    "LIFE-06", "producer", "a capsule named dltensor or dltensor_versioned, as its struct requires"
)
def _capsule(spy: Record) -> Verdicts:
    for call in exports(spy):
        if call.error is None:
            yield call.held is not None, call.reply


@rule("DEV-01", "producer", "__dlpack_device__() returns a pair of ints")
def _pair(spy: Record) -> Verdicts:
    for call in spy.calls:
        if call.method == "__dlpack_device__" and call.error is None:
            yield find_device(spy) is not None, f"{call.answer!r}"


@rule("DEV-03", "producer", "without dl_device the struct's device is that of __dlpack_device__()")
def _same_device(spy: Record) -> Verdicts:
    device = find_device(spy)
    for call, held in list_exports(spy):
        if device is not None and call.keywords.get("dl_device") is None:
            yield held["device"] == device, f"announced {device}, the struct has {held['device']}"


@rule("PROD-01", "producer", "__dlpack__ accepts stream, max_version, dl_device and copy")
def _keywords(spy: Record) -> Verdicts:
    for call in exports(spy):
        if set(call.keywords) <= set(KEYWORDS):
            unknown = isinstance(call.error, TypeError) and "keyword" in str(call.error)
            if unknown or call.error is None:
                yield not unknown, f"{call.request} {call.reply}"


@rule("VERS-04", "producer", "without max_version: the legacy struct, or BufferError")
def _legacy(spy: Record) -> Verdicts:
    for call in exports(spy):
        if call.keywords.get("max_version") is None and (call.held is not None):
            yield call.held["version"] is None, f"{call.request} {call.reply}"


@rule("VERS-05", "producer", "max_version of 1.0 or more returns the versioned struct")
def _versioned(spy: Record) -> Verdicts:
    for call in exports(spy):
        asked = call.keywords.get("max_version")
        if isinstance(asked, tuple) and asked >= (1, 0) and call.held is not None:
            version = call.held["version"]
            yield version is not None and version[0] == 1, f"{call.request} {call.reply}"


@rule("TENS-03", "producer", "data is NULL if there are no elements")
def _empty(spy: Record) -> Verdicts:
    for _, held in list_exports(spy):
        if held["shape"] is not None and math.prod(held["shape"]) == 0:
            yield not held["data"], f"shape {held['shape']}, data {held['data'] or 0:#x}"


@rule("TENS-06", "producer", "since DLPack 1.2 strides are not NULL for ndim > 0")
def _strides(spy: Record) -> Verdicts:
    for _, held in list_exports(spy):
        if held["ndim"] > 0 and held["version"] is not None and held["version"] >= (1, 2):
            yield held["strides"] is not None, f"ndim {held['ndim']}, strides {held['strides']}"


@rule("TENS-08", "producer", "shape is not NULL for ndim > 0")
def _shape(spy: Record) -> Verdicts:
    for _, held in list_exports(spy):
        if held["ndim"] > 0:
            yield held["shape"] is not None, f"ndim {held['ndim']}, shape {held['shape']}"


@rule("FLAG-01", "producer", "only flags that DLPack 1 defines are set")
def _flags(spy: Record) -> Verdicts:
    for _, held in list_exports(spy):
        if held["flags"] is not None:
            yield judgements.sets_only_known_flags(held["flags"]), f"flags {held['flags']:#x}"


@rule("FLAG-03", "producer", "IS_COPIED is set after copy=True")
def _copied(spy: Record) -> Verdicts:
    for call, held in list_exports(spy):
        if call.keywords.get("copy") is True and held["flags"] is not None:
            yield judgements.marks_copy(held["flags"]), f"{call.request} {call.reply}"


@rule("PROD-12", "producer", "copy=False never returns a copy")
def _not_copied(spy: Record) -> Verdicts:
    for call, held in list_exports(spy):
        if call.keywords.get("copy") is False and held["flags"] is not None:
            yield not judgements.marks_copy(held["flags"]), f"{call.request} {call.reply}"


@rule("LIFE-20", "producer", "each call of __dlpack__ returns a new tensor")
def _own(spy: Record) -> Verdicts:
    alive: dict[int, int] = {}
    for call in tensor_calls(spy):
        if call.watched is None:
            continue
        ended = min(call.deletions(), default=2**63)
        other = alive.get(call.watched.original, 0)
        yield other <= call.started, f"managed tensor at {call.watched.original:#x}"
        alive[call.watched.original] = ended


@rule("TENS-16", "producer", "shape and strides do not change until the deleter runs")
def _unchanged(spy: Record) -> Verdicts:
    for call in tensor_calls(spy):
        if call.watched is not None:
            wrote = call.watched.producer_wrote
            yield not wrote, "they changed" if wrote else "they did not change"


@rule("LIFE-08", "producer", "the destructor of an unconsumed capsule calls the deleter")
def _destructor(spy: Record) -> Verdicts:
    for call in exports(spy):
        events = call.events()
        unused = [
            e for e in events if e[0] == "capsule" and call.held and e[6] == call.held["name"]
        ]
        if unused and call.watched is not None and call.watched.has_deleter:
            did = any(event[0] == "destructor" for event in events)
            if did or not any(event[0] == "deleter" for event in events):
                yield did, "it did" if did else "the capsule was freed, the deleter was not called"


@rule("LIFE-15", "producer", "the deleter leaves no Python exception set")
def _quiet(spy: Record) -> Verdicts:
    for call in tensor_calls(spy):
        for event in call.events():
            if event[0] == "deleter" and event[3]:
                yield not event[5], "it left one" if event[5] else "it left none"


# --- findings


def judge(spy: Record) -> list[Finding]:
    """One finding for each rule that applied; a broken instance takes precedence."""
    out = []
    for name, role, expected, apply in RULES:
        verdicts = list(apply(spy))
        if not verdicts:
            continue
        held, observed = min(verdicts, key=lambda verdict: verdict[0])
        level = requirement(name).level
        who = spy.producer if role == "producer" else spy.consumer
        outcome = Outcome.PASS if held else BROKEN[level]
        case = f"spy-{spy.producer}-{spy.consumer}"
        version = version_of(who)
        out.append(Finding(name, level, who, version, role, case, outcome, expected, observed, ""))
    return out
