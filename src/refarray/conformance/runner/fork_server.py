"""The fork server: a process that has only imported the subject. It forks workers on request, which
saves the import. Both ends: `tend` runs in the server, ForkServer and Forked in the engine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from io import FileIO

MESSAGE = 4096  # bytes; one request and one answer at a time


def tend(other: socket.socket, answers: int) -> tuple[str, int] | None:
    """Forks the server. Returns None in the calling process; in each worker that the server forks
    later, returns the worker's mode and the descriptor for its answers."""
    if os.fork() != 0:
        other.close()
        return None
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    for descriptor in (answers, nothing):  # an open copy would hide the EOF of a dead worker
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        while True:
            said, given, _, _ = socket.recv_fds(other, MESSAGE, 3)
            if not said:
                break
            asked = json.loads(said)
            if "poll" in asked:
                ended, status = os.waitpid(asked["poll"], os.WNOHANG)
                code = os.waitstatus_to_exitcode(status) if ended else None
                other.sendall(json.dumps(code).encode())
                continue
            child = os.fork()
            if child == 0:
                other.close()
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.dup2(given[0], 0)
                os.dup2(given[2], 1)
                os.dup2(given[2], 2)
                os.close(given[0])
                os.close(given[2])
                return asked["fork"], given[1]
            for descriptor in given:
                os.close(descriptor)
            other.sendall(json.dumps(child).encode())
    os._exit(0)


class ForkServer:
    """The engine's end. The server exits when it is closed; requests to a dead server raise
    OSError."""

    def __init__(self, other: socket.socket) -> None:
        self.other = other

    def ask(self, question: dict[str, str | int], given: list[int] | None = None) -> int | None:
        """The answer to one request."""
        socket.send_fds(self.other, [json.dumps(question).encode()], given or [])
        answer = self.other.recv(MESSAGE)
        if not answer:
            raise OSError("the fork server has ended")
        out: int | None = json.loads(answer)
        return out

    def fork(self, mode: str, answers: int) -> Forked:
        """A new worker, which writes its answers to a descriptor."""
        reads, requests = os.pipe()
        errors, writes = os.pipe()
        try:
            pid = self.ask({"fork": mode}, [reads, answers, writes])
            assert pid is not None
        except OSError:
            os.close(requests)
            os.close(errors)
            raise
        finally:
            os.close(reads)
            os.close(writes)
        return Forked(self, pid, FileIO(requests, "w"), FileIO(errors))

    def close(self) -> None:
        """Ends the fork server; its workers continue."""
        self.other.close()


@dataclass
class Forked:
    """A worker from the fork server, with the part of subprocess.Popen that the engine uses."""

    fork_server: ForkServer
    pid: int
    stdin: FileIO
    stderr: FileIO
    returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self.fork_server.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the exit status. TimeoutExpired."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
            time.sleep(0.002)
        return code

    def kill(self) -> None:
        """Sends SIGKILL, unless the process has exited."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
