"""Arrays between processes, in a process of their own: JAX, once imported, has threads, with which
a forked child may hang."""

from __future__ import annotations

import sys
from pathlib import Path

from helpers.processes import python


def test_arrays_between_processes() -> None:
    file = Path(__file__).with_name("share_processes.py")
    # From CPython 3.15 on, fork() warns of the thread that waits for a timeout.
    seconds = 0 if sys.version_info >= (3, 15) else 200
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["-o", f"faulthandler_timeout={seconds}"]
    done = python("-m", "pytest", *options, file)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
