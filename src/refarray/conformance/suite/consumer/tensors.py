"""Imports of tensors of every layout and dtype: each element of the result is read.

A wrong result is a finding on the layout (ABI-05, TENS-12), the offset (TENS-01) or the dtype
(DTYPE). The same trial decides the sharing (TENS-18), the next export (TENS-19, TENS-01) and the
deleter (LIFE-03).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import (
    DOUBLE_FREE,
    WRONG_DATA,
    AtExit,
    Check,
    CheckResult,
    NotApplicable,
    add,
    add_harm,
    check,
)
from refarray.conformance.harness import memory
from refarray.conformance.harness.consumer import BARE, Consumer, Import, settle, text
from refarray.conformance.harness.recorder import PLAIN, Recorder
from refarray.conformance.harness.statement import read_values, statement
from refarray.conformance.requirements import Role
from refarray.conformance.suite.consumer.table import foreign
from refarray.conformance.suite.consumer_kinds import NEGATIVE, TENSORS, Sent
from refarray.conformance.suite.corpus_checks import register_corpus
from refarray.conformance.suite.producer.dtypes import TRIPLES
from refarray.conformance.suite.reading import Reading, Verdict

WAYS = ("versioned", "legacy", "table", "bare")
"""How the consumer gets the tensor: from an object or its table, or as a capsule itself."""
OWN_KINDS = {
    "offset-strided": "strided",
    "reversed-rows": "reversed",
    "broadcast-rows": "broadcast",
}
"""The layouts for which a subject's kind of array has another name."""


@dataclass
class Imported:
    """One import, beside the tensor that was sent."""

    consumer: Consumer
    name: str
    sent: Sent
    given: Recorder
    text: str
    """The producer as a repro shows it."""
    found: Import
    first: int
    """The number of the first tensor of the kit that it may have used."""

    @property
    def address(self) -> int:
        """Address of the first element that was sent."""
        return self.given.address + int(self.sent.fields.get("byte_offset", 0))

    def values(self) -> Any:
        """The values of the result, as the library reads them."""
        subject, namespace = self.consumer.subject, self.consumer.namespace
        return read_values(subject, namespace, self.found.array, self.sent.dtype)

    def sees_writes(self) -> bool:
        """Whether the result sees a write to the first element that was sent."""
        size = memory.width(self.sent.triple)
        before = self.values()
        old = memory.read(self.address, size)
        memory.write(self.address, bytes(each ^ 1 for each in old))
        seen = bool(self.values() != before)
        memory.write(self.address, old)
        return seen


def import_tensor(consumer: Consumer, way: str, name: str, sent: Sent, **keywords: Any) -> Imported:
    """Imports a tensor. NotApplicable if the consumer refuses, or does not take this way."""
    if name in NEGATIVE and "reversed" not in consumer.subject.arrays:
        raise NotApplicable(
            "it has no arrays with negative strides: the corpus judges their import"
        )
    fields = dict(sent.fields)
    if way == "legacy":
        if not consumer.takes_legacy:
            raise NotApplicable("it takes no legacy capsules")
        fields["versioned"] = False
    first = _adversary.made()
    if way == "table":
        kept = _adversary.table()
        given = foreign("read", kept.capsule(), "_adversary.table().capsule()", **fields)
    else:
        given = Recorder(**fields)
    found = consumer.take_bare(given) if way == "bare" else consumer.take(given, **keywords)
    found = found.accepted()
    if way == "table" and given.requests:
        raise NotApplicable("it does not use the table")
    producer = text(given.fields) + (BARE if way == "bare" else "")
    return Imported(consumer, name, sent, given, producer, found, first)


def right_values(it: Imported) -> Verdict:
    """Whether every element of the result is the tensor's."""
    found = it.values()
    if found == it.sent.values:
        return True, f"values {memory.brief(found)}"
    return False, f"values {memory.brief(found)} of {memory.brief(it.sent.values)}"


def has_layout(it: Imported) -> bool:
    """Whether the library's own arrays can have the tensor's layout, so that it can be shared."""
    if it.name in {"plain", "odd", "scalar", "one", *TRIPLES}:
        return True
    kind = OWN_KINDS.get(it.name, it.name)
    try:
        _, own = it.consumer.own(kind)
        held = it.consumer.look(own)
    except NotApplicable:
        return False
    if it.sent.offset and it.name in {"offset", "scalar-offset"}:
        return bool((int(held["data"]) + int(held["byte_offset"])) % 64)
    contiguous = memory.row_major(tuple(held["shape"] or ()))
    return tuple(held["strides"] or ()) != contiguous


def memory_is_shared(it: Imported) -> Verdict | None:
    """TENS-18."""
    it.consumer.require_sharing()
    if memory.elements(it.sent.fields["shape"]) == 0 or not has_layout(it):
        return None
    held = it.found.read_fields()
    address = int(held["data"] or 0) + int(held["byte_offset"])
    if not 0 <= address - it.given.address < len(it.given.bytes):
        return False, f"copied from {it.address:#x} to {address:#x}"
    if address != it.address:
        return None  # shared, but not from the first element on: the import is wrong
    if it.consumer.subject.immutable or it.consumer.subject.values:
        return True, "the same address"  # it may keep what it has read
    held_writes = it.sees_writes()
    return held_writes, "shared" if held_writes else "the result does not see writes to the tensor"


def next_export(it: Imported) -> Reading:
    """The tensor that the result exports. NotApplicable if it exports none."""
    subject, namespace = it.consumer.subject, it.consumer.namespace
    said = replace(statement(subject, namespace, it.found.array, it.sent.dtype), strides=None)
    return Reading(it.found.read_fields(), replace(said, values=it.sent.values), it.sent.triple)


def next_export_has_values(it: Imported) -> Verdict | None:
    """TENS-01 of the result's own export."""
    if not right_values(it)[0]:
        return None  # the import is wrong already
    if tuple(it.found.read_fields()["dtype"]) != it.sent.triple:
        return None  # another dtype: TENS-19
    return next_export(it).judge_values()


def next_export_has_layout(it: Imported) -> Verdict | None:
    """TENS-19: shape, dtype and device, and the strides of what is shared."""
    if not right_values(it)[0]:
        return None  # the import is wrong already
    held = it.found.read_fields()
    names = {"shape": it.sent.fields["shape"], "dtype": it.sent.triple, "device": (1, 0)}
    for name, right in names.items():
        if tuple(held[name] or ()) != right:
            return False, f"{name} {held[name]} of {right}"
    reading = next_export(it)
    if reading.address == it.address and memory.elements(reading.shape):
        pairs = zip(reading.shape, reading.strides, it.sent.fields["strides"], strict=True)
        if any(extent > 1 and found != right for extent, found, right in pairs):
            return False, f"strides {reading.strides} of {it.sent.fields['strides']}"
    return True, "as it was sent"


Judge = Callable[[Imported], Verdict | None]
"""The verdict on a part of a trial; None: nothing to judge."""
PARTS: dict[str, tuple[str, str, Judge]] = {
    "shared": ("TENS-18", "memory that can be shared is shared", memory_is_shared),
    "again": ("TENS-01", "exported again, every element is the same", next_export_has_values),
    "same": (
        "TENS-19",
        "exported again with its shape, strides, dtype and device",
        next_export_has_layout,
    ),
}
"""Parts of an import: part → (requirement, expected, judge)."""


def judge_deleter(it: Imported, **keywords: Any) -> CheckResult:
    """Drops the result: the deleter is called exactly once, and not before."""
    early = it.given.deleter_calls
    it.found.array = None
    right = len(it.given.tensors)
    settle(lambda: it.given.deleter_calls == right)
    calls = it.given.deleter_calls
    observed = f"{early} deleter calls while the result lives, {calls} after, of {right} tensors"
    result = it.consumer.make_result(calls == right, observed, it.text, **keywords)
    if calls > right:
        return add_harm(result, DOUBLE_FREE)
    return result if calls == right else replace(result, at_exit=AtExit(it.first, right))


def read_import(
    way: str, name: str, sent: Sent, names: dict[str, str], consumer: Consumer
) -> CheckResult:
    """Imports one tensor and judges every part. `names`: part → the name of its check."""
    it = import_tensor(consumer, way, name, sent)
    parts: dict[str, CheckResult] = {}
    try:
        held, observed = right_values(it)
        whole = add_harm(consumer.make_result(held, observed, it.text), WRONG_DATA)
    except NotApplicable as reason:
        whole = CheckResult(None, str(reason), "")
    for part, (_, _, judge) in PARTS.items():
        try:
            verdict = judge(it)
        except NotApplicable:
            continue
        if verdict is not None:
            result = consumer.make_result(*verdict, it.text)
            parts[names[part]] = add_harm(result, WRONG_DATA) if part == "again" else result
    parts[names["deleted"]] = judge_deleter(it)
    return replace(whole, parts=parts)


def about(name: str, sent: Sent) -> str:
    """The requirement that a wrong import of this tensor breaks."""
    if name in TRIPLES:
        return TRIPLES[name][0]
    if name in NEGATIVE:
        return "TENS-12"
    strides, shape = sent.fields["strides"], sent.fields["shape"]
    contiguous = strides == memory.row_major(shape) and memory.elements(shape)
    return "TENS-01" if sent.offset or contiguous else "ABI-05"


def register(way: str, name: str, sent: Sent) -> None:
    """Registers the import of one tensor, and its parts."""
    case = f"{way}-{name}"
    names: dict[str, str] = {}

    def probe(consumer: Consumer) -> CheckResult:
        return read_import(way, name, sent, names, consumer)

    def add_one(requirement: str, label: str, expected: str, whole: str = "") -> str:
        direct = f"{requirement}[consumer-{label.replace('bare', 'versioned', 1)}]"
        same = (direct,) if way == "bare" else ()
        each = Check(
            requirement, label, Role.CONSUMER, expected, probe, part_of=whole, same_as=same
        )
        return add(each).name

    whole = add_one(about(name, sent), case, f"every element of the {way} tensor is in the result")
    for part, (requirement, expected, _) in PARTS.items():
        names[part] = add_one(requirement, f"{case}-{part}", expected, whole)
    expected = "the deleter is called exactly once, after the result is dropped"
    names["deleted"] = add_one("LIFE-03", case, expected, whole)


for _way in WAYS:
    for _name, _sent in TENSORS.items():
        register(_way, _name, _sent)


# --- the tensors of harness/corpus.py, a plain tensor, and an array of its own


register_corpus("TENS")


@check("TENS-18", "shared", "a contiguous tensor is imported without a copy")
def contiguous_tensor_is_shared(consumer: Consumer) -> CheckResult:
    consumer.require_sharing()
    recorder = Recorder()
    found = consumer.import_from(recorder)
    held = found.address == recorder.address
    return consumer.make_result(held, "shared" if held else "copied", PLAIN)


@check(
    "TENS-19",
    "round-trip",
    "an array of its own comes back with shape, strides, dtype and device",
    risky=True,
)
def round_trip(consumer: Consumer) -> CheckResult:
    source, own = consumer.own("transposed", "plain")
    before, after = consumer.look(own), consumer.take(own).read_fields()
    fields = ("shape", "strides", "dtype", "device")
    first, second = (tuple(tuple(each[name] or ()) for name in fields) for each in (before, after))
    return consumer.make_result(first == second, f"{first}, came back as {second}", source)
