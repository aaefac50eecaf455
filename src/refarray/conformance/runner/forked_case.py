"""A forked child for one risky case: its messages, or how it died. Called in worker.py."""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Callable
from typing import Any

from refarray._hang_detector import LOOK_SECONDS, HangDetector
from refarray.conformance.runner.messages import Say

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
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)

        def say(message: dict[str, Any]) -> None:
            data = (json.dumps(message) + "\n").encode()
            while data:
                data = data[os.write(write, data) :]

        try:
            leaves = work(say, write) or leaves
        except BaseException:  # SystemExit, too: the parent reports that there was no answer
            os._exit(0)
        if leaves:
            raise Leave
        os._exit(0)
    os.close(write)
    try:
        said, ended = receive(read, HangDetector(child, most))
    finally:
        os.close(read)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    messages = [json.loads(line) for line in said.splitlines(keepends=True) if line[-1:] == b"\n"]
    if not ended:
        return messages, "hang"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return messages, f"{signal.Signals(number).name}: {signal.strsignal(number)}"
    code = os.WEXITSTATUS(status)
    answered = any("held" in message for message in messages)
    return messages, "" if answered and code == 0 else f"left with exit status {code}"


def receive(pipe: int, hang_detector: HangDetector) -> tuple[bytes, bool]:
    """Reads a pipe until EOF or the timeout; also returns whether EOF was reached."""
    answer = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], LOOK_SECONDS)
        if not ready:
            if hang_detector.over():
                return answer, False
            continue
        chunk = os.read(pipe, CHUNK)
        if not chunk:
            return answer, True
        answer += chunk
