"""Simulated CUDA and HIP drivers: streams that can be held, and a race detector."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from . import _libraries

__all__ = [
    "CUDA_VERSIONS",
    "DEFAULTS",
    "HIP_VERSIONS",
    "PERSONALITIES",
    "Drivers",
    "calls",
    "calls_after_fork",
    "configure",
    "deinitialize",
    "fail",
    "hold",
    "label",
    "live",
    "load",
    "peek",
    "reset",
    "restart",
    "run",
    "share_devices",
    "step",
    "touch",
    "trace",
    "violations",
    "write_trace",
]

#: Tested CUDA driver versions; versions in between work too.
CUDA_VERSIONS = (11040, 12000, 12040, 12050, 12080, 13000)
#: Results of hipRuntimeGetVersion, by HIP version.
HIP_VERSIONS = {"5.2": 50221153, "6.3": 60342131, "7.0": 70051831, "10.0": 100000000}
ORDERS = {"threads": 0, "latest": 1, "earliest": 2, "random": 3}

#: The settings of `configure` and their defaults.
DEFAULTS: dict[str, int | bool | str] = {
    "device_bytes": 2**31,  # the memory of each device
    "pools": True,
    "managed": True,
    "concurrent_managed": True,  # False: the host may not touch it while any kernel runs
    "shareable": True,  # memory that other processes can map
    "peers": True,
    "cuda_free_waits": False,  # cuMemFree may wait; programs must not rely on it
    "hip_free_waits": True,
    "stub": False,  # every function returns 34 (stub library) and writes nothing
    "crash_on_bad_handle": False,
    "hip_crash_on_one": True,  # HIP dereferences the stream value 1
    "reuse": False,  # reuse freed addresses at once
    "unmap": False,  # freed memory traps device accesses too
    "check_gil": True,
    "each_thread": False,  # one clock per host thread: threads are not ordered with each other
    "order": "threads",
    "delay": 0,  # maximum delay before each operation, in microseconds
    "seed": 1,
    "hang_milliseconds": 30_000,
}

#: The drivers that tests run on, by name: arguments of `load()`. The last one is the strictest.
PERSONALITIES: dict[str, dict[str, Any]] = {
    "cuda12.8-hip6.3": {},
    "cuda12.0-hip5.2": {"cuda_version": 12000, "hip_version": "5.2"},
    "cuda11.4-hip7.0": {"cuda_version": 11040, "hip_version": "7.0"},
    "nopools-hip10.0": {"pools": 0, "concurrent_managed": 0, "hip_version": "10.0"},
    "latest-first": {"order": "latest", "reuse": 1},
}

Record = dict[str, Any]


class Drivers(NamedTuple):
    """The files to open in place of the real drivers."""

    cuda: Path
    hip: Path

    @classmethod
    def here(cls, cuda_version: int = 12080, hip_version: str = "6.3") -> Drivers:
        """The libraries of two versions, without restarting the machine."""
        folder = _libraries.folder()
        name = f"libamdhip64.so.{hip_version.partition('.')[0]}"
        return cls(
            folder / ("cuda12" if cuda_version >= 12000 else "cuda11") / "libcuda.so.1",
            folder / f"hip{hip_version}" / name,
        )


@cache
def _core() -> ctypes.CDLL:
    core = ctypes.CDLL(str(_libraries.folder() / "libfakegpu.so"))
    number, text = ctypes.c_uint64, ctypes.c_char_p
    for name, result, arguments in (
        ("configure", ctypes.c_int, [text, ctypes.c_int64]),
        ("hold", ctypes.c_int, [number]),
        ("step", ctypes.c_int64, [number, ctypes.c_int64]),
        ("fail", None, [text, number, ctypes.c_int, ctypes.c_int]),
        ("calls", number, [text]),
        ("calls_after_fork", number, []),
        ("trace", text, []),
        ("violations", text, []),
        ("live", text, []),
        ("label", None, [text]),
        ("touch", None, [ctypes.c_void_p, number, ctypes.c_int]),
        ("in_room", ctypes.c_int, []),
        ("peek", ctypes.c_int, [number, ctypes.c_void_p, number]),
    ):
        function = getattr(core, f"fakegpu_{name}")
        function.restype, function.argtypes = result, arguments
    for plugin in sorted((_libraries.folder() / "plugins").glob("*.so")):
        ctypes.CDLL(str(plugin))  # registers its kernels
    return core


def _lines(text: bytes) -> list[Record]:
    return [json.loads(line) for line in text.decode().splitlines()]


def configure(**settings: int | bool | str) -> None:
    """Change settings; device counts take effect at the next `restart()`.

    `order` is "threads" (streams run concurrently) or the order in which held work runs while the
    host waits: "latest" (consumers before producers where the driver's rules allow it), "earliest"
    or "random" (see `seed`).
    """
    for name, value in settings.items():
        number = ORDERS[value] if isinstance(value, str) else int(value)
        if _core().fakegpu_configure(name.encode(), number) != 0:
            raise ValueError(f"fakegpu has no setting {name!r}")


def load(
    cuda: int = 2,
    hip: int = 1,
    cuda_version: int = 12080,
    hip_version: str = "6.3",
    **settings: int | bool | str,
) -> Drivers:
    """Start the machine with the given devices, and make refarray load its drivers.

    Sets `REFARRAY_LIBCUDA` and `REFARRAY_LIBHIP`; call it before the program loads a driver.
    Destroys all objects of an earlier `load()`.
    """
    configure(cuda_devices=cuda, hip_devices=hip, cuda_version=cuda_version)
    configure(**(DEFAULTS | settings))
    configure(hip_version=HIP_VERSIONS[hip_version])
    restart()
    drivers = Drivers.here(cuda_version, hip_version)
    os.environ["REFARRAY_LIBCUDA"] = str(drivers.cuda)
    os.environ["REFARRAY_LIBHIP"] = str(drivers.hip)
    return drivers


def share_devices(file: Path | str) -> None:
    """Share the simulated devices with all processes that name the same file.

    Each still starts its own machine by `load()`, after this, with the same settings. Memory of
    cuMemCreate and events can then go from one to the other, and the race detector compares the
    work of all. The hosts of all processes count as one thread. `file` need not exist; processes
    started later share too, by the variable FAKEGPU_ROOM.

    Raises RuntimeError if this process's drivers have been used before.
    """
    os.environ["FAKEGPU_ROOM"] = str(file)
    if not _core().fakegpu_in_room():
        raise RuntimeError("share_devices() comes before the first use of the drivers")


def restart() -> None:
    """Destroy all objects of both drivers, as by a reboot."""
    _core().fakegpu_restart()


def reset() -> None:
    """Finish all work, then clear trace, violations, faults and counters; objects stay."""
    _core().fakegpu_reset()


def hold(stream: int = 0) -> None:
    """Hold work queued on the stream from now on until `step` or `run`."""
    if _core().fakegpu_hold(stream) != 0:
        raise ValueError(f"no stream {stream:#x}")


def step(stream: int = 0, n: int = 1) -> int:
    """Run at most `n` held operations of the stream, and return how many ran.

    Fewer than `n` if there are no more, or if the next one waits for a held stream.
    """
    done = int(_core().fakegpu_step(stream, n))
    if done < 0:
        raise ValueError(f"no stream {stream:#x}")
    return done


def run() -> None:
    """Release all held work and wait for it. The race detector does not count this as ordering."""
    _core().fakegpu_run()


def fail(name: str, k: int = 1, code: int = 999, *, sticky: bool = False) -> None:
    """Make the k-th call from now of the function (`"*"`: of any function) return the code.

    Functions that release a resource still release it, except with an error of a graph capture
    (900 to 908). Errors 700 to 719 are sticky, as with the real drivers.
    """
    _core().fakegpu_fail(name.encode(), k, code, int(sticky))


def calls(name: str = "*") -> int:
    """The number of calls of the function since the last reset that `fail` can target."""
    return int(_core().fakegpu_calls(name.encode()))


def calls_after_fork() -> int:
    """The number of driver calls that this process, a forked child, has made. All of them failed,
    and the trace does not have them: it is the parent's."""
    return int(_core().fakegpu_calls_after_fork())


def trace(*names: str) -> list[Record]:
    """The calls since the last reset, in order; of the given functions only, if any."""
    records = _lines(_core().fakegpu_trace())
    return [record for record in records if not names or record["call"] in names]


def write_trace(path: Path | str) -> None:
    """Write all calls since the last reset as JSON lines."""
    Path(path).write_bytes(_core().fakegpu_trace())


def violations(*kinds: str) -> list[Record]:
    """Errors that a real driver may punish; `first` and `second` are the calls involved."""
    found = _lines(_core().fakegpu_violations())
    by_number = {record["seq"]: record for record in trace()}
    for violation in found:
        for end in ("first", "second"):
            violation[end] = by_number.get(violation[end])
    return [violation for violation in found if not kinds or violation["kind"] in kinds]


def live(*what: str) -> list[Record]:
    """Everything allocated, created or retained now, in both drivers."""
    records = _lines(_core().fakegpu_live())
    return [record for record in records if not what or record["what"] in what]


@contextlib.contextmanager
def label(text: str) -> Iterator[None]:
    """Label this thread's calls in the trace."""
    _core().fakegpu_label(text.encode())
    try:
        yield
    finally:
        _core().fakegpu_label(b"")


def touch(pointer: int, size: int, *, write: bool = False) -> None:
    """Declare to the race detector that the host accesses pinned or managed memory."""
    _core().fakegpu_touch(pointer, size, int(write))


def peek(pointer: int, size: int) -> bytes:
    """Read device memory now, without any driver call or ordering."""
    out = ctypes.create_string_buffer(size)
    if _core().fakegpu_peek(pointer, out, size) != 0:
        raise ValueError(f"{pointer:#x} is not memory of a simulated device")
    return out.raw


def deinitialize() -> None:
    """Make all later calls fail with 4, as at the end of a process."""
    _core().fakegpu_deinitialize()
