"""The processes of Windows, as posix.py has those of other systems.

A job is a process and all that it has started. The process makes its own at its start, named after
its number, by which others find it; when it ends, so does all that it has started."""

from __future__ import annotations

import contextlib
import ctypes
import msvcrt
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from ctypes import wintypes
from typing import IO, TypedDict

assert sys.platform == "win32"

KERNEL = ctypes.WinDLL("kernel32", use_last_error=True)
HANDLE, DWORD, TEXT, BOOL = wintypes.HANDLE, wintypes.DWORD, wintypes.LPCWSTR, wintypes.BOOL
POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t
for _name, _result, _arguments in (
    ("AssignProcessToJobObject", BOOL, (HANDLE, HANDLE)),
    ("CloseHandle", BOOL, (HANDLE,)),
    ("CreateJobObjectW", HANDLE, (POINTER, TEXT)),
    ("GetCurrentProcess", HANDLE, ()),
    ("GetProcessTimes", BOOL, (HANDLE, *[POINTER] * 4)),
    ("K32GetProcessMemoryInfo", BOOL, (HANDLE, POINTER, DWORD)),
    ("OpenJobObjectW", HANDLE, (DWORD, BOOL, TEXT)),
    ("OpenProcess", HANDLE, (DWORD, BOOL, DWORD)),
    ("PeekNamedPipe", BOOL, (HANDLE, POINTER, DWORD, POINTER, POINTER, POINTER)),
    ("QueryInformationJobObject", BOOL, (HANDLE, DWORD, POINTER, DWORD, POINTER)),
    ("ReadProcessMemory", BOOL, (HANDLE, POINTER, POINTER, SIZE, POINTER)),
    ("SetInformationJobObject", BOOL, (HANDLE, DWORD, POINTER, DWORD)),
    ("TerminateJobObject", BOOL, (HANDLE, DWORD)),
    ("VirtualProtect", BOOL, (POINTER, SIZE, DWORD, POINTER)),
    ("WriteProcessMemory", BOOL, (HANDLE, POINTER, POINTER, SIZE, POINTER)),
):
    _function = getattr(KERNEL, _name)
    _function.restype, _function.argtypes = _result, _arguments

CAN_FORK = False
"""Each case that may crash runs in a new process once one has crashed."""
JOB_ACCOUNTING, JOB_LIMITS = 1, 9  # information classes of jobs
KILL_ON_JOB_CLOSE = 0x2000
JOB_QUERY, JOB_TERMINATE, PROCESS_QUERY = 0x4, 0x8, 0x1000  # rights
KILLED = 0xC000013A  # the exit status of what is killed here: STATUS_CONTROL_C_EXIT
ERROR_BROKEN_PIPE = 109
PROTECT = (
    "ctypes.windll.kernel32.VirtualProtect(ctypes.c_void_p({}), mmap.PAGESIZE, {}, "
    "ctypes.byref(ctypes.c_uint32()))"
)
"""The statement that gives a page other rights, for scripts."""
NO_ACCESS, READ_ONLY = 1, 2
POLL_SECONDS = 0.002
CRASHES = {
    0xC0000005: "access violation",
    0xC00000FD: "stack overflow",
    0xC0000374: "heap corruption",
    0xC0000409: "buffer overrun, or abort()",
}


def require(done: object) -> None:
    """OSError if a function failed."""
    if not done:
        raise ctypes.WinError(ctypes.get_last_error())


# --- processes


def name_job(pid: int) -> str:
    return f"refarray-{pid}"


def enter_job() -> None:
    """Makes the job of this process, whose handle is never closed. OSError if it cannot."""
    job = KERNEL.CreateJobObjectW(None, name_job(os.getpid()))
    require(job)
    limits = struct.pack("<2qI124x", 0, 0, KILL_ON_JOB_CLOSE)
    require(KERNEL.SetInformationJobObject(job, JOB_LIMITS, limits, len(limits)))
    require(KERNEL.AssignProcessToJobObject(job, KERNEL.GetCurrentProcess()))


def kill(pid: int) -> None:
    """Ends a process and, if it has a job, all that it has started."""
    if job := KERNEL.OpenJobObjectW(JOB_TERMINATE, False, name_job(pid)):
        KERNEL.TerminateJobObject(job, KILLED)
        KERNEL.CloseHandle(job)
        return
    with contextlib.suppress(OSError):  # it has ended
        os.kill(pid, signal.SIGTERM)


def own_seconds(pid: int) -> float | None:
    """The CPU seconds of a process; None if it has ended and nobody holds it."""
    process = KERNEL.OpenProcess(PROCESS_QUERY, False, pid)
    if not process:
        return None
    told = ctypes.create_string_buffer(32)  # the times of its start and its end, kernel, user
    places = (ctypes.byref(told, offset) for offset in range(0, 32, 8))
    done = KERNEL.GetProcessTimes(process, *places)
    KERNEL.CloseHandle(process)
    return sum(struct.unpack_from("<2q", told, 16)) / 1e7 if done else None  # of 100 ns


def work(pid: int) -> tuple[float, bool] | None:
    """The CPU seconds of a process and, if it has a job, of all that it has started; and False:
    whether a thread waits for a CPU is not known. None if the process has ended."""
    seconds = own_seconds(pid)
    if job := KERNEL.OpenJobObjectW(JOB_QUERY, False, name_job(pid)):
        told = ctypes.create_string_buffer(48)
        KERNEL.QueryInformationJobObject(job, JOB_ACCOUNTING, told, len(told), None)
        KERNEL.CloseHandle(job)
        if seconds is not None:
            seconds = max(seconds, sum(struct.unpack_from("<2q", told)) / 1e7)
    return None if seconds is None else (seconds, False)


def has_crashed(status: int) -> bool:
    """Whether an exception of the system ended the process."""
    return status & 0xFFFFFFFF >= 0xC0000000


def how_it_ended(status: int) -> str:
    """An exit status as text: "0xc0000005: access violation"."""
    if not has_crashed(status):
        return f"the process left with exit status {status}"
    status &= 0xFFFFFFFF
    return f"{status:#x}: {CRASHES.get(status, 'an exception of the system')}"


# --- descriptors


class Options(TypedDict):
    """Options of Popen."""

    startupinfo: subprocess.STARTUPINFO


def pass_on(descriptors: Sequence[int]) -> tuple[list[str], Options]:
    """Descriptors as words of a command line, and the options that pass them to the process."""
    handles = [msvcrt.get_osfhandle(each) for each in descriptors]
    for handle in handles:
        os.set_handle_inheritable(handle, True)
    known = subprocess.STARTUPINFO(lpAttributeList={"handle_list": handles})
    return [str(handle) for handle in handles], {"startupinfo": known}


def receive(name: str) -> int:
    """The descriptor with a name of pass_on(), in the process that was started."""
    return take(msvcrt.open_osfhandle(int(name), os.O_BINARY))


def take(descriptor: int) -> int:
    """Keeps a descriptor of the kit's from programs that a library starts."""
    os.set_inheritable(descriptor, False)
    return descriptor


def is_readable(pipe: IO[bytes]) -> bool:
    """Whether os.read() of a pipe returns at once: with data, or at its end."""
    count = DWORD()
    handle = msvcrt.get_osfhandle(pipe.fileno())
    if KERNEL.PeekNamedPipe(handle, None, 0, None, ctypes.byref(count), None):
        return count.value > 0
    return ctypes.get_last_error() == ERROR_BROKEN_PIPE


def wait_for(pipes: Sequence[IO[bytes]], seconds: float) -> list[IO[bytes]]:
    """The pipes that os.read() does not wait for, after at most `seconds`."""
    end = time.monotonic() + seconds
    while not (ready := [each for each in pipes if is_readable(each)]):
        if time.monotonic() >= end:
            return []
        time.sleep(POLL_SECONDS)
    return ready


class Signals:
    """Windows has none that the kit relies on."""

    def restore(self) -> list[str]:
        return []


# --- the memory of this process


def read_memory(address: int, count: int) -> bytes:
    """`count` bytes from an address on. OSError if they are not mapped."""
    found = ctypes.create_string_buffer(count)
    own = KERNEL.GetCurrentProcess()
    require(KERNEL.ReadProcessMemory(own, address, found, count, None))
    return found.raw


def write_memory(address: int, data: bytes) -> None:
    """Writes bytes to an address. OSError if it is not mapped."""
    own = KERNEL.GetCurrentProcess()
    require(KERNEL.WriteProcessMemory(own, address, data, len(data), None))


def is_mapped(address: int) -> bool:
    """Whether this process may read at an address."""
    try:
        return bool(read_memory(address, 1))
    except OSError:
        return False


def forbid_access(address: int, count: int) -> bool:
    """Takes all rights from whole pages; False if that fails."""
    before = DWORD()
    return bool(KERNEL.VirtualProtect(address, count, NO_ACCESS, ctypes.byref(before)))


def resident() -> int:
    """The memory that this process has for itself, in bytes."""
    told = ctypes.create_string_buffer(72)  # PROCESS_MEMORY_COUNTERS
    require(KERNEL.K32GetProcessMemoryInfo(KERNEL.GetCurrentProcess(), told, len(told)))
    return int(struct.unpack_from("<Q", told, 56)[0])  # PagefileUsage
