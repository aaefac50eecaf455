"""Telling a process that hangs from one that is slow: what makes a case of the conformance kit a
hang."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from refarray.conformance import Outcome
from refarray.conformance.findings import Finding
from refarray.conformance.runner import engine
from refarray.conformance.runner import hang_detector as hang_detector
from refarray.conformance.runner import worker_process as processes
from refarray.conformance.runner.engine import run_subject
from refarray.conformance.runner.hang_detector import HangDetector

HERE = Path(__file__).resolve().parents[1]
SLEEPS = "import time; print(flush=True); time.sleep(100)"
WORKS = "print(flush=True)\nwhile True: pass"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORKS!r}])"
#: A lock that another thread never gives back, asked for again and again.
TRICKLES = """
import threading
lock = threading.Lock(); lock.acquire()
print(flush=True)
while not lock.acquire(timeout=0.05): pass
"""


pytestmark = pytest.mark.not_sanitized("it is about processes of their own")


@pytest.fixture(autouse=True)
def animals_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=":")


@contextmanager
def running(script: str) -> Iterator[int]:
    """A process that has begun to do what the script says."""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    hang_detector.kill(process.pid)
    process.communicate()  # ends, since no child has its pipe any more


def waited(pid: int, most: float) -> bool:
    """Whether hang_detector was over before its time."""
    patient = HangDetector(pid, most, idle=0.5)
    while not patient.over():
        time.sleep(0.05)
    return time.monotonic() < patient.end


@pytest.mark.parametrize(
    ("script", "hangs"), [(SLEEPS, True), (TRICKLES, True), (WORKS, False), (PARENT, False)]
)
def test_what_gets_nothing_done_hangs(script: str, hangs: bool) -> None:
    """A long wait where it works, since nothing else tells that it is not over early."""
    with running(script) as pid:
        assert waited(pid, most=60 if hangs else 1.5) is hangs


def test_where_the_system_does_not_tell_only_the_time_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hang_detector, "PROC", tmp_path)
    with running(SLEEPS) as pid:
        assert not waited(pid, most=0.8)


def after_the_interpreter(subject: str) -> Finding:
    """What comes of the case where a deleter is called when the interpreter has gone."""
    [case] = (c for c in engine.selected(ids=["LIFE-05"]) if c.case == "after")
    [found] = run_subject(subject, [case]).findings
    return found


def test_a_process_that_never_ends_is_not_a_cases_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be told of a library that keeps every process from ending."""
    monkeypatch.setattr(processes, "SECONDS", 3.0)
    found = after_the_interpreter("mutants.misbehaving:lingering")
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert found.observed.startswith("a process that has imported it does not end by itself")


def test_a_process_that_does_not_end_after_a_case_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SECONDS", 3.0)
    assert after_the_interpreter("mutants.misbehaving:blocking").outcome is Outcome.HANG
