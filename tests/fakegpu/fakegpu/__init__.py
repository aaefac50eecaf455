"""Simulated CUDA and HIP drivers with streams that can be stopped, and a proof of their order."""

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
    "Drivers",
    "calls",
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
    "step",
    "touch",
    "trace",
    "violations",
    "write_trace",
]

#: Simulated CUDA drivers that are tested; any number in between works as well.
CUDA_VERSIONS = (11040, 12000, 12040, 12050, 12080, 13000)
#: What hipRuntimeGetVersion answers, by the name of the personality.
HIP_VERSIONS = {"5.2": 50221153, "6.3": 60342131, "7.0": 70051831, "10.0": 100000000}
ORDERS = {"threads": 0, "latest": 1, "earliest": 2, "random": 3}

#: What `configure` sets, and what holds when nothing is said.
DEFAULTS: dict[str, int | bool | str] = {
    "device_bytes": 2**31,  # the memory of each device
    "pools": True,
    "managed": True,
    "peers": True,
    "cuda_free_waits": False,  # a synchronous free may wait, or not: not to be relied on
    "hip_free_waits": True,
    "stub": False,  # every function returns 34 and writes nothing
    "crash_on_bad_handle": False,
    "hip_crash_on_one": True,  # HIP dereferences the stream value 1
    "reuse": False,  # give a freed address again at once
    "unmap": False,  # freed memory traps the device's work, too
    "check_gil": True,
    "each_thread": False,  # host threads are not ordered by themselves
    "order": "threads",
    "delay": 0,  # microseconds before each piece of work, at most
    "seed": 1,
    "hang_milliseconds": 30_000,
}

Record = dict[str, Any]


class Drivers(NamedTuple):
    """The files to open in place of the real drivers."""

    cuda: Path
    hip: Path

    @classmethod
    def here(cls, cuda_version: int = 12080, hip_version: str = "6.3") -> Drivers:
        """Those of two versions, on the machine as it is."""
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
        ("trace", text, []),
        ("violations", text, []),
        ("live", text, []),
        ("label", None, [text]),
        ("touch", None, [ctypes.c_void_p, number, ctypes.c_int]),
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
    """Set what the machine does from now on; the numbers of devices hold after `restart()`.

    `order` is "threads" (every stream runs by itself) or the order in which held work runs while
    the host waits: "latest" (the consumer before its producer, wherever the driver's rules let
    it), "earliest" or "random" (see `seed`).
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
    """Switch the machine on with that many devices, and point refarray's loaders at it.

    Sets `REFARRAY_LIBCUDA` and `REFARRAY_LIBHIP`; call it before the program opens a driver.
    All objects of an earlier `load()` are gone.
    """
    configure(cuda_devices=cuda, hip_devices=hip, cuda_version=cuda_version)
    configure(**(DEFAULTS | settings))
    configure(hip_version=HIP_VERSIONS[hip_version])
    restart()
    drivers = Drivers.here(cuda_version, hip_version)
    os.environ["REFARRAY_LIBCUDA"] = str(drivers.cuda)
    os.environ["REFARRAY_LIBHIP"] = str(drivers.hip)
    return drivers


def restart() -> None:
    """Forget every object of both drivers, as after a reboot."""
    _core().fakegpu_restart()


def reset() -> None:
    """Let all work finish, then forget trace, violations, faults and counts; objects stay."""
    _core().fakegpu_reset()


def hold(stream: int = 0) -> None:
    """What is queued on the stream from now on waits for `step` or `run`."""
    if _core().fakegpu_hold(stream) != 0:
        raise ValueError(f"no stream {stream:#x}")


def step(stream: int = 0, n: int = 1) -> int:
    """Run at most `n` held pieces of the stream's work; how many have run.

    Fewer than `n` when there were no more, or when the next one waits for a held stream.
    """
    done = int(_core().fakegpu_step(stream, n))
    if done < 0:
        raise ValueError(f"no stream {stream:#x}")
    return done


def run() -> None:
    """Hold nothing any more, and wait until all work is done. No order is proven by it."""
    _core().fakegpu_run()


def fail(name: str, k: int = 1, code: int = 999, *, sticky: bool = False) -> None:
    """Let the k-th call from now of the function (or of any, "*") return the code.

    What gives something back does so all the same, as the real drivers do. Errors 700 to 719 are
    sticky, as they are there.
    """
    _core().fakegpu_fail(name.encode(), k, code, int(sticky))


def calls(name: str = "*") -> int:
    """How many calls of the function could have been made to fail since the last reset."""
    return int(_core().fakegpu_calls(name.encode()))


def trace(*names: str) -> list[Record]:
    """Every call since the last reset, or those of some functions, in order."""
    records = _lines(_core().fakegpu_trace())
    return [record for record in records if not names or record["call"] in names]


def write_trace(path: Path | str) -> None:
    """Every call since the last reset, as JSON lines."""
    Path(path).write_bytes(_core().fakegpu_trace())


def violations(*kinds: str) -> list[Record]:
    """What the program did that a real driver may punish; `first` and `second` are the calls."""
    found = _lines(_core().fakegpu_violations())
    by_number = {record["seq"]: record for record in trace()}
    for violation in found:
        for end in ("first", "second"):
            violation[end] = by_number.get(violation[end])
    return [violation for violation in found if not kinds or violation["kind"] in kinds]


def live(*what: str) -> list[Record]:
    """What is allocated, created or retained at the moment, of both drivers."""
    records = _lines(_core().fakegpu_live())
    return [record for record in records if not what or record["what"] in what]


@contextlib.contextmanager
def label(text: str) -> Iterator[None]:
    """Calls of this thread carry the text in the trace."""
    _core().fakegpu_label(text.encode())
    try:
        yield
    finally:
        _core().fakegpu_label(b"")


def touch(pointer: int, size: int, *, write: bool = False) -> None:
    """Tell the checker that the host reads or writes pinned or managed memory here."""
    _core().fakegpu_touch(pointer, size, int(write))


def peek(pointer: int, size: int) -> bytes:
    """The bytes of device memory as they are now, past every driver and every order."""
    out = ctypes.create_string_buffer(size)
    if _core().fakegpu_peek(pointer, out, size) != 0:
        raise ValueError(f"{pointer:#x} is no memory of a simulated device")
    return out.raw


def deinitialize() -> None:
    """Every call from now on fails with 4, as at the end of a process."""
    _core().fakegpu_deinitialize()
