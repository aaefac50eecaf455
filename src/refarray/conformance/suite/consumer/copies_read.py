"""COPY checks of a consumer on tensors of every layout and dtype, and on arrays of its own.

Results are compared by address, by value, and by writing to one side and reading the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refarray.conformance.cases import (
    WRONG_DATA,
    Check,
    CheckResult,
    NotApplicable,
    add,
    add_harm,
    check_cases,
)
from refarray.conformance.dlpack import IS_COPIED
from refarray.conformance.harness import memory
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Producer
from refarray.conformance.harness.statement import read_values, statement
from refarray.conformance.requirements import Level, Role
from refarray.conformance.suite.consumer.tensors import (
    Imported,
    import_tensor,
    judge_deleter,
    right_values,
)
from refarray.conformance.suite.consumer_kinds import TENSORS, Sent
from refarray.conformance.suite.producer.tensors_read import PROTECTED, SOURCES, Source
from refarray.conformance.suite.reading import Reading, Verdict, overlap

WAYS = ("versioned", "legacy")


def is_copy(it: Imported) -> Verdict:
    """Whether the result has memory of its own, the same values, and sees no writes."""
    if memory.elements(it.sent.fields["shape"]) == 0:
        return True, "no elements"
    held = it.found.read_fields()
    strides = held["strides"] or memory.row_major(tuple(held["shape"] or ()))
    address = int(held["data"]) + int(held["byte_offset"])
    size = memory.width(it.sent.triple)
    sent = range(it.given.address, it.given.address + len(it.given.bytes))
    if overlap(memory.span(address, tuple(held["shape"] or ()), strides, size), sent):
        return False, "the producer's own memory"
    held_values, observed = right_values(it)
    if not held_values:
        return False, observed
    if it.sees_writes():
        return False, "the result sees what was written to the tensor"
    if not it.consumer.subject.immutable:
        before = it.given.bytes
        old = memory.read(address, size)
        memory.write(address, bytes(each ^ 1 for each in old))
        seen = it.given.bytes != before
        memory.write(address, old)
        if seen:
            return False, "the tensor sees what was written to the result"
    return True, "a copy of its own"


def copy_true(way: str, name: str, sent: Sent, deleted: str, consumer: Consumer) -> CheckResult:
    """Judges the result of copy=True; `deleted` is the name of the check of the deleter."""
    if not consumer.copies_itself:
        raise NotApplicable('it trusts the producer to copy: the case "ignored" judges it')
    it = import_tensor(consumer, way, name, sent, copy=True)
    try:
        whole = consumer.make_result(*is_copy(it), it.text, copy=True)
        if not right_values(it)[0]:
            whole = add_harm(whole, WRONG_DATA)
    except NotApplicable as reason:
        whole = CheckResult(None, str(reason), "")
    it.found.array = None
    return replace(whole, parts={deleted: judge_deleter(it, copy=True)})


def copy_false(way: str, name: str, sent: Sent, consumer: Consumer) -> CheckResult:
    it = import_tensor(consumer, way, name, sent, copy=False)
    held = it.found.read_fields()
    address = int(held["data"]) + int(held["byte_offset"])
    if it.address != address and 0 <= address - it.given.address < len(it.given.bytes):
        raise NotApplicable("shared, but not from the first element on: TENS-01 judges that")
    if address != it.address:
        return consumer.make_result(False, f"copied to {address:#x}", it.text, copy=False)
    frozen = consumer.subject.immutable or consumer.subject.values
    seen = bool(frozen) or it.sees_writes()
    observed = "shared" if seen else "the result does not see writes to the tensor"
    return consumer.make_result(seen, observed, it.text, copy=False)


@check_cases(
    "COPY-05",
    {f"served-{name}": (name, sent) for name, sent in TENSORS.items()},
    "copy=True, made by the producer: every element is the tensor's",
)
def served_copy(consumer: Consumer, row: tuple[str, Sent]) -> CheckResult:
    """Judges the result of copy=True if the producer copies, and says so."""
    name, sent = row
    copied = replace(sent, fields={**sent.fields, "flags": IS_COPIED})
    it = import_tensor(consumer, "versioned", name, copied, copy=True)
    return add_harm(consumer.make_result(*right_values(it), it.text, copy=True), WRONG_DATA)


@check_cases(
    "COPY-05",
    {"served-legacy": TENSORS["plain"]},
    "copy=True, answered with a legacy copy: the result may be written",
    # Users are free to write to a copy, but a producer that copies has to set IS_COPIED, for which
    # the legacy struct has no place: the texts do not say what a consumer of it may believe.
    level="DISPUTED",
)
def legacy_copy_is_writable(consumer: Consumer, sent: Sent) -> CheckResult:
    if consumer.subject.immutable:
        raise NotApplicable("its arrays may never be written")
    it = import_tensor(consumer, "legacy", "plain", sent, copy=True)
    held = not it.found.readonly
    observed = "writable" if held else "read-only"
    return consumer.make_result(held, observed, it.text, copy=True)


def judge_own_copy(source: Source, consumer: Consumer) -> CheckResult:
    """Judges the copy of an array of the library's own: address, values, writes to both sides."""
    if not consumer.copies_own:
        raise NotApplicable('no copy of a plain array is one: the case "independent" judges it')
    producer = Producer(consumer.subject)
    text = source.text(producer)
    array = producer.make(text)
    before = consumer.look(array)
    found = consumer.import_from(array, copy=True)
    held = found.read_fields()
    subject, namespace = consumer.subject, consumer.namespace
    said = statement(subject, namespace, array, source.dtype)
    own = replace(statement(subject, namespace, found.array, source.dtype), strides=None)
    first = Reading(before, replace(said, strides=None), source.triple)
    second = Reading(held, replace(own, values=said.values), source.triple)
    verdict = judge_independence(consumer, source, first, second, array, found.array)
    result = consumer.make_result(*verdict, text, copy=True)
    if verdict[1].startswith("values"):
        return add_harm(result, WRONG_DATA)
    # If nothing can be written, no user can tell a shared copy.
    return replace(result, level=Level.HAZARD) if subject.immutable else result


def judge_independence(
    consumer: Consumer, source: Source, first: Reading, second: Reading, array: Any, copy: Any
) -> Verdict:
    """Whether `second`, of `copy`, is an independent copy of `first`, of `array`."""
    if memory.elements(first.said.shape) == 0:
        return True, "no elements"
    subject, namespace = consumer.subject, consumer.namespace
    values = first.said.values
    found = read_values(subject, namespace, copy, source.dtype)
    if found != values:
        return False, f"values {memory.brief(found)} of {memory.brief(values)}"
    if overlap(first.span(), second.span()):
        return False, "the same memory"
    if subject.immutable or source.name in PROTECTED:
        return True, "a copy of its own"
    for written, read in ((first, copy), (second, array)):
        old = memory.read(written.address, memory.width(source.triple))
        memory.write(written.address, written.first_differs())
        seen = read_values(subject, namespace, read, source.dtype) != values
        memory.write(written.address, old)
        if seen:
            return False, "one side sees what was written to the other"
    return True, "a copy of its own"


def register(way: str, name: str, sent: Sent) -> None:
    """Registers the copy=True and copy=False cases of one tensor."""
    case, role = f"{way}-{name}", Role.CONSUMER
    deleted = f"LIFE-03[consumer-{case}-copy]"

    def copies(consumer: Consumer) -> CheckResult:
        return copy_true(way, name, sent, deleted, consumer)

    def shares(consumer: Consumer) -> CheckResult:
        return copy_false(way, name, sent, consumer)

    expected = "copy=True gives memory of its own with the same values; no write is seen across"
    after = "COPY-07[consumer-ignored]"
    whole = add(Check("COPY-07", case, role, expected, copies, after=after))
    expected = "copy=True: the deleter is called exactly once"
    add(Check("LIFE-03", f"{case}-copy", role, expected, copies, part_of=whole.name))
    if memory.elements(sent.fields["shape"]):
        add(Check("COPY-06", case, role, "copy=False shares, or is an exception", shares))


def register_own(source: Source) -> None:
    """Registers the copy of one array of the library's own."""
    expected = "after copy=True neither side sees the other's writes, and the values are the same"

    def probe(consumer: Consumer) -> CheckResult:
        return judge_own_copy(source, consumer)

    after = "COPY-05[consumer-independent]"
    add(Check("COPY-05", f"own-{source.name}", Role.CONSUMER, expected, probe, after=after))


for _source in SOURCES.values():
    register_own(_source)
for _way in WAYS:
    for _name, _sent in TENSORS.items():
        register(_way, _name, _sent)
