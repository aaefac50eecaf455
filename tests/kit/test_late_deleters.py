"""Deleters that are called when the process exits, or never: what the kit reports of them."""

from __future__ import annotations

import signal
import sys

import pytest
from mutants.__main__ import run_mutant

from refarray._hang_detector import run_to_end
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


ASKS_FOR_THE_GIL = """
import ctypes, sys
import refarray as ra
from refarray.conformance import _adversary
pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
capsule = ra.arange(3).__dlpack__(max_version=(1, 0))
deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda managed: None)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(deleter))
managed = pointer(capsule, b"dltensor_versioned")
ctypes.c_void_p.from_address(managed + 16).value = ctypes.cast(deleter, ctypes.c_void_p).value
_adversary.take(capsule).drop_at_finalization(sys.argv[1] == "after")
"""


@pytest.mark.parametrize("when", ["during", "after"])
def test_the_kit_aborts_no_thread_that_cpython_ends(when: str) -> None:
    """A deleter in C asks for the GIL when there is none to be had. Until 3.13 CPython unwinds its
    thread, and from 3.14 on lets it wait for ever; either may find freed memory there (SIGSEGV). An
    abort would be that of a frame of the kit which must not throw."""
    status, _, errors = run_to_end([sys.executable, "-c", ASKS_FOR_THE_GIL, when], 10.0)
    assert status != -signal.SIGABRT, errors
