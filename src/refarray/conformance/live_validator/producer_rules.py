"""Rules of the live validator for producers."""

from __future__ import annotations

import math

from refarray.conformance import judgements
from refarray.conformance.live_validator.calls import Record
from refarray.conformance.live_validator.rules import (
    Verdicts,
    exports,
    find_device,
    list_exports,
    rule,
    tensor_calls,
)

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
