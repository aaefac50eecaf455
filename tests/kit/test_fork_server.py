"""The fork server of the conformance kit: workers that are forked with the subject imported."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator

import pytest

from refarray.conformance import Outcome
from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import Trial, run_subject
from refarray.conformance.runner.fork_server import Forked, ForkServer
from refarray.conformance.runner.worker_process import Worker

pytestmark = [
    pytest.mark.not_sanitized("it starts processes of its own"),
    pytest.mark.not_repeated,
    pytest.mark.usefixtures("mutants_are_importable"),
]


@pytest.fixture
def first() -> Iterator[Worker]:
    worker = Worker("refarray")
    yield worker
    worker.close()
    if worker.fork_server is not None:
        worker.fork_server.close()


def passes(worker: Worker) -> bool:
    [check, *_] = engine.select(ids=["VERS-05"])
    return bool(worker.ask(check)["held"])


def test_a_forked_worker_answers_as_the_first(first: Worker) -> None:
    assert first.fork_server is not None and passes(first)
    other = Worker("refarray", "alone", fork_server=first.fork_server)
    assert isinstance(other.process, Forked) and other.process.pid != first.process.pid
    assert (other.version, other.forks, other.fork_server) == (first.version, False, None)
    assert passes(other) and passes(first)
    assert other.close() == 0


def test_exit_statuses_of_forked_workers(first: Worker) -> None:
    assert first.fork_server is not None
    killed = Worker("refarray", "alone", fork_server=first.fork_server)
    os.kill(killed.process.pid, signal.SIGTERM)
    assert killed.process.wait(10) == -signal.SIGTERM
    assert killed.close() == -signal.SIGTERM
    busy = Worker("refarray", "alone", fork_server=first.fork_server)
    with pytest.raises(subprocess.TimeoutExpired):
        busy.process.wait(0.01)
    busy.process.kill()
    busy.process.kill()  # once is enough
    assert busy.close() == -signal.SIGKILL


def test_the_server_outlives_the_first_worker_and_ends_with_the_engine(first: Worker) -> None:
    fork_server = first.fork_server
    assert fork_server is not None
    first.process.kill()
    first.process.wait()
    other = Worker("refarray", fork_server=fork_server)
    assert passes(other)
    fork_server.close()
    for pipe in (other.requests, other.answers, other.errors):
        pipe.close()


def test_without_the_server_workers_are_started_anew() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    trial = Trial("refarray")
    trial.fork_server = ForkServer(ours)
    worker = trial.start_worker("alone")
    assert isinstance(worker.process, subprocess.Popen) and passes(worker)
    worker.close()
    trial.close()


@pytest.mark.not_sanitized("ASAN ends a process by a signal of its own")
def test_after_a_crash_the_next_worker_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The case does not run in a child here: its crash ends the worker."""
    begun: list[bool] = []
    begin = Worker.__init__

    def note(self: Worker, subject: str, *others: object, **more: object) -> None:
        begin(self, subject, *others, **more)  # type: ignore[arg-type]
        begun.append(isinstance(self.process, Forked))

    monkeypatch.setattr(Worker, "__init__", note)
    run = run_subject("mutants.misbehaving:crashing", engine.select(ids=["VERS-05", "VERS-06"]))
    assert sum(found.outcome is Outcome.CRASH for found in run.findings) == 1
    assert begun == [False, True, True]  # the crash is tried again in a process of its own
