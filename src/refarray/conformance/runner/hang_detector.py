"""Owns telling a process that hangs from one that is slow on a busy machine: whether it, or a child
of it, gets anything done."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import defaultdict, deque
from pathlib import Path

IDLE_SECONDS = 3.0
"""A process that has got nothing done, and did not wait for a processor or a disk, for so long
hangs."""
LOOK_SECONDS = 0.25
"""Between two looks."""
TRICKLE = 0.05
"""The share of a processor that a thread uses which waits for a lock again and again."""
PROC = Path("/proc")


def fields(path: Path) -> list[str]:
    """What stands in a stat file behind the name: the state, the parent …"""
    return path.read_text().rpartition(")")[2].split()


def family(pid: int) -> list[int]:
    """A process and all that it has started."""
    children = defaultdict(list)
    for each in PROC.iterdir():
        if each.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended
                children[int(fields(each / "stat")[1])].append(int(each.name))
    found = [pid]
    for parent in found:  # which grows
        found += children[parent]
    return found


def kill(pid: int) -> None:
    """Ends a process and all that it has started."""
    try:
        found = family(pid)
    except OSError:
        found = [pid]
    for each in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def work(pid: int) -> tuple[float, bool] | None:
    """The processor seconds that a process and its children have used, and whether one of their
    threads runs or waits for a processor or a disk. None where the system does not tell."""
    ticks, running = 0, False
    try:
        for each in family(pid):
            for task in (PROC / str(each) / "task").iterdir():
                with contextlib.suppress(OSError):
                    told = fields(task / "stat")
                    ticks += int(told[11]) + int(told[12])
                    running = running or told[0] in "RD"
    except OSError:
        return None
    return ticks / os.sysconf("SC_CLK_TCK"), running


class HangDetector:
    """How long one answer of a process is waited for: until it hangs, or for `most` seconds."""

    def __init__(self, pid: int, most: float, idle: float = IDLE_SECONDS) -> None:
        self.pid = pid
        self.idle = idle
        self.end = time.monotonic() + most
        self.looks: deque[tuple[float, float, bool]] = deque()
        """When, the seconds used until then, whether it ran."""

    def over(self) -> bool:
        """Whether to wait no longer; asked every LOOK_SECONDS."""
        now = time.monotonic()
        if now >= self.end:
            return True
        seen = work(self.pid)
        if seen is None:
            return False
        self.looks.append((now, *seen))
        if now - self.looks[0][0] < self.idle:
            return False
        (since, used, _), ran = self.looks.popleft(), [look[2] for look in self.looks]
        return seen[0] - used < TRICKLE * (now - since) and sum(ran) < len(ran) / 2
