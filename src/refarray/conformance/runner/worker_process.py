"""Owns the process that a subject lives in, as the engine sees it: asked one check at a time, and
how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from refarray.conformance.cases import Check
from refarray.conformance.runner.fork_server import Forked, ForkServer
from refarray.conformance.runner.hang_detector import IDLE_SECONDS, LOOK_SECONDS, HangDetector, kill

SECONDS = 30.0
"""For one case, as long as it gets something done."""
IMPORT_SECONDS = 60.0
"""For a subject to be imported."""
START = "from refarray.conformance.runner.worker import main; main()"
TAIL = 2000  # characters of a dead worker's stderr that are kept


class Died(Exception):
    """A worker's end: how, and whether it had to be killed because it did not answer."""

    def __init__(self, how: str, hung: bool) -> None:
        super().__init__(how)
        self.hung = hung


class Broken(Exception):
    """Why a subject cannot be tried."""


def begun(
    subject: str, mode: str, devices: str, answers: int
) -> tuple[subprocess.Popen[bytes], socket.socket | None]:
    """A process that will import the subject, and our end of its fork server's socket, if any."""
    quiet = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    ours, theirs = socket.socketpair() if mode == "forks" else (None, None)
    descriptors = [answers, *([] if theirs is None else [theirs.fileno()])]
    names = [str(number) for number in (*descriptors, -1)][:2]
    process = subprocess.Popen(
        [sys.executable, "-c", START, names[0], subject, mode, devices, names[1]],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=descriptors,
        env={**quiet, **os.environ},
    )
    if theirs is not None:
        theirs.close()
    return process, ours


class Worker:
    """A process that a subject lives in, asked one check at a time. Risky checks are tried in a
    child of it; in itself when it is there for one check ("alone") or for `devices`, whose drivers
    have threads, and when the subject has started threads, which a fork would not take along."""

    def __init__(
        self,
        subject: str,
        mode: str = "forks",
        devices: str = "none",
        fork_server: ForkServer | None = None,
    ) -> None:
        read, write = os.pipe()
        self.fork_server: ForkServer | None = None
        """Where more of its kind come from, when the subject has started no threads by itself."""
        self.process: subprocess.Popen[bytes] | Forked
        try:
            if fork_server is None:
                self.process, other = begun(subject, mode, devices, write)
            else:
                self.process, other = fork_server.fork(mode, write), None
        except OSError:
            os.close(read)
            raise
        finally:
            os.close(write)
        assert self.process.stdin is not None and self.process.stderr is not None
        self.answers = os.fdopen(read, "rb", buffering=0)  # closed by close()
        self.requests = self.process.stdin
        self.errors = self.process.stderr
        self.said = b""
        self.printed = b""
        self.about = ""
        """A repro of what is being tried."""
        # Its child is given up first, so that it can tell.
        self.idle = 2 * IDLE_SECONDS if mode == "forks" else IDLE_SECONDS
        try:
            hello = self._answer(IMPORT_SECONDS, IMPORT_SECONDS / 2)
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
        self.version: str = hello["version"]
        self.forks: bool = hello["forks"]
        self.without: str = hello["without"]
        """Why there is no device to try it on; empty when there may be."""

    def ask(self, check: Check) -> dict[str, Any]:
        """What one check saw. Died when that was the end of the process."""
        return self.told(check.name)

    def told(self, request: str) -> dict[str, Any]:
        """The answer to one line."""
        try:
            self.requests.write(f"{request}\n".encode())
            self.requests.flush()
        except BrokenPipeError:  # it died between two checks
            raise Died(how_it_ended(self.close()), False) from None
        self.about = ""
        while "about" in (message := self._answer(SECONDS)):
            self.about = message["about"]
        return message

    def _answer(self, seconds: float, idle: float = 0.0) -> dict[str, Any]:
        """The next line; what is printed meanwhile is kept for last words."""
        hang_detector = HangDetector(self.process.pid, seconds, idle or self.idle)
        pipes = [self.answers, self.errors]
        while b"\n" not in self.said:
            ready, _, _ = select.select(pipes, [], [], min(LOOK_SECONDS, seconds))
            if not ready:
                if not hang_detector.over():
                    continue
                kill(self.process.pid)
                self.close()
                late = time.monotonic() >= hang_detector.end
                raise Died(f"no answer in {seconds:g} s" if late else "it hangs", True)
            for pipe in ready:
                chunk = os.read(pipe.fileno(), 65536)
                if pipe is self.errors:
                    self.printed = (self.printed + chunk)[-TAIL:]
                    if not chunk:
                        pipes.remove(pipe)
                elif chunk:
                    self.said += chunk
                else:
                    raise Died(how_it_ended(self.close()), False)
        line, _, self.said = self.said.partition(b"\n")
        out: dict[str, Any] = json.loads(line)
        return out

    def _last_words(self) -> str:
        lines = self.printed.decode(errors="replace").strip().splitlines()
        return f"; {lines[-1]}" if lines else ""

    def end(self) -> int | None:
        """Lets it end by itself: the exit status, or None when it hangs at that."""
        self.requests.close()
        hang_detector = HangDetector(self.process.pid, SECONDS)
        while self.process.poll() is None and not hang_detector.over():
            time.sleep(LOOK_SECONDS / 10)
        status = self.process.poll()
        if status is None:
            kill(self.process.pid)
        self.close()
        return status

    def close(self) -> int:
        """Ends it; the exit status, negative for a signal."""
        with contextlib.suppress(BrokenPipeError):
            self.requests.close()
        try:
            return self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.answers.close()
            self.errors.close()


def how_it_ended(status: int) -> str:
    """An exit status in words: "SIGSEGV", "exit status 3"."""
    if status >= 0:
        return f"the process left with exit status {status}"
    try:
        return f"{signal.Signals(-status).name}: {signal.strsignal(-status)}"
    except ValueError:
        return f"signal {-status}"
