"""The processes of POSIX systems: how descriptors reach them, how they end, what they do meanwhile;
and the memory and the signals of this one."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TypedDict

assert sys.platform != "win32"

OWN = 200  # the kit's descriptors are from here on, out of the way of what closes 0 to 2
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
SIGNALS = (signal.SIGCHLD, signal.SIGPIPE)
"""The signals whose handling the kit relies on."""
MEMORY = "/proc/self/mem"
"""Without it, a wrong address ends the process."""
PROC = Path("/proc")
PROTECT = "ctypes.CDLL(None).mprotect(ctypes.c_void_p({}), mmap.PAGESIZE, {})"
"""The statement that gives a page other rights, for scripts."""
NO_ACCESS, READ_ONLY = 0, 1
CAN_FORK = True


# --- processes


def enter_job() -> None:
    """Nothing: processes are found by their parents."""


def fields(path: Path) -> list[str]:
    """The fields of a /proc stat file after the name: the state, the parent …"""
    return path.read_text().rpartition(")")[2].split()


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    children = defaultdict(list)
    for each in PROC.iterdir():
        if each.name.isdigit():
            with contextlib.suppress(OSError):  # the process has just ended
                children[int(fields(each / "stat")[1])].append(int(each.name))
    found = [pid]
    for parent in found:  # grows during the loop
        found += children[parent]
    return found


def kill(pid: int) -> None:
    """Kills a process and, as far as /proc tells, its descendants."""
    try:
        found = family(pid)
    except OSError:
        found = [pid]
    for each in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def work(pid: int) -> tuple[float, bool] | None:
    """The CPU seconds of a process and its descendants, and whether one of their threads runs or
    waits for a CPU or a disk. None without /proc."""
    ticks, running = 0, False
    try:
        for each in family(pid):
            for task in (PROC / str(each) / "task").iterdir():
                with contextlib.suppress(OSError):
                    stat = fields(task / "stat")
                    ticks += int(stat[11]) + int(stat[12])
                    running = running or stat[0] in "RD"
    except OSError:
        return None
    return ticks / os.sysconf("SC_CLK_TCK"), running


def has_crashed(status: int) -> bool:
    """Whether a signal ended the process."""
    return status < 0


def how_it_ended(status: int) -> str:
    """An exit status as text: "SIGSEGV: …", "the process left with exit status 3"."""
    if status >= 0:
        return f"the process left with exit status {status}"
    try:
        return f"{signal.Signals(-status).name}: {signal.strsignal(-status)}"
    except ValueError:
        return f"signal {-status}"


# --- descriptors and signals


class Options(TypedDict):
    """Options of Popen."""

    pass_fds: Sequence[int]


def pass_on(descriptors: Sequence[int]) -> tuple[list[str], Options]:
    """Descriptors as words of a command line, and the options that pass them to the process."""
    return [str(each) for each in descriptors], {"pass_fds": descriptors}


def receive(name: str) -> int:
    """The descriptor with a name of pass_on(), in the process that was started."""
    return take(int(name))


def take(descriptor: int) -> int:
    """Moves a descriptor of the kit's to a high number; programs that a library starts lack it."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, OWN)
    os.close(descriptor)
    return moved


def wait_for(pipes: Sequence[IO[bytes]], seconds: float) -> list[IO[bytes]]:
    """The pipes that os.read() does not wait for, after at most `seconds`."""
    return select.select(pipes, [], [], seconds)[0]


class Signals:
    """The handling of signals in this process, as it was before the library's import."""

    def __init__(self) -> None:
        self.mask: set[Any] = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self.handlers: dict[signal.Signals, Any] = {
            number: signal.getsignal(number) for number in SIGNALS
        }

    def restore(self) -> list[str]:
        """What the library has changed since the last call; it is undone."""
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


# --- the memory of this process


def read_memory(address: int, count: int) -> bytes:
    """At most `count` bytes from an address on. OSError or OverflowError if none is mapped."""
    try:
        descriptor = os.open(MEMORY, os.O_RDONLY)
    except OSError:
        return ctypes.string_at(address, count)
    try:
        return os.pread(descriptor, count, address) if count else b""
    finally:
        os.close(descriptor)


def write_memory(address: int, data: bytes) -> None:
    """Writes bytes to an address. OSError or OverflowError if it is not mapped."""
    try:
        descriptor = os.open(MEMORY, os.O_RDWR)
    except OSError:
        ctypes.memmove(address, data, len(data))
        return
    try:
        if os.pwrite(descriptor, data, address) != len(data):
            raise OSError("a part is not mapped")
    finally:
        os.close(descriptor)


def is_mapped(address: int) -> bool:
    """Whether this process may read at an address. OSError without /proc/self/maps."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, *_ = line.split()
        first, last = (int(end, 16) for end in span.split("-"))
        if first <= address < last:
            return rights.startswith("r")
    return False


def forbid_access(address: int, count: int) -> bool:
    """Takes all rights from whole pages; False if that fails."""
    protect = ctypes.CDLL(None).mprotect
    return bool(protect(ctypes.c_void_p(address), ctypes.c_size_t(count), 0) == 0)


def resident() -> int:
    """The resident set size of this process, in bytes. OSError without /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    sizes = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    if not sizes:
        raise OSError("/proc/self/status has no VmRSS")
    return int(sizes[0]) * 1024
