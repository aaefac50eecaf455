"""Every case of the hostile-input catalogue, in a forked child and in this process."""

from __future__ import annotations

from typing import Any

import pytest
from hostile import all_cases
from hostile.case import Case, Violation, expect, refused
from hostile.catalogue import ROWS, UNGRADED
from hostile.runner import interpreter_leaks_classes, run, run_forked, run_once, warm_up

pytestmark = pytest.mark.not_repeated

CASES = all_cases()


@pytest.fixture(scope="module")
def warm(adv: Any) -> Any:
    warm_up(adv)
    return adv


@pytest.mark.parametrize(
    "case", [pytest.param(each, id=str(each), marks=pytest.mark.req(*each.req)) for each in CASES]
)
def test_hostile_input_is_handled_as_specified(warm: Any, case: Case) -> None:
    attempts, findings = run(warm, case)
    assert findings == []
    assert attempts > 0


def test_every_catalogue_row_is_covered_or_explained() -> None:
    """Every row has cases or a reason for having none; no case names an unknown row."""
    covered = {row for case in CASES for row in case.rows}
    assert covered <= set(ROWS)
    assert set(ROWS) - covered == set(UNGRADED) - {"R42"}
    assert set(UNGRADED) <= set(ROWS)
    assert all(len(reason) > 20 for reason in UNGRADED.values())


def test_case_names_are_unique() -> None:
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
                pytest.mark.not_sanitized,  # sanitizers hide the interpreter's blocks
                pytest.mark.skipif(
                    interpreter_leaks_classes(), reason="the interpreter leaks blocks itself"
                ),
            ],
        ),
        (lambda adv: 1 / 0, "other"),
    ],
)
def test_runner_classifies_planted_faults(adv: Any, body: Any, kind: str) -> None:
    _, findings = run_forked(adv, Case("planted", "planted", (), body))
    assert [found for found, _ in findings] == [kind], findings


def test_an_unexpected_exception_is_not_a_refusal() -> None:
    with pytest.raises(Violation, match="KeyError"), refused(BufferError):
        raise KeyError("k")
    with pytest.raises(Violation, match="does not say"), refused(BufferError, message="shape"):
        raise BufferError("dtype")


def test_run_once_returns_the_number_of_attempts(adv: Any) -> None:
    assert run_once(adv, Case("three", "planted", (), lambda adv: 3)) == (3, [])
