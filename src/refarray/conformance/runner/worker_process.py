"""The engine's end of a worker: starts the process, sends one check at a time, reads the answers,
and reports how the process ended. The other end is worker.py."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from typing import IO, Any

from refarray._hang_detector import IDLE_SECONDS, LONGEST, LOOK_SECONDS, HangDetector
from refarray._system import system
from refarray.conformance.cases import Check
from refarray.conformance.runner.fork_server import Forked, ForkServer
from refarray.conformance.subjects.subject import Library

SECONDS = 30.0
"""The processor time of one case."""
IMPORT_SECONDS = 60.0
"""The processor time of importing a subject, and how long it may wait for something."""
START = "from refarray.conformance.runner.worker import main; main()"
TAIL = 2000  # bytes of stderr that are kept for the message about a dead worker


class Died(Exception):
    """The worker has ended: how, and whether it was killed because it did not answer."""

    def __init__(self, how: str, hung: bool) -> None:
        super().__init__(how)
        self.hung = hung


class Broken(Exception):
    """Why a subject cannot be tried."""


def start(
    subject: str, mode: str, devices: str, requests: int, answers: int
) -> tuple[subprocess.Popen[bytes], socket.socket | None]:
    """A new worker process, and the engine's end of its fork server's socket, if any."""
    quiet = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    ours, theirs = socket.socketpair() if mode == "forks" and system.CAN_FORK else (None, None)
    descriptors = [requests, answers, *([] if theirs is None else [theirs.fileno()])]
    names, options = system.pass_on(descriptors)
    process = subprocess.Popen(
        [sys.executable, "-c", START, subject, mode, devices, *names],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**quiet, **os.environ},
        **options,
    )
    if theirs is not None:
        theirs.close()
    return process, ours


class Worker:
    """A worker process. It runs risky checks in a forked child, except in the modes "alone" (one
    check per process) and "devices" (drivers have threads), and if the subject has started threads:
    a fork copies only the calling thread."""

    def __init__(
        self,
        subject: str,
        mode: str = "forks",
        devices: str = "none",
        fork_server: ForkServer | None = None,
    ) -> None:
        read, write = os.pipe()
        asked, ask = os.pipe()
        self.fork_server: ForkServer | None = None
        """Forks further workers, if the import has started no threads."""
        self.process: subprocess.Popen[bytes] | Forked
        try:
            if fork_server is None:
                self.process, other = start(subject, mode, devices, asked, write)
            else:
                self.process, other = fork_server.fork(mode, asked, write), None
        except OSError:
            os.close(read)
            os.close(ask)
            raise
        finally:
            os.close(asked)
            os.close(write)
        assert self.process.stderr is not None
        self.answers: IO[bytes] = os.fdopen(read, "rb", buffering=0)  # closed by close()
        self.requests: IO[bytes] = os.fdopen(ask, "wb", buffering=0)
        self.errors: IO[bytes] = self.process.stderr
        self.said: bytes = b""
        self.printed: bytes = b""
        self.about: str = ""
        """The repro of the current step."""
        self.last: dict[str, Any] = {}
        """The message that was written at exit; see end()."""
        # Twice as long as for a forked child, so that the worker can report the child's hang.
        self.idle: float = 2 * IDLE_SECONDS if mode == "forks" else IDLE_SECONDS
        try:
            hello = self._answer(IMPORT_SECONDS, IMPORT_SECONDS)
        except Died as end:
            self.close()
            raise Broken(f"{end}{self._last_words()}") from None
        finally:
            if other is not None and self.answers.closed:
                other.close()
        if "broken" in hello:
            if other is not None:
                other.close()
            self.close()
            raise Broken(hello["broken"])
        if other is not None:
            if hello["fork_server"]:
                self.fork_server = ForkServer(other)
            else:
                other.close()
        self.name: str = hello["name"]
        self.version: str = hello["version"]
        self.library: Library = Library(
            self.name, self.version, hello["imports"], hello["alone"], hello["values"]
        )
        self.forks: bool = hello["forks"]
        self.conduct: list[str] = hello["conduct"]
        """What the import did to the process."""
        self.inherits: str = hello["inherits"]
        self.place: str = hello["place"]
        """The file and the line of the adapter."""
        self.imports: bool = hello["imports_arrays"]
        """Whether the adapter has a from_dlpack."""
        self.without: str = hello["without"]
        """Why no device check applies; empty if they may."""

    def ask(self, check: Check) -> dict[str, Any]:
        """The message of one check. Died if the process ended."""
        return self.send(check.name)

    def send(self, request: str) -> dict[str, Any]:
        """The answer to one line."""
        try:
            self.requests.write(f"{request}\n".encode())
            self.requests.flush()
        except OSError:  # it died between two checks
            raise Died(system.how_it_ended(self.close()), False) from None
        self.about = ""
        while "about" in (message := self._answer(SECONDS)):
            self.about = message["about"]
        return message

    def _answer(self, seconds: float, idle: float = 0.0) -> dict[str, Any]:
        """The next message. Keeps the tail of stderr."""
        quiet = idle or min(self.idle, seconds)
        hang_detector = HangDetector(self.process.pid, LONGEST * seconds, quiet, seconds)
        pipes = [self.answers, self.errors]
        while b"\n" not in self.said:
            ready = system.wait_for(pipes, min(LOOK_SECONDS, seconds))
            if not ready:
                if self.process.poll() is not None:  # what it has forked keeps the pipes open
                    raise Died(system.how_it_ended(self.close()), False)
                if not hang_detector.over():
                    continue
                system.kill(self.process.pid)
                self.close()
                raise Died(f"no answer in {seconds:g} s" if idle else "it hangs", True)
            for pipe in ready:
                chunk = os.read(pipe.fileno(), 65536)
                if pipe is self.errors:
                    self.printed = (self.printed + chunk)[-TAIL:]
                    if not chunk:
                        pipes.remove(pipe)
                elif chunk:
                    self.said += chunk
                else:
                    raise Died(system.how_it_ended(self.close()), False)
        line, _, self.said = self.said.partition(b"\n")
        out: dict[str, Any] = json.loads(line)
        return out

    def _last_words(self) -> str:
        lines = self.printed.decode(errors="replace").strip().splitlines()
        return f"; {lines[-1]}" if lines else ""

    def end(self) -> int | None:
        """Lets the process exit by itself: the exit status, or None if it hangs."""
        self.requests.close()
        hang_detector = HangDetector(
            self.process.pid, LONGEST * SECONDS, min(IDLE_SECONDS, SECONDS), SECONDS
        )
        while self.process.poll() is None and not hang_detector.over():
            time.sleep(LOOK_SECONDS / 10)
        status = self.process.poll()
        if status is None:
            system.kill(self.process.pid)
        else:
            self.last = self._unread()
        self.close()
        return status

    def _unread(self) -> dict[str, Any]:
        """The last message that was written while the process exited; empty if there is none."""
        while system.wait_for([self.answers], 0):
            chunk = os.read(self.answers.fileno(), 65536)
            if not chunk:
                break
            self.said += chunk
        lines = self.said.splitlines()
        return json.loads(lines[-1]) if lines else {}

    def close(self) -> int:
        """Ends the process; the exit status, negative for a signal."""
        with contextlib.suppress(OSError):
            self.requests.close()
        try:
            return self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.answers.close()
            self.errors.close()
