"""PROD checks of a producer: the copies and shared exports of arrays of every kind and dtype.

They are compared by address, by value, and by writing to one side and reading the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from refarray.conformance.cases import (
    WRONG_DATA,
    Check,
    CheckResult,
    NotApplicable,
    add,
    add_harm,
)
from refarray.conformance.dlpack import HOST_READABLE, IS_COPIED, READ_ONLY
from refarray.conformance.harness import memory
from refarray.conformance.harness.memory import Unreadable
from refarray.conformance.harness.producer import Export, Producer
from refarray.conformance.harness.statement import Statement, statement
from refarray.conformance.requirements import Role
from refarray.conformance.suite.producer.dtypes import WAYS
from refarray.conformance.suite.producer.tensors_read import SOURCES, Source
from refarray.conformance.suite.producer.tensors_read import Trial as Read
from refarray.conformance.suite.reading import Reading, Verdict, overlap


@dataclass(frozen=True)
class Copied:
    """A copy beside the array and its shared export."""

    producer: Producer
    source: Source
    array: Any
    said: Statement
    plain: Export
    copy: Export

    @property
    def shared(self) -> Reading:
        assert self.plain.held is not None
        return Reading(self.plain.held, self.said, self.source.triple)

    @property
    def read(self) -> Reading:
        """The copy, with its own strides if it has the array's shape. Wrong fields that the shared
        export has as well are judged there."""
        assert self.copy.held is not None
        own = tuple(self.copy["shape"] or ()) == self.said.shape
        rows = memory.row_major(self.said.shape)
        strides = self.copy["strides"] if own and self.copy["strides"] is not None else rows
        said = replace(self.said, strides=tuple(strides))
        return Reading(self.copy.held, said, self.source.triple)

    def now(self) -> Any:
        """The values that the library reads now; the old ones if it does not tell them."""
        subject, namespace = self.producer.subject, self.producer.namespace
        said = self.said.values
        return statement(subject, namespace, self.array, self.source.dtype, said).values

    def judge(self) -> Verdict:
        """Whether the copy is one: memory of its own, the same values, independent writes."""
        for field, right in (("shape", self.said.shape), ("dtype", self.source.triple)):
            if tuple(self.copy[field] or ()) not in {right, tuple(self.plain[field] or ())}:
                return False, f"{field} {self.copy[field]}, that of the array {right}"
        if memory.elements(self.said.shape) == 0:
            return True, "no elements"
        if overlap(self.read.span(), self.shared.span()):
            return False, f"the array's own memory, at {self.copy.address:#x}"
        held, observed = self.read.judge_values()
        if not held:
            return False, observed
        return self.try_write_to_copy() or self.try_write_to_array() or (True, "a copy of its own")

    def try_write_to_copy(self) -> Verdict | None:
        """A finding if the array sees a write to the copy."""
        if self.copy.versioned and self.copy.flags & READ_ONLY:
            return None
        try:
            old = memory.read(self.read.address, memory.width(self.source.triple))
            memory.write(self.read.address, self.read.first_differs())
            seen = self.now() != self.said.values
            memory.write(self.read.address, old)
        except Unreadable as error:
            return False, f"the copy cannot be written: {error}"
        return (False, "the array sees what was written to the copy") if seen else None

    def try_write_to_array(self) -> Verdict | None:
        """A finding if the copy sees a write to the array."""
        right = self.shared.judge_values()[0]
        if not self.source.writable(self.producer) or not right:
            return None
        old = memory.read(self.shared.address, memory.width(self.source.triple))
        memory.write(self.shared.address, self.shared.first_differs())
        seen = not self.read.judge_values()[0]
        memory.write(self.shared.address, old)
        return (False, "the copy sees what was written to the array") if seen else None


def plain_export(producer: Producer, source: Source, way: str) -> tuple[str, Any, Export]:
    """Expression, array and shared export. NotApplicable if there is none in host memory."""
    text = source.text(producer)
    array = producer.make(text)
    plain = producer.export(text, array, **WAYS[way]).require()
    if plain["device"][0] not in HOST_READABLE:
        raise NotApplicable("its data cannot be read from the host")
    return text, array, plain


def plain_is_copied(producer: Producer, way: str) -> bool:
    """Whether copy=True gives a plain array memory of its own. If not, every other array's copy
    would be one more finding with the same cause."""
    if way not in producer.known:
        try:
            text, array, plain = plain_export(producer, SOURCES["plain"], way)
            copy = producer.export(text, array, copy=True, **WAYS[way])
            producer.known[way] = copy.error is not None or copy.address != plain.address
        except NotApplicable:
            producer.known[way] = True
    return producer.known[way]


def plain_is_flagged(producer: Producer) -> bool:
    """Whether the copy of a plain array has IS_COPIED. If not, its own case judges it."""
    if "flagged" not in producer.known:
        try:
            copy = producer.export(producer.text(), copy=True, **WAYS["versioned"])
            flagged = copy.error is not None or bool(copy.flags & IS_COPIED)
        except NotApplicable:
            flagged = True
        producer.known["flagged"] = flagged
    return producer.known["flagged"]


def copy_true(way: str, source: Source, flag: str, producer: Producer) -> CheckResult:
    """Judges the copy of one array; `flag` is the name of the check of its IS_COPIED."""
    if not plain_is_copied(producer, way):
        raise NotApplicable(f'no copy of a plain array is one: the case "{way}" judges it')
    text, array, plain = plain_export(producer, source, way)
    copy = producer.export(text, array, copy=True, **WAYS[way])
    if copy.error is not None:
        if isinstance(copy.error, BufferError):
            raise NotApplicable(f"{copy.call} raised {copy}: the case of a plain array judges it")
        return producer.make_result(False, copy)
    source = source.of(array)
    promised = source.promised(producer)
    said = statement(producer.subject, producer.namespace, array, source.dtype, promised)
    copied = Copied(producer, source, array, said, plain, copy)
    held, observed = copied.judge()
    # The repro compares addresses, which tells nothing of wrong values.
    beside = plain if held or copy.address == plain.address else None
    whole = producer.make_result(held, copy, observed, field="data", beside=beside)
    if beside is None and memory.elements(said.shape) and not copied.read.judge_values()[0]:
        whole = add_harm(whole, WRONG_DATA)
    if not copy.versioned or not flag or not plain_is_flagged(producer):
        return whole
    marked = bool(copy.flags & IS_COPIED)
    part = producer.make_result(marked, copy, f"flags {copy.flags}", field="flags")
    return replace(whole, parts={flag: part})


def copy_false(way: str, source: Source, producer: Producer) -> CheckResult:
    """Judges the export of one array under copy=False."""
    text, array, plain = plain_export(producer, source, way)
    first, second = (producer.export(text, array, copy=False, **WAYS[way]) for _ in range(2))
    if first.error is not None:
        return producer.make_result(isinstance(first.error, BufferError), first)
    source = source.of(array)
    promised = source.promised(producer)
    said = statement(producer.subject, producer.namespace, array, source.dtype, promised)
    same = first.address in {plain.address, second.address}
    if not same:
        return producer.make_result(False, first, "other memory in each export", beside=plain)
    assert first.held is not None
    reading = Reading(first.held, said, source.triple)
    wrote = Read(producer, source, text, array, first, second, reading).wrote()
    observed = "the array does not see what was written" if wrote is False else "the same memory"
    return producer.make_result(wrote is not False, first, observed, field="data")


def register(way: str, source: Source) -> None:
    """Registers the copy=True and copy=False cases of one array."""
    case = f"{way}-{source.name}"
    flag = f"FLAG-03[producer-{case}]" if way == "versioned" else ""

    def copies(producer: Producer) -> CheckResult:
        return copy_true(way, source, flag, producer)

    def shares(producer: Producer) -> CheckResult:
        return copy_false(way, source, producer)

    name = "PROD-11" if flag else "PROD-16"
    expected = "copy=True gives memory of its own with the same values; no write is seen across"
    # For a legacy copy the texts are disputed only where a producer refuses it.
    after = f"{name}[producer-{way}]"
    whole = add(Check(name, case, Role.PRODUCER, expected, copies, after=after))
    if flag:
        expected = "copy=True sets IS_COPIED"
        add(Check("FLAG-03", case, Role.PRODUCER, expected, copies, part_of=whole.name))
    if source.name in {"empty", "empty2"}:
        return  # no memory to share
    expected = "copy=False gives the array's own memory, or BufferError"
    after = "PROD-12[producer-plain]"
    add(Check("PROD-12", case, Role.PRODUCER, expected, shares, after=after))


for _way in WAYS:
    for _source in SOURCES.values():
        register(_way, _source)
