"""Correct producers that do something to their process: at their import, in each export, or when
they are asked for a copy."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from refarray.conformance import Subject


def close(*descriptors: int) -> None:
    for each in descriptors:
        with contextlib.suppress(OSError):  # closed already
            os.close(each)


def replace_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT})


def ignore_children() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def reap_children() -> None:
    signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))


def send_alarm() -> None:
    signal.setitimer(signal.ITIMER_REAL, 1.0)


def change_folder() -> None:
    os.chdir("/")


def print_much() -> None:
    sys.stdout.write("x" * 100_000)
    os.write(1, b'{"held": true}\n')


def start_thread() -> None:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def fork_and_stay() -> None:
    """A daemon, which keeps every descriptor open."""
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)


def fork_and_return() -> None:
    """Both processes go on in the caller."""
    os.fork()


def exit_later() -> None:
    """Ends the process while another case runs."""
    threading.Timer(0.05, os._exit, [3]).start()


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


HARMLESS: dict[str, tuple[Callable[[], object], str]] = {
    "closes_0": (lambda: close(0), "closes descriptor 0"),
    "closes_0_to_2": (lambda: close(0, 1, 2), "closes descriptor 2"),
    "replaces_output": (replace_output, "replaces descriptor 1"),
    "blocks_signals": (block_signals, "changes the signal mask: SIGCHLD, SIGINT, SIGTERM"),
    "ignores_children": (ignore_children, "ignores SIGCHLD"),
    "reaps_children": (reap_children, "handles SIGCHLD"),
    "sends_alarm": (send_alarm, "starts a timer"),
    "changes_folder": (change_folder, "changes the working directory"),
    "prints": (print_much, "prints to standard output"),
    "starts_thread": (start_thread, "starts threads"),
    "forks_and_stays": (fork_and_stay, ""),
    "forks_and_returns": (fork_and_return, "forks, and leaves its children"),
}
"""What no case may notice → the function that does it, and the line of the report."""
DEADLY: dict[str, tuple[Callable[[], object], str]] = {
    "exits": (lambda: os._exit(3), "exit status 3"),
    "kills_itself": (kill_itself, "SIGTERM"),
    "raises_exit": (lambda: sys.exit(3), "exit status 3"),
}
"""What ends the process in the case → the function, and the observation."""


class Array:
    """Forwards to an array; calls a function of this module in an export, or in a copy."""

    def __init__(self, source: Any, export: str = "", copy: str = "") -> None:
        self.source, self.export, self.copy = source, export, copy

    def tolist(self) -> Any:
        return self.source.tolist()

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        if name := self.copy if keywords.get("copy") is True else self.export:
            ({**HARMLESS, **DEADLY}[name][0] if name != "exits_later" else exit_later)()
        return self.source.__dlpack__(**keywords)


IMPORTS = "import refarray as ra, helpers.hostile_libraries as h"
PLAIN = "h.Array(ra.arange(6, dtype=ra.float32), {})"


def subject(name: str, arguments: str, at_import: str = "") -> Subject:
    arrays = {"plain": PLAIN.format(arguments)}
    return Subject(name, f"{IMPORTS}; {at_import}", arrays, from_dlpack="ra.from_dlpack({})")


for _name in HARMLESS:
    globals()[f"import_{_name}"] = subject(_name, "", f"h.HARMLESS[{_name!r}][0]()")
    globals()[f"export_{_name}"] = subject(_name, f"export={_name!r}")
for _name in (*DEADLY, "exits_later"):
    globals()[f"copy_{_name}"] = subject(_name, f"copy={_name!r}")
quiet = subject("quiet", "")
