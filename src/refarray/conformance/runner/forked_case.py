"""A forked child for one risky case: its messages, or how it died. Called in worker.py."""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Callable
from typing import Any

from refarray._hang_detector import LONGEST, LOOK_SECONDS, HangDetector
from refarray._system import system
from refarray.conformance.runner.messages import Say, sayer

CHUNK = 65536


class Leave(BaseException):
    """Raised in a child that has answered and has to shut the interpreter down: main() catches it
    and returns."""


def in_child(
    work: Callable[[Say, int], bool], most: float, leaves: bool = False
) -> tuple[list[dict[str, Any]], str]:
    """Runs `work` in a forked child until it hangs, or for at most `most` seconds. `work` is called
    with a function that sends messages and the descriptor that it writes to, and returns whether
    the child has to shut the interpreter down. Returns the messages, and how the child died: "" if
    it exited, "hang" if it did not. With `leaves` the child also shuts the interpreter down, and a
    crash or hang there counts."""
    read, write = map(system.take, os.pipe())
    child = os.fork()
    if child == 0:
        os.close(read)
        say = sayer(write)
        try:
            leaves = work(say, write) or leaves
        except BaseException:  # SystemExit, too: the parent reports that there was no answer
            os._exit(0)
        if leaves:
            raise Leave
        os._exit(0)
    os.close(write)
    try:
        said, status = receive(read, HangDetector(child, LONGEST * most, cpu=most))
    finally:
        os.close(read)
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    messages = [json.loads(line) for line in said.splitlines(keepends=True) if line[-1:] == b"\n"]
    if status is None:
        return messages, "hang"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return messages, f"{signal.Signals(number).name}: {signal.strsignal(number)}"
    code = os.WEXITSTATUS(status)
    answered = any("held" in message for message in messages)
    return messages, "" if answered and code == 0 else f"left with exit status {code}"


def receive(pipe: int, hang_detector: HangDetector) -> tuple[bytes, int | None]:
    """Reads a pipe until the child has exited, and returns its wait status; None if it hangs. The
    EOF alone does not tell: a process that the library has forked keeps the pipe open."""
    answer, pipes, status = b"", [pipe], None
    while status is None:
        ready = select.select(pipes, [], [], LOOK_SECONDS if pipes else 0.001)[0]
        if ready and (chunk := os.read(pipe, CHUNK)):
            answer += chunk
            continue
        pipes = [] if ready else pipes
        status = poll(hang_detector.pid)
        if status is None and not ready and hang_detector.over():
            return answer, None
    while pipes and select.select(pipes, [], [], 0)[0] and (chunk := os.read(pipe, CHUNK)):
        answer += chunk
    return answer, status


def poll(child: int) -> int | None:
    """The wait status of a child; None while it runs."""
    try:
        ended, status = os.waitpid(child, os.WNOHANG)
    except ChildProcessError:  # the library has taken the status
        return 0
    return status if ended else None
