"""The fork server: a process that has only imported the subject. It forks workers on request, which
saves the import. Both ends: `tend` runs in the server, ForkServer and Forked in the engine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from io import FileIO

from refarray._system import system

MESSAGE = 4096  # bytes; one request and one answer at a time


def tend(other: socket.socket, *own: int) -> tuple[str, int, int] | None:
    """Forks the server, which closes the calling process's `own` descriptors: an open copy would
    hide the EOF of a dead worker. Returns None in the calling process; in each worker that the
    server forks later, its mode and its descriptors for requests and answers."""
    if (first := os.fork()) != 0:
        os.waitpid(first, 0)
        other.close()
        return None
    if os.fork() != 0:  # the server is no child of the worker, with which it would be killed
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    for descriptor in (*own, nothing):
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
                os.dup2(given[2], 2)
                os.close(given[2])
                return asked["fork"], system.take(given[0]), system.take(given[1])
            for descriptor in given:
                os.close(descriptor)
            other.sendall(json.dumps(child).encode())
    os._exit(0)


class ForkServer:
    """The engine's end. The server exits when it is closed; requests to a dead server raise
    OSError."""

    def __init__(self, other: socket.socket) -> None:
        self.other = other
        self.lock: threading.Lock = threading.Lock()
        """Two threads of the engine ask the same server."""

    def ask(self, question: dict[str, str | int], given: list[int] | None = None) -> int | None:
        """The answer to one request."""
        with self.lock:
            socket.send_fds(self.other, [json.dumps(question).encode()], given or [])
            answer = self.other.recv(MESSAGE)
        if not answer:
            raise OSError("the fork server has ended")
        out: int | None = json.loads(answer)
        return out

    def fork(self, mode: str, requests: int, answers: int) -> Forked:
        """A new worker, which reads its requests from a descriptor and writes its answers to
        another."""
        errors, writes = os.pipe()
        try:
            pid = self.ask({"fork": mode}, [requests, answers, writes])
            assert pid is not None
        except OSError:
            os.close(errors)
            raise
        finally:
            os.close(writes)
        return Forked(self, pid, FileIO(errors))

    def close(self) -> None:
        """Ends the fork server; its workers continue."""
        self.other.close()


@dataclass
class Forked:
    """A worker from the fork server, with the part of subprocess.Popen that the engine uses."""

    fork_server: ForkServer
    pid: int
    stderr: FileIO
    returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs. SIGKILL if the server, which
        alone knows the status, has ended."""
        if self.returncode is None:
            try:
                self.returncode = self.fork_server.ask({"poll": self.pid})
            except OSError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                self.returncode = -signal.SIGKILL
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
