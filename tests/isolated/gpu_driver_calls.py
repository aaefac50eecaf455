"""Counts the driver calls of exchanges on simulated devices. With VENDOR STREAMS DEVICES it prints
them as JSON; alone, as the table of docs/gpu.md."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fakegpu"))

import fakegpu
from fakegpu.driving import Cuda, Driver, Hip

import refarray as ra
from refarray.conformance import _adversary as adversary

#: Vendor, streams of refarray's that exist, devices.
SETTINGS = {
    "CUDA": ("cuda", 1, 1),
    "50 streams": ("cuda", 50, 1),
    "8 devices": ("cuda", 1, 8),
    "ROCm": ("rocm", 1, 1),
}


class Producer:
    """Device memory of another library."""

    def __init__(self, driver: Driver, kind: int) -> None:
        self.kind, self.memory, self.kept = kind, driver.memory(64), list[Any]()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(self, **keywords: object) -> object:
        tensor = adversary.make(
            device=(self.kind, 0), data=self.memory, shape=(16,), dtype=(2, 32, 1), versioned=True
        )
        self.kept.append(tensor)
        return tensor.capsule()


def steps(driver: Driver, device: str, streams: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is counted, with its name. What stands between two steps is not counted."""
    is_cuda = device.startswith("cuda")
    own, *others = (ra.Stream(device) for _ in range(streams))
    theirs = driver.stream()

    def written() -> list[Any]:
        with ra.use_stream(own):
            return [ra.zeros((16,), device=device)]

    def export(held: list[Any], stream: object) -> Callable[[], object]:
        return lambda: held[0].__dlpack__(stream=stream, max_version=(1, 3))

    def drop(held: list[Any]) -> Callable[[], object]:
        held[0].__dlpack__(stream=-1, max_version=(1, 3))
        return held.clear

    export(written(), theirs)()  # the first use makes streams and events
    drop(written())()
    ra.synchronize(device)
    held = written()
    yield "export to the stream of the work", export(held, own)
    yield "export to a handle, work without an event", export(held, theirs)
    yield "export to a handle, work with an event", export(held, theirs)
    yield "export to the legacy default stream", export(held, None)
    if is_cuda:  # on ROCm a free depends on what has finished
        yield "export to the per-thread default stream", export(held, 2)
        yield "last drop of an exported array", drop(held)
        held = written()
        yield "last drop of another array", held.clear
    producer = Producer(driver, 2 if is_cuda else 10)
    taken: list[Any] = []
    take = lambda: taken.append(ra.from_dlpack(producer))  # noqa: E731
    yield "import, the legacy default stream is current", take
    yield "last drop of an import", taken.clear
    with ra.use_stream(own):
        yield "import, a stream of refarray's is current", take
    if is_cuda:
        yield "last drop of an exported import", drop(taken)
        driver("cuCtxPopCurrent_v2", None)
        held = written()
        yield "export to a handle, no context is current", export(held, theirs)
    del others


def count(vendor: str, streams: int, devices: int) -> dict[str, int]:
    drivers = fakegpu.load(
        cuda=devices if vendor == "cuda" else 0,
        hip=devices if vendor == "rocm" else 0,
        cuda_version=13000,
        hip_version="10.0",
    )
    driver = Cuda(drivers.cuda) if vendor == "cuda" else Hip(drivers.hip)
    found = {}
    for name, step in steps(driver, f"{vendor}:0", streams):
        gc.collect()
        ra.synchronize(f"{vendor}:0")  # so that no free depends on what has finished
        fakegpu.reset()
        kept = step()
        found[name] = len(fakegpu.trace())
        del kept
    return found


def table() -> str:
    """The table of docs/gpu.md."""
    found = {}
    for title, setting in SETTINGS.items():
        command = [sys.executable, __file__, *map(str, setting)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[title] = json.loads(done.stdout)
    lines = [f"| | {' | '.join(found)} |", "| --- |" + " ---: |" * len(found)]
    for name in found["CUDA"]:
        cells = " | ".join(str(each.get(name, "")) for each in found.values())
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:]:
        vendor, streams, devices = sys.argv[1:]
        print(json.dumps(count(vendor, int(streams), int(devices))))
    else:
        print(table(), end="")
