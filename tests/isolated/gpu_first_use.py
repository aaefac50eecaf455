"""First use of the drivers in a process, as `gpu_first_use.py ENTRY`; prints "alive".

Loading a driver may take seconds, during which other threads must be able to run. The entries
"lookup_…" import memory of device 1, the only one in use: initialising device 0 as well would take
seconds and hundreds of MB. The others are a device's first kernels and its memory pool."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fakegpu"))

import fakegpu
from fakegpu.driving import Cuda, Driver, Hip, Number

import refarray as ra
from refarray.conformance import _adversary as adversary

DEVICE = "cuda:1"


def theirs(device: tuple[int, int] = (2, 1), **fields: Any) -> Any:
    """A tensor of another library, which has initialised the driver before refarray."""
    cuda = Cuda(fakegpu.Drivers.here().cuda)
    cuda.use(1)
    data = cuda.pinned(64) if device[0] == 3 else cuda.memory(64)
    return adversary.make(device=device, data=data, shape=(3,), dtype=(2, 64, 1), **fields)


class Exporter:
    """Another library's array on device 1."""

    def __init__(self, data: int) -> None:
        self.data = data

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        fields = {"shape": (3,), "typestr": "<f8", "version": 3, "data": (self.data, False)}
        return {**fields, "strides": None, "stream": None}


def interface() -> Exporter:
    return Exporter(Cuda(fakegpu.Drivers.here().cuda).memory(64))


def after(make: Callable[[], Any], use: Callable[[Any], object]) -> Callable[[], object]:
    """Run `make`, the other library's part, first, and drop it from the trace."""
    made = make()
    fakegpu.reset()
    return lambda: use(made)


ENTRIES: dict[str, Callable[[], Callable[[], object]]] = {
    "zeros": lambda: lambda: ra.zeros((3,), device=DEVICE),
    "asarray": lambda: lambda: ra.asarray([1], device=DEVICE),
    "pinned": lambda: lambda: ra.zeros((3,), device="cuda_host"),
    "stream": lambda: lambda: ra.Stream(DEVICE),
    "stream_of_others": lambda: after(
        lambda: Cuda(fakegpu.Drivers.here().cuda).stream(), lambda s: ra.Stream("cuda:0", s)
    ),
    "event": lambda: lambda: ra.Event(DEVICE),
    "current_stream": lambda: lambda: ra.current_stream(DEVICE),
    "synchronize": lambda: lambda: ra.synchronize(DEVICE),
    "doctor": lambda: ra._native._probe_drivers,
    "to_device": lambda: after(lambda: ra.zeros(3), lambda x: x.to_device(DEVICE)),
    "to_device_on": lambda: after(lambda: ra.zeros(3), lambda x: x.to_device(DEVICE, stream=1)),
    "export": lambda: after(
        lambda: ra.zeros(3), lambda x: x.__dlpack__(dl_device=(2, 1), max_version=(1, 3))
    ),
    "export_pinned": lambda: after(
        lambda: ra.zeros(3), lambda x: x.__dlpack__(dl_device=(3, 0), max_version=(1, 3))
    ),
    "export_a_copy": lambda: after(
        lambda: ra.from_dlpack(theirs((3, 0))), lambda x: x.__dlpack__(copy=True)
    ),
    "from_dlpack": lambda: after(theirs, ra.from_dlpack),
    "from_dlpack_to": lambda: after(
        lambda: ra.zeros(3), lambda x: ra.from_dlpack(x, device=DEVICE)
    ),
    "from_capsule": lambda: after(theirs, lambda x: ra.from_capsule(x.capsule())),
    "from_interface": lambda: after(interface, ra.asarray),
    "to_py": lambda: after(theirs, lambda x: adversary.api(ra.Array).to_py(x)),
    "work_stream": lambda: after(lambda: adversary.api(ra.Array), lambda table: table.stream(2, 1)),
}


def look_up(case: str) -> None:
    """Imports pinned memory, or memory that only the driver knows the device of."""
    cuda = Driver(fakegpu.Drivers.here().cuda)
    cuda("cuInit", 0)
    cuda("cuCtxPushCurrent_v2", cuda.made("cuDevicePrimaryCtxRetain", 1))
    if case == "lookup_pinned":
        ra.zeros((3,), device=DEVICE)  # loads the driver: from now on pinned memory is checked
        data = cuda.made("cuMemHostAlloc", 24, 1)
        tensor = adversary.make(device=(3, 0), data=data, shape=(3,), dtype=(2, 64, 1))
        assert str(ra.from_dlpack(tensor).device) == "cuda_host"
    else:
        data = cuda.made("cuMemAlloc_v2", 24)
        assert str(ra.asarray(Exporter(data)).device) == DEVICE
    assert [item["device"] for item in fakegpu.live("context")] == [1], fakegpu.live("context")
    assert fakegpu.violations() == []


def first_kernels() -> None:
    """Another library captures a graph in global mode, in which loading a module is not allowed to
    a thread that has not relaxed its own mode. The module is loaded once."""
    files = fakegpu.Drivers.here()
    for driver, begin, device in (
        (Cuda(files.cuda), "cuStreamBeginCapture_v2", "cuda:0"),
        (Hip(files.hip), "hipStreamBeginCapture", "rocm:0"),
    ):
        array = ra.asarray([1.0, 2.0, 3.0, 4.0], device=device)
        with ra.use_stream(ra.Stream(device)):
            stream = driver.stream()
            driver(begin, stream, 0)
            copies = [array[::-1].copy() for _ in range(3)]
            state = ctypes.c_int()
            driver(f"{driver.prefix}StreamIsCapturing", stream, state)
            assert state.value == 1, "the capture was invalidated"
            driver(f"{driver.prefix}StreamEndCapture", stream, Number())
            copies += [array[::-1].copy() for _ in range(3)]
            assert [copied.to_device("cpu").tolist() for copied in copies] == [[4, 3, 2, 1]] * 6
        assert len(fakegpu.trace(f"{driver.prefix}ModuleLoadData")) == 1, device
    assert fakegpu.violations() == []


def first_pool(peers: bool) -> None:
    """The device's pool keeps the memory that is freed. Access is granted to the devices that can
    have it: for others the driver reports an error, which tools such as compute-sanitizer show."""
    ra.zeros((3,), device=DEVICE)
    (created,) = fakegpu.trace("cuMemPoolCreate")
    cuda, kept = Cuda(fakegpu.Drivers.here().cuda), Number()
    cuda("cuMemPoolGetAttribute", created["pool"], 4, kept)  # the release threshold
    assert kept.value == 2**64 - 1, kept
    assert len(fakegpu.trace("cuMemPoolSetAccess")) == peers
    assert [call for call in fakegpu.trace() if call.get("result")] == []


def all_at_once() -> None:
    """Every entry in its own thread, while other threads compete for the GIL."""
    sys.setswitchinterval(1e-6)
    bodies = [make() for make in ENTRIES.values()]
    start, done = threading.Barrier(len(bodies) + 2), threading.Event()
    failed: list[BaseException] = []

    def spin() -> None:
        start.wait()
        while not done.is_set():
            sum(range(1000))

    def run(body: Callable[[], object]) -> None:
        start.wait()
        try:
            body()
        except BaseException as error:
            failed.append(error)

    spinners = [threading.Thread(target=spin) for _ in range(2)]
    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    for thread in spinners + threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "deadlock"
    done.set()
    assert failed == [], failed


def main(name: str) -> None:
    fakegpu.load(cuda=2, hip=1, peers=name != "pool_without_peers")
    if name == "all_at_once":
        all_at_once()
    elif name.startswith("lookup_"):
        look_up(name)
    elif name == "kernels":
        first_kernels()
    elif name.startswith("pool"):
        first_pool(name == "pool")
    else:
        kept = ENTRIES[name]()()
        assert fakegpu.trace("cuInit"), "the driver was not loaded"
        del kept
    assert fakegpu.violations("gil-held") == []
    print("alive")


main(sys.argv[1])
