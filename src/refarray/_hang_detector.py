"""Hang detection: whether a process or one of its children makes progress. A slow process on a busy
machine does not count as hung."""

from __future__ import annotations

import math
import subprocess
import tempfile
import time
from collections import deque
from typing import Any, AnyStr

from refarray._system import system

IDLE_SECONDS = 10.0
"""A process hangs if for this long it uses no CPU time and waits neither for a CPU nor a disk."""
LOOK_SECONDS = 0.25
"""The interval between two samples."""
TRICKLE = 0.05
"""The CPU share up to which a process counts as idle, such as one that polls a lock."""
LONGEST = 20
"""The limit of a patient timeout, as a multiple of its seconds."""


class HangDetector:
    """The timeout of one answer: until the process hangs for `idle` seconds, has used `cpu` seconds
    of processor time, or `most` seconds have passed."""

    def __init__(
        self, pid: int, most: float, idle: float = IDLE_SECONDS, cpu: float = math.inf
    ) -> None:
        self.pid = pid
        self.idle = idle
        self.cpu = cpu
        self.used: float | None = None
        """The CPU seconds at the first sample."""
        self.begun: float = time.monotonic()
        self.end: float = self.begun + most
        self.looks: deque[tuple[float, float, bool]] = deque()
        """(time of the sample, CPU seconds until then, whether a thread ran)."""

    def over(self) -> bool:
        """Whether to give up. Called every LOOK_SECONDS."""
        now = time.monotonic()
        if now >= self.end:
            return True
        seen = system.work(self.pid)
        if seen is None:  # without /proc processor time is not known
            return now >= self.begun + self.cpu
        if self.used is None:
            self.used = seen[0]
        if seen[0] - self.used >= self.cpu:
            return True
        self.looks.append((now, *seen))
        if now - self.looks[0][0] < self.idle:
            return False
        (since, used, _), ran = self.looks.popleft(), [look[2] for look in self.looks]
        return seen[0] - used < TRICKLE * (now - since) and sum(ran) < len(ran) / 2


def patient(pid: int, seconds: float) -> HangDetector:
    """A timeout that a busy machine does not shorten: `seconds` without progress, or of processor
    time."""
    return HangDetector(pid, LONGEST * seconds, seconds, seconds)


def communicate(process: subprocess.Popen[AnyStr], detector: HangDetector) -> tuple[AnyStr, bool]:
    """The standard output of a process, and whether it ended by itself; otherwise it is killed."""
    while True:
        try:
            return process.communicate(timeout=LOOK_SECONDS)[0], True
        except subprocess.TimeoutExpired:
            if detector.over():
                system.kill(process.pid)
                return process.communicate()[0], False


def run_to_end(command: list[str], seconds: float, **options: Any) -> tuple[int | None, str, str]:
    """The exit status of a process, None if it hangs, and its standard output and error, in files,
    so that children that outlive it hold up nobody."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, **options
        )
        detector = HangDetector(process.pid, seconds)
        while process.poll() is None and not detector.over():
            time.sleep(LOOK_SECONDS / 10)
        status = process.poll()
        if status is None:
            process.kill()
            process.wait()
        for file in (out, errors):
            file.seek(0)
        return status, out.read().decode(errors="replace"), errors.read().decode(errors="replace")
