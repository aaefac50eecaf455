"""What the kit reads of tensors: the decoder of every dtype, memory that is not mapped, findings
that do not hide each other, and deleters that run late."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from mutants.__main__ import load, run_mutant

import refarray as ra
from refarray.conformance import Outcome, checks
from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness import memory
from refarray.conformance.harness.statement import Statement, statement
from refarray.conformance.runner.engine import run_subject
from refarray.conformance.subjects.libraries import REFARRAY
from refarray.conformance.subjects.subject import DTYPES, Subject
from refarray.conformance.suite.consumer_kinds import LAYOUTS, make_tensor
from refarray.conformance.suite.reading import Reading

pytestmark = [pytest.mark.every_python, pytest.mark.usefixtures("drivers_are_importable")]

load()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_decoded(dtype: str) -> None:
    array = ra.arange(37).astype(dtype)
    held = ra._native._inspect_capsule(array.__dlpack__(max_version=(1, 3)))
    found = memory.values(held["data"] + held["byte_offset"], (37,), (1,), held["dtype"])
    assert found == array.tolist()


def test_unmapped_memory_is_an_exception() -> None:
    with pytest.raises(memory.Unreadable, match="cannot be read"):
        memory.read(16, 8)
    with pytest.raises(memory.Unreadable, match="cannot be written"):
        memory.write(16, b"12345678")
    with pytest.raises(memory.Unreadable, match="shape"):
        memory.values(16, (2**40,), (1,), (2, 32, 1))
    with pytest.raises(NotApplicable, match="decode"):
        memory.width((17, 4, 1))


def test_read_only_memory_does_not_crash() -> None:
    text = struct.pack("3f", 1, 2, 3)
    place = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value
    assert place is not None
    assert memory.values(place, (3,), (1,), (2, 32, 1)) == [1, 2, 3]


def rows() -> Iterator[tuple[str, str]]:
    for layout in LAYOUTS:
        yield layout, "float32"
    for dtype in DTYPES:
        yield "offset-strided", dtype


@pytest.mark.parametrize(("layout", "dtype"), list(rows()))
def test_sent_values_are_those_that_refarray_reads(layout: str, dtype: str) -> None:
    from refarray.conformance import give

    tensor = make_tensor(layout, dtype)
    assert ra.from_dlpack(give(**tensor.fields)).tolist() == tensor.values


def reading(array: ra.Array, **changes: Any) -> Reading:
    """An export of the array with some fields changed, beside what refarray says of it."""
    held = dict(ra._native._inspect_capsule(array.__dlpack__(max_version=(1, 3))))
    said = statement(REFARRAY, {}, array)
    return Reading({**held, **changes}, said, (2, 32, 1))


def test_parts_are_judged_by_themselves() -> None:
    array = ra.reshape(ra.arange(6, dtype=ra.float32), (2, 3)).T
    right = reading(array)
    assert right.judge_values()[0] and right.judge_layout()[0] and right.judge_dtype()[0]
    strides = reading(array, strides=(2, 1))
    assert strides.judge_values()[0] and not strides.judge_layout()[0]
    offset = reading(array, byte_offset=4)
    assert not offset.judge_values()[0] and offset.judge_layout()[0]
    dtype = reading(array, dtype=(0, 32, 1))
    assert dtype.judge_values()[0] and dtype.judge_layout()[0] and not dtype.judge_dtype()[0]
    both = reading(array, strides=(2, 1), byte_offset=4)
    assert not both.judge_values()[0] and not both.judge_layout()[0]


def test_strides_are_found_without_a_statement() -> None:
    array = ra.reshape(ra.arange(6, dtype=ra.float32), (2, 3)).T
    said = Statement((3, 2), array.tolist(), None)
    held = dict(ra._native._inspect_capsule(array.__dlpack__(max_version=(1, 3))))
    wrong = Reading({**held, "strides": (2, 1)}, said, (2, 32, 1))
    assert wrong.judge_values()[0] and not wrong.judge_layout()[0]


def test_one_finding_hides_no_other() -> None:
    run = run_subject(
        "mutants.data.producer_data:twofaults",
        [each for each in checks() if each.role == "producer"],
    )
    assert not run.broken
    found = {f.id for f in run.findings if f.outcome is Outcome.FAIL and "transposed" in f.case}
    assert found == {"TENS-01", "ABI-05"}


@pytest.mark.parametrize(
    ("mutant", "outcome", "observed"),
    [
        ("held_until_exit_", Outcome.INFO, "1 deleter calls, only when the process exits"),
        ("leaks_for_good_", Outcome.FAIL, "deleter calls when the process has exited"),
        ("deletes_again_at_exit_", Outcome.FAIL, "deleter calls when the process has exited"),
    ],
)
def test_late_deleters_are_waited_for(mutant: str, outcome: Outcome, observed: str) -> None:
    run = run_mutant(f"mutants.data.late_deleters:{mutant}")
    late = [f for f in run.findings if f.outcome not in {Outcome.PASS, Outcome.NOT_APPLICABLE}]
    assert late and {f.id for f in late} == {"LIFE-03"}
    assert {f.outcome for f in late} == {outcome}, late
    assert all(observed in f.observed for f in late)


def test_late_deleters_are_waited_for_in_a_process_that_cannot_fork() -> None:
    """The subject starts a thread, so that each undecided case runs in a process of its own."""
    chosen = [each for each in checks() if each.name == "LIFE-03[consumer-versioned-inner]"]
    run = run_subject("mutants.data.late_deleters:held_until_exit_threaded", chosen)
    assert [f.outcome for f in run.findings] == [Outcome.INFO], run.findings
    assert run.findings[0].observed == "1 deleter calls, only when the process exits"


class Bare:
    """An array of another class: no tolist, no strides, values by index only."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.shape = (len(values),) if isinstance(values, list) else ()

    def __getitem__(self, index: int) -> Any:
        return Bare(self.values[index])

    def __float__(self) -> float:
        return float(self.values)


def test_values_are_read_by_index() -> None:
    subject = Subject("bare", "")
    assert statement(subject, {}, Bare([1, 2])) == Statement((2,), [1.0, 2.0], None)
    with pytest.raises(NotApplicable, match="own values cannot be read"):
        statement(subject, {}, object())
