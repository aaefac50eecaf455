"""Owns a child process for one risky case: its answer, or how it died."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable

CHUNK = 65536


def in_child(work: Callable[[], bytes], seconds: float) -> tuple[bytes, str]:
    """Runs `work` in a forked child for at most `seconds`. Its bytes and "", or b"" and how it died
    ("hang" when it did not end)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with contextlib.suppress(BaseException):
            data = work()
            while data:
                data = data[os.write(write, data) :]
        os._exit(0)
    os.close(write)
    try:
        answer, ended = receive(read, seconds)
    finally:
        os.close(read)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ended:
        return b"", "hang"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return b"", f"{signal.Signals(number).name}: {signal.strsignal(number)}"
    return (answer, "") if answer else (b"", f"left with exit status {os.WEXITSTATUS(status)}")


def receive(pipe: int, seconds: float) -> tuple[bytes, bool]:
    """What comes through a pipe until its end or for `seconds`; whether the end came."""
    end = time.monotonic() + seconds
    answer = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return answer, False
        chunk = os.read(pipe, CHUNK)
        if not chunk:
            return answer, True
        answer += chunk
