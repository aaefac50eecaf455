"""Rules of the live validator for consumers."""

from __future__ import annotations

import itertools

from refarray.conformance import judgements
from refarray.conformance.harness.producer import describe_error
from refarray.conformance.live_validator.calls import Record
from refarray.conformance.live_validator.rules import (
    Verdicts,
    calls_during,
    exports,
    find_device,
    is_shared_alone,
    list_exports,
    rule,
    tensor_calls,
)
from refarray.conformance.subjects.lookup import subject

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
