"""Hang detection of the conformance kit: a process that hangs, and one that is only slow."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from refarray import _hang_detector as hang_detector
from refarray._hang_detector import HangDetector
from refarray._system import system
from refarray.conformance import Outcome
from refarray.conformance.findings import Finding
from refarray.conformance.runner import engine
from refarray.conformance.runner import worker_process as processes
from refarray.conformance.runner.engine import run_subject

SLEEPS = "import time; print(flush=True); time.sleep(100)"
WORKS = "print(flush=True)\nwhile True: pass"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORKS!r}])"
#: Polls a lock that is never released.
TRICKLES = """
import threading
lock = threading.Lock(); lock.acquire()
print(flush=True)
while not lock.acquire(timeout=0.05): pass
"""


pytestmark = [
    pytest.mark.not_sanitized("it starts processes of its own"),
    pytest.mark.not_repeated,
    pytest.mark.usefixtures("mutants_are_importable"),
]


@contextmanager
def running(script: str) -> Iterator[int]:
    """A process that runs the script."""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    system.kill(process.pid)
    process.communicate()  # returns, because no child holds the pipe any more


def waited(pid: int, most: float) -> bool:
    """Whether the detector gave up before the timeout."""
    detector = HangDetector(pid, most, idle=0.5)
    while not detector.over():
        time.sleep(0.05)
    return time.monotonic() < detector.end


@pytest.mark.parametrize(
    ("script", "hangs"), [(SLEEPS, True), (TRICKLES, True), (WORKS, False), (PARENT, False)]
)
def test_a_process_without_progress_hangs(script: str, hangs: bool) -> None:
    """A process that works is watched for a while, to see that the detector does not give up."""
    with running(script) as pid:
        assert waited(pid, most=60 if hangs else 1.5) is hangs


def test_without_proc_only_the_timeout_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(system, "PROC", tmp_path)
    with running(SLEEPS) as pid:
        assert not waited(pid, most=0.8)


def test_the_processor_time_can_be_limited() -> None:
    with running(WORKS) as pid:
        detector = HangDetector(pid, 60, idle=0.5, cpu=0.5)
        while not detector.over():
            time.sleep(0.05)
        assert time.monotonic() < detector.end


def test_a_patient_timeout_counts_processor_time() -> None:
    with running(SLEEPS) as pid:
        idle = hang_detector.patient(pid, 0.5)
        assert idle.end - time.monotonic() > 5  # a process that waits for a CPU has this long
        while not idle.over():
            time.sleep(0.05)
        assert time.monotonic() < idle.end
    with running(WORKS) as pid:
        busy = hang_detector.patient(pid, 0.5)
        while not busy.over():
            time.sleep(0.05)
        work = system.work(pid)
        assert work is not None and busy.used is not None and work[0] - busy.used >= 0.5


@pytest.mark.parametrize(
    ("script", "ended"),
    [("print(5); import time; time.sleep(100)", False), ("print(5); raise SystemExit(3)", True)],
)
def test_the_output_of_a_process_that_ends_or_hangs(script: str, ended: bool) -> None:
    command = [sys.executable, "-uc", script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    detector = HangDetector(process.pid, 60, idle=0.5)
    assert hang_detector.communicate(process, detector) == ("5\n", ended)
    assert process.returncode == (3 if ended else -signal.SIGKILL)


def after_the_interpreter(subject: str) -> Finding:
    """The finding of LIFE-05 with a deleter that is called after interpreter shutdown."""
    [case] = (c for c in engine.select(ids=["LIFE-05"]) if c.case == "after")
    [found] = run_subject(subject, [case]).findings
    return found


def test_a_process_that_never_exits_is_not_applicable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library keeps every process from exiting, whatever the case does."""
    monkeypatch.setattr(processes, "SECONDS", 3.0)
    found = after_the_interpreter("mutants.misbehaving:lingering")
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert found.observed.startswith("a process that has only imported it does not exit")


def test_a_process_that_does_not_exit_after_a_case_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SECONDS", 3.0)
    assert after_the_interpreter("mutants.misbehaving:blocking").outcome is Outcome.HANG
