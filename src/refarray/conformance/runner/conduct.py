"""What a library does to its process: descriptors, signals, output, threads, children. The kit
notes each once, and undoes what would disturb the next case. Called in worker.py."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

OWN = 200  # the kit's descriptors are from here on, out of the way of what closes 0 to 2
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
SIGNALS = (signal.SIGCHLD, signal.SIGPIPE)
"""The signals whose handling the kit relies on."""


def take(descriptor: int) -> int:
    """Moves a descriptor of the kit's to a high number; programs that a library starts lack it."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, OWN)
    os.close(descriptor)
    return moved


def threads() -> int:
    """The number of threads of this process; those of Python without /proc."""
    with contextlib.suppress(OSError):
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    return threading.active_count()


class Conduct:
    """The state of this process that the kit relies on, as it was before the library's import."""

    def __init__(self) -> None:
        output, name = tempfile.mkstemp()
        Path(name).unlink()
        null = os.open(os.devnull, os.O_RDONLY)
        for number, descriptor in enumerate((null, output)):
            os.dup2(descriptor, number)
            os.close(descriptor)
        self.kept: dict[int, int] = {number: take(os.dup(number)) for number in (0, 1, 2)}
        self.mask: set[Any] = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self.handlers: dict[signal.Signals, Any] = {
            number: signal.getsignal(number) for number in SIGNALS
        }
        self.folder: Path = Path.cwd()
        self.threads: int = 1

    def restore(self, own_output: bool = False) -> list[str]:
        """What the library has done since the last call; all but threads and children is undone.
        With `own_output` the kit has printed something itself."""
        return [
            *self.restore_descriptors(),
            *self.restore_signals(),
            *(self.read_output()[own_output:]),
            *self.count_others(),
        ]

    def restore_descriptors(self) -> list[str]:
        seen = []
        for number, kept in self.kept.items():
            try:
                found, right = os.fstat(number), os.fstat(kept)
                verb = "" if os.path.samestat(found, right) else "replaces"
            except OSError:
                verb = "closes"
            if verb:
                os.dup2(kept, number)
                seen.append(f"{verb} descriptor {number}")
        with contextlib.suppress(OSError):
            if Path.cwd() != self.folder:
                os.chdir(self.folder)
                seen.append("changes the working directory")
        return seen

    def restore_signals(self) -> list[str]:
        seen = []
        mask = signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
        if mask != self.mask:
            names = sorted(signal.Signals(each).name for each in mask ^ self.mask)
            seen.append(f"changes the signal mask: {', '.join(names)}")
        for number, handler in self.handlers.items():
            found = signal.signal(number, handler)
            if found != handler:
                how = "ignores" if found is signal.SIG_IGN else "handles"
                seen.append(f"{how} {signal.Signals(number).name}")
        for timer in TIMERS:
            if signal.setitimer(timer, 0)[0]:
                seen.append("starts a timer that sends a signal")
        return seen

    def read_output(self) -> list[str]:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        if not os.fstat(self.kept[1]).st_size:
            return []
        os.ftruncate(self.kept[1], 0)
        os.lseek(self.kept[1], 0, os.SEEK_SET)
        return ["prints to standard output"]

    def count_others(self) -> list[str]:
        seen = []
        if (now := threads()) > self.threads:
            seen.append("starts threads")
        self.threads = now
        with contextlib.suppress(OSError, AttributeError):  # ECHILD; a system without waitid
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                seen.append("forks, and leaves its children")
        return seen
