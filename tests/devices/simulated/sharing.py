"""The other process of sim_processes.py: a partner that does what it is told, step by step."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import fakegpu
from capturing import SETTINGS, driver_of, host_of

LOAD: dict[str, Any] = {"cuda": 2, "hip": 2, **SETTINGS}
UNIT = 2 << 20


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


class Partner:
    """A process, and the functions of `Steps` that run in it: `partner.read()`, …"""

    def __init__(self, **settings: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, settings))
        self.process.start()
        theirs.close()

    def __getattr__(self, step: str) -> Any:
        return lambda *arguments: self.do(step, *arguments)

    def do(self, step: str, *arguments: Any) -> Any:
        self.connection.send((step, arguments))
        answer, error = self.connection.recv()
        if error is not None:
            raise error
        return answer

    def end(self) -> None:
        if self.process.is_alive():
            self.connection.send_bytes(b"")
        self.process.join()
        self.connection.close()


def serve(connection: Connection, settings: dict[str, Any]) -> None:
    fakegpu.load(**LOAD | settings)
    steps = Steps()
    while message := connection.recv_bytes():
        try:
            name, arguments = ForkingPickler.loads(message)
            connection.send((getattr(steps, name)(*arguments), None))
        except Exception as error:
            connection.send((None, error))
        arguments = None


class Steps:
    """What a partner does: as a user of refarray, or wrongly, by driver calls of its own."""

    def __init__(self) -> None:
        self.kept: Any = None
        self.event: Any = None
        self.stream: Any = None
        self.results: list[Any] = []  # kept, because a free on ROCm would wait for the work
        self.raw = (0, 0)

    # --- As a user of refarray.

    def keep(self, x: Any) -> tuple[Any, ...]:
        self.kept = x
        return str(x.device), x.shape, str(x.dtype), x.strides, x.readonly, x.is_shared()

    def attach(self, message: bytes, pid: int, *files: int) -> Any:
        import refarray.shared as shared

        fds = [os.open(f"/proc/{pid}/fd/{file}", os.O_RDWR) for file in files]
        try:
            return self.keep(shared.attach(message, fds=fds))
        finally:
            for fd in fds:
                os.close(fd)

    def read(self) -> Any:
        return self.kept.to_device("cpu").tolist()

    def write(self, value: float) -> None:
        """Writes and waits for it."""
        import refarray as ra

        self.kept[...] = value
        ra.synchronize(self.kept.device)

    def give(self) -> Any:
        return self.kept

    def make(self, device: str, value: float) -> Any:
        import refarray.shared as shared

        self.kept = shared.empty(4, "float32", device=device)
        self.kept[...] = value
        return self.kept

    def shares_memory(self, x: Any) -> bool:
        import refarray as ra

        return ra.shares_memory(self.kept, x)

    def drop(self) -> list[Any]:
        """Drops everything; what the drivers still have, and what they saw."""
        import refarray as ra

        self.kept = self.stream = None
        self.results.clear()
        gc.collect()
        fakegpu.run()
        ra.synchronize("cuda:0")
        ra.synchronize("rocm:0")
        left = [one for one in fakegpu.live("memory") if one["mapped"]]
        return left + fakegpu.live("allocation handle", "address range")

    def violations(self) -> list[str]:
        fakegpu.run()
        found = [one["kind"] for one in fakegpu.violations()]
        fakegpu.reset()
        return found

    def descriptors(self) -> int:
        return descriptors()

    def take_event(self, event: Any) -> None:
        self.event = event

    def queue_copy(self, waits: bool) -> None:
        """Copies the kept array in a stream of its own, and does not wait for it."""
        import refarray as ra

        self.stream = ra.Stream(self.kept.device)
        if waits:
            self.stream.wait(self.event)
        with ra.use_stream(self.stream):
            self.results.append(ra.asarray(self.kept, copy=True))

    def copied(self) -> Any:
        self.stream.synchronize()
        return self.results[-1].to_device("cpu").tolist()

    def queue_write(self, value: float, records: bool) -> int:
        """Writes in a stream that is held, and records the event after it."""
        import refarray as ra

        self.stream = ra.Stream(self.kept.device)
        fakegpu.hold(self.stream.handle)
        host = host_of(str(self.kept.device))
        with ra.use_stream(self.stream):
            self.kept[...] = ra.full(self.kept.shape, value, dtype=self.kept.dtype, device=host)
        if records:
            self.event.record(self.stream)
        return int(self.stream.handle)

    def run(self) -> None:
        fakegpu.run()

    def is_event_done(self) -> bool:
        return bool(self.event.done)

    # --- Wrongly.

    def raw_map(self, device: str, pid: int, file: int, accessible: bool = True) -> int:
        """Maps another process's memory as a library would."""
        driver = driver_of(device)
        prefix = driver.prefix
        fd = os.open(f"/proc/{pid}/fd/{file}", os.O_RDWR)
        number: Any = fd
        if prefix == "hip" and LOAD.get("hip_version", "6.3") in ("5.2", "6.3", "7.0"):
            number = ctypes.byref(ctypes.c_int(fd))
        handle = driver.made(f"{prefix}MemImportFromShareableHandle", number, 1)
        os.close(fd)
        at = driver.made(f"{prefix}MemAddressReserve", UNIT, 0, 0, 0)
        driver(f"{prefix}MemMap", at, UNIT, 0, handle, 0)
        if accessible:
            access = (ctypes.c_int * 3)(1, 0, 3)
            driver(f"{prefix}MemSetAccess", at, UNIT, access, 1)
        driver(f"{prefix}MemRelease", handle)
        self.raw = (at, driver.stream())
        return at

    def raw_fill(self, device: str, value: int = 7) -> None:
        driver_of(device).fill(self.raw[0], self.raw[1], value, 16)

    def raw_unmap(self, device: str, waits: bool = True) -> None:
        driver = driver_of(device)
        if waits:
            driver.synchronize(self.raw[1])
        driver(f"{driver.prefix}MemUnmap", self.raw[0], UNIT)
        driver(f"{driver.prefix}MemAddressFree", self.raw[0], UNIT)

    def raw_event(self, device: str) -> bytes:
        """Makes, records and destroys an event that other processes have."""
        driver = driver_of(device)
        event = driver.event(2 | 4)
        handle = ctypes.create_string_buffer(64)
        driver(f"{driver.prefix}IpcGetEventHandle", handle, event)
        self.raw = (event, driver.stream())
        return handle.raw

    def raw_destroy_event(self, device: str) -> None:
        driver = driver_of(device)
        driver(
            f"{driver.prefix}EventDestroy" + ("_v2" if driver.prefix == "cu" else ""), self.raw[0]
        )
