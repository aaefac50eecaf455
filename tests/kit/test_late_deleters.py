"""Deleters that are called when the process exits, or never: what the kit reports of them."""

from __future__ import annotations

import pytest
from mutants.__main__ import run_mutant

from refarray.conformance import Outcome, checks
from refarray.conformance.runner.engine import run_subject

pytestmark = [
    pytest.mark.every_python,  # they end as interpreters do
    pytest.mark.not_repeated,
    pytest.mark.usefixtures("drivers_are_importable"),
]


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
