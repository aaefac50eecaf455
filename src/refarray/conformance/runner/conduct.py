"""What a library does to its process: descriptors, signals, output, threads, children. The kit
notes each once, and undoes what would disturb the next case. Called in worker.py."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from pathlib import Path

from refarray._system import system


def threads() -> int:
    """The number of threads of this process; those of Python without /proc."""
    with contextlib.suppress(OSError):
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    return threading.active_count()


class Conduct:
    """The state of this process that the kit relies on, as it was before the library's import."""

    def __init__(self) -> None:
        with Path(os.devnull).open("rb") as null, tempfile.TemporaryFile() as output:
            os.dup2(null.fileno(), 0)
            os.dup2(output.fileno(), 1)
        self.kept: dict[int, int] = {number: system.take(os.dup(number)) for number in (0, 1, 2)}
        self.signals: system.Signals = system.Signals()
        self.folder: Path = Path.cwd()
        self.threads: int = 1

    def restore(self, own_output: bool = False) -> list[str]:
        """What the library has done since the last call; all but threads and children is undone.
        With `own_output` the kit has printed something itself."""
        return [
            *self.restore_descriptors(),
            *self.signals.restore(),
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
