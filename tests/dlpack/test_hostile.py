"""Hostile input, row by row: as specified in a forked child, where a crash has a name, and in this
process."""

from __future__ import annotations

from typing import Any

import pytest
from hostile import everything
from hostile.case import Case, Off, expect, refused
from hostile.catalogue import DOCUMENTED, ROWS
from hostile.runner import forked, interpreter_keeps_classes, once, run, warm_up

CASES = everything()


@pytest.fixture(scope="module")
def warm(adv: Any) -> Any:
    warm_up(adv)
    return adv


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_specified(warm: Any, case: Case) -> None:
    throws, findings = run(warm, case)
    assert findings == []
    assert throws > 0


def test_no_row_is_missing() -> None:
    """Each row of the catalogue has cases or a documented reason; no case names another row."""
    covered = {row for case in CASES for row in case.rows}
    assert covered <= set(ROWS)
    assert set(ROWS) - covered == set(DOCUMENTED) - {"R42"}
    assert set(DOCUMENTED) <= set(ROWS)
    assert all(len(reason) > 20 for reason in DOCUMENTED.values())


def test_cases_have_names_of_their_own() -> None:
    assert len(CASES) == len({case.id for case in CASES}) >= 200


def crash(adv: Any) -> None:
    adv.make(version=(2, 0), unmapped_body=True).scramble()


def forget(adv: Any) -> None:
    adv.take(adv.make().capsule()).leave()


def free_twice(adv: Any) -> None:
    tensor = adv.make().expect_deletes(1)
    tensor.delete()
    tensor.delete()


def accept(adv: Any) -> None:
    with refused(BufferError):
        pass


KEPT: list[object] = []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (crash, "crash"),
        (forget, "leak"),
        (free_twice, "double deleter"),
        (accept, "silent accept"),
        (lambda adv: expect(False, "wrong"), "other"),
        pytest.param(
            lambda adv: KEPT.append([[], [], [], []]),
            "leak",
            marks=[
                pytest.mark.not_sanitized,  # it hides the interpreter's blocks
                pytest.mark.skipif(
                    interpreter_keeps_classes(), reason="the interpreter leaks blocks itself"
                ),
            ],
        ),
        (lambda adv: 1 / 0, "other"),
    ],
)
def test_findings(adv: Any, body: Any, kind: str) -> None:
    """The runner gives each planted fault its name."""
    _, findings = forked(adv, Case("planted", "planted", (), body))
    assert [found for found, _ in findings] == [kind], findings


def test_other_exceptions_are_not_refusals() -> None:
    with pytest.raises(Off, match="KeyError"), refused(BufferError):
        raise KeyError("k")
    with pytest.raises(Off, match="does not say"), refused(BufferError, words="shape"):
        raise BufferError("dtype")


def test_once_counts_throws(adv: Any) -> None:
    assert once(adv, Case("three", "planted", (), lambda adv: 3)) == (3, [])
