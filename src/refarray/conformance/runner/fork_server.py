"""Owns processes that are forked once a subject is imported and nothing was done with it: a fork is
spared the import. Both ends: the process that forks, and the engine's."""

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

MESSAGE = 4096  # bytes; one question and one answer at a time


def tend(other: socket.socket, answers: int) -> tuple[str, int] | None:
    """Forks the fork_server. None in the process that it was called in; in each process that the
    fork_server forks later, the mode and the descriptor of its answers."""
    if os.fork() != 0:
        other.close()
        return None
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    for descriptor in (answers, nothing):  # or its end would not be seen
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
    """The engine's end. It lasts as long as it is held; a dead one raises OSError."""

    def __init__(self, other: socket.socket) -> None:
        self.other = other

    def asked(self, question: dict[str, str | int], given: list[int] | None = None) -> int | None:
        """The answer to one question."""
        socket.send_fds(self.other, [json.dumps(question).encode()], given or [])
        answer = self.other.recv(MESSAGE)
        if not answer:
            raise OSError("the fork_server has ended")
        out: int | None = json.loads(answer)
        return out

    def fork(self, mode: str, answers: int) -> Forked:
        """A process with the subject in it, which answers to a descriptor."""
        reads, requests = os.pipe()
        errors, writes = os.pipe()
        try:
            pid = self.asked({"fork": mode}, [reads, answers, writes])
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
        """Ends the fork_server; its processes go on."""
        self.other.close()


@dataclass
class Forked:
    """As much of subprocess.Popen as the engine uses."""

    fork_server: ForkServer
    pid: int
    stdin: FileIO
    stderr: FileIO
    returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self.fork_server.asked({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The same, waited for. TimeoutExpired."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
            time.sleep(0.002)
        return code

    def kill(self) -> None:
        """SIGKILL, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
