"""Arrays between processes, in a process of their own: JAX, once imported, has threads, with which
a forked child may hang."""

from __future__ import annotations

from pathlib import Path

from helpers.processes import python


def test_arrays_between_processes() -> None:
    file = Path(__file__).with_name("share_processes.py")
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "faulthandler_timeout=200"]
    done = python("-m", "pytest", *options, file)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
