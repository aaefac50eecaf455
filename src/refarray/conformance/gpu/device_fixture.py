"""DeviceFixture: a library's arrays and streams on one vendor's devices, delayed work, and whether
work is ordered, as shown by the simulated drivers' race detection or by timing on a real device."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from refarray.conformance.cases import NotApplicable, describe_error, subject_code
from refarray.conformance.gpu.driver_calls import (
    GATE_SECONDS,
    VENDORS,
    Driver,
    Failed,
    Gate,
    Vendor,
)
from refarray.conformance.subjects.devices import COUNT, OnDevice, simulation
from refarray.conformance.subjects.subject import Subject

SIZE = 4 * COUNT
"""Size of an array in bytes."""


@dataclass(frozen=True)
class Pending:
    """An array whose last write is enqueued behind a gate."""

    array: Any
    source: Any
    """The array that is copied into it."""
    stream: Any
    handle: int
    gate: Gate


class DeviceFixture:
    """One subject on the devices of one vendor."""

    def __init__(self, subject: Subject, namespace: dict[str, Any], vendor: str) -> None:
        self.vendor: Vendor = VENDORS[vendor]
        self.subject = subject
        self.namespace = namespace
        on = subject.devices.get(vendor)
        if on is None:
            raise NotApplicable(f"{subject.name} has no arrays on {self.vendor.title} devices")
        self.on: OnDevice = on
        try:
            self.driver: Driver = Driver(self.vendor)
            self.devices: int = self.driver.count()
        except (OSError, Failed) as error:
            raise NotApplicable(f"there is no {self.vendor.title} driver: {error}") from error
        if self.devices == 0:
            raise NotApplicable(f"there is no {self.vendor.title} device")
        for device in reversed(range(self.devices)):
            self.driver.use(device)  # creates the context; ends with device 0 current
        self.checker: ModuleType | None = simulation()
        self.scratch: list[int] = []

    def reset(self) -> None:
        """Waits for all work of the previous check, frees scratch memory and clears the trace."""
        gc.collect()
        for device in reversed(range(self.devices)):
            self.driver.use(device)
            self.driver.call("all")
        for pointer in self.scratch:
            self.driver.call("free", pointer)
        self.scratch.clear()
        if self.checker is not None:
            self.checker.reset()

    def eval(self, text: str, **names: Any) -> Any:
        """The value of an expression of the adapter. NotApplicable if it is empty or raises."""
        if not text:
            raise NotApplicable(f"the adapter of {self.subject.name} has no expression for this")
        try:
            return eval(text, {**self.namespace, **names})
        except Exception as error:
            raise NotApplicable(f"{text} raised {describe_error(error)}") from error

    def several(self) -> None:
        """NotApplicable with a single device."""
        if self.devices < 2:
            raise NotApplicable(f"there is a single {self.vendor.title} device")

    def text(self, device: int = 0) -> str:
        """The expression for an array."""
        return self.on.array.format(device)

    def array(self, device: int = 0) -> Any:
        """An array without pending work."""
        made = self.eval(self.text(device))
        self.driver.use(device)
        self.driver.call("all")
        return made

    def stream(self, device: int = 0) -> tuple[Any, int]:
        """A stream of the library, and its handle."""
        made = self.eval(self.on.stream.format(device) if self.on.stream else "")
        with subject_code():
            return made, int(self.eval(self.on.handle.format("_s"), _s=made))

    def foreign(self, device: int = 0) -> int:
        """A stream that the kit creates on a device, which becomes the current device."""
        self.driver.use(device)
        return self.driver.stream()

    def working_on(self, stream: Any) -> Any:
        """A context manager: the library uses that stream."""
        return self.eval(self.on.use.format("_s") if self.on.use else "", _s=stream)

    def writing_on(self, stream: Any) -> Any:
        """The same; nothing for a library without a current stream, whose calls name theirs."""
        return self.working_on(stream) if self.on.use else nullcontext()

    def write(self, array: Any, source: Any, stream: Any) -> None:
        """Copies `source` into `array` on a stream."""
        if not self.on.write:
            raise NotApplicable(f"the adapter of {self.subject.name} has no write on a stream")
        with self.writing_on(stream), subject_code():
            names = {**self.namespace, "_x": array, "_y": source, "_s": stream}
            exec(self.on.write.format("_x", "_y", "_s"), names)

    def read(self, array: Any, stream: Any) -> Any:
        """A copy of an array, made on a stream."""
        with self.working_on(stream):
            return self.eval(self.on.read.format("_x") if self.on.read else "", _x=array)

    @contextmanager
    def pending(
        self, device: int = 0, kind: str = "", seconds: float = GATE_SECONDS
    ) -> Iterator[Pending]:
        """An array whose last write waits behind a gate on a stream of the library until the block
        ends. `kind` "pinned" or "managed" selects that kind of memory."""
        text = getattr(self.on, kind) if kind else self.text(device)
        array, source = self.eval(text), self.array(device)
        stream, handle = self.stream(device)
        self.write(array, source, stream)  # first use: one-time allocations happen now
        self.driver.use(device)
        self.driver.call("all")
        with self.driver.gate(handle, seconds) as gate:
            self.write(array, source, stream)
            if gate.opened:
                raise NotApplicable("the library's write on a stream waits for the stream")
            yield Pending(array, source, stream, handle, gate)

    def is_ordered(self, pointer: int, stream: int, size: int = SIZE) -> bool:
        """Whether a read of memory that is enqueued on a stream now is ordered after the gated
        work. The simulated drivers detect a race; on a real device the read does not complete."""
        if self.checker is None:
            return self.driver.is_delayed(stream)
        before = len(self.checker.violations("race"))
        self.scratch.append(self.driver.make("memory", size))
        self.driver.copy(self.scratch[-1], pointer, size, stream)
        return len(self.checker.violations("race")) == before

    def follows(self, pending: Pending, export: Any, stream: int) -> bool:
        """Whether a read of an exported array on a stream is ordered after its last write.
        NotApplicable on a real device if the export returned only when the gate opened."""
        if pending.gate.opened and self.checker is None:
            raise NotApplicable(f"the export waited for {GATE_SECONDS:g} s; STRM-03 judges it")
        return self.is_ordered(export.address, stream)

    def calls(self, *words: str) -> list[str]:
        """The driver calls since reset() whose names contain one of `words`; empty on real
        devices."""
        names = [] if self.checker is None else [each["call"] for each in self.checker.trace()]
        return [name for name in names if any(word in name for word in words)]

    def wrong(self, *kinds: str) -> list[str]:
        """Errors of these kinds that the simulated drivers detected."""
        found = [] if self.checker is None else self.checker.violations(*kinds)
        return [f"{each['kind']}: {each.get('message', '')}" for each in found]

    def repro(self, *lines: str) -> str:
        """Lines of Python after the subject's imports."""
        start = "import ctypes, os, fakegpu; fakegpu.load(cuda=2, hip=2); "
        start += f"ctypes.CDLL(os.environ[{self.vendor.variable!r}])"  # for those that ask by name
        load = [] if self.checker is None else [start]
        show = [] if self.checker is None else ["print(*fakegpu.trace(), sep='\\n')"]
        return "\n".join([*load, self.subject.imports, *lines, *show])

    def repro_write(self, *then: str) -> str:
        """The write of `y` to `x` on stream `s` in a repro, and what is done on that stream."""
        use = f"with {self.on.use.format('s')}: " if self.on.use else ""
        return use + "; ".join([self.on.write.format("x", "y", "s"), *then])

    def repro_pending(self, *lines: str, device: int = 0, kind: str = "", then: str = "") -> str:
        """The same for an array `x` whose last write, on stream `s`, may be unfinished; `then` is
        done on that stream."""
        text = self.text(device)
        return self.repro(
            f"x = {getattr(self.on, kind) if kind else text}; y = {text}; "
            f"s = {self.on.stream.format(device)}; t = {self.on.stream.format(device)}",
            self.repro_write(*filter(None, [then])),
            *lines,
        )


_fixtures: dict[tuple[str, str], DeviceFixture | str] = {}


@contextmanager
def on_device(probe: Any, vendor: str) -> Iterator[DeviceFixture]:
    """The subject's fixture without pending work. NotApplicable if the subject or the machine has
    no such devices. Device 0 is current before and after the block."""
    key = (probe.subject.name, vendor)
    if key not in _fixtures:
        try:
            _fixtures[key] = DeviceFixture(probe.subject, probe.namespace, vendor)
        except NotApplicable as reason:
            _fixtures[key] = str(reason)
    fixture = _fixtures[key]
    if isinstance(fixture, str):
        raise NotApplicable(fixture)
    fixture.reset()
    with ExitStack() as stack:
        stack.callback(fixture.driver.use, 0)
        yield fixture
