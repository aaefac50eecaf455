#!/usr/bin/env python3
"""Exchange arrays between simulated devices, two CUDA and one ROCm, on different streams.

`make demo-gpu` runs this on any machine. The drivers are simulated; the extension is the released
one and loads them like a vendor's drivers. The simulation records the memory accesses of all
streams and checks that conflicting ones are ordered. The exit status is 1 if an access was
unordered, device memory was leaked, or a value is wrong.
"""

from __future__ import annotations

import gc
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fakegpu"))

import fakegpu

fakegpu.load(cuda=2, hip=1)  # before refarray loads a driver

import refarray as ra  # noqa: E402
from refarray import Stream, use_stream  # noqa: E402

NUMBERS = [[float(10 * i + j) for j in range(4)] for i in range(3)]
SHOWN = ("Memcpy", "Memset", "EventRecord", "WaitEvent", "Synchronize", "AllocFromPool",
         "FreeAsync", "LaunchKernel", "hipMalloc", "hipFree", "CtxRecordEvent")  # fmt: skip


#: Unordered accesses and other errors that the simulation found.
VIOLATIONS: list[dict[str, Any]] = []


def clear_trace() -> None:
    """Clear the recorded calls, but keep the violations."""
    VIOLATIONS.extend(fakegpu.violations())
    fakegpu.reset()


class Consumer:
    """Stands for another library that imports arrays and works on its own stream."""

    def __init__(self, device: str) -> None:
        self.stream = Stream(device)

    def from_dlpack(self, array: ra.Array) -> ra.Array:
        """Request a capsule for the consumer's stream and import it, as every consumer does."""
        capsule = array.__dlpack__(stream=self.stream.handle, max_version=(1, 3))
        with use_stream(self.stream):
            return ra.from_capsule(capsule)


def show(title: str) -> None:
    """Print the recorded driver calls with their device and stream."""
    print(f"\n{title}")
    for record in fakegpu.trace():
        if not any(name in record["call"] for name in SHOWN):
            continue
        fields = {key: record[key] for key in ("device", "stream", "event") if record.get(key)}
        text = "  ".join(f"{key} {value:#x}" if value > 9 else f"{key} {value}"
                         for key, value in fields.items())  # fmt: skip
        print(f"  {record['call']:<26} {text}")


def exchange_on_one_device() -> ra.Array:
    """Delay the producer's work: a consumer that did not wait would read uninitialized memory."""
    producer, consumer = Stream("cuda:0"), Consumer("cuda:0")
    array = ra.asarray(NUMBERS, device="cuda:0")
    clear_trace()
    fakegpu.hold(producer.handle)
    with use_stream(producer):
        copied = array.copy()
    imported = consumer.from_dlpack(copied)
    with use_stream(consumer.stream):
        result = imported.copy()
    show("cuda:0, from one stream to another: the consumer's stream waits for one event")
    fakegpu.run()
    return result


def move_between_devices(array: ra.Array) -> ra.Array:
    """Copy between devices of one vendor, and then to a device of another."""
    clear_trace()
    second = array.to_device("cuda:1")
    third = second.to_device("rocm:0")
    show("cuda:0 to cuda:1 directly, then to rocm:0 through host memory")
    return third


def same_stream(array: ra.Array) -> list[dict[str, Any]]:
    """Return the driver calls of an export to the stream that wrote the array: there are none."""
    stream = ra.current_stream(array.device)
    array.__dlpack__(stream=stream.handle)
    clear_trace()
    array.__dlpack__(stream=stream.handle)
    return fakegpu.trace()


def run_demo() -> bool:
    """Return whether the values are correct and the export on the same stream made no calls."""
    first = exchange_on_one_device()
    last = move_between_devices(first)
    calls = same_stream(last)
    print(f"\nexport to the stream that wrote the array: {len(calls)} driver calls")
    return last.to_device("cpu").tolist() == NUMBERS and not calls


def main() -> int:
    print(__doc__)
    try:
        correct = run_demo()
    except RuntimeError:  # a driver call failed: the violations below tell why
        traceback.print_exc(file=sys.stdout)
        correct = False
    gc.collect()
    for device in ("cuda:0", "cuda:1", "rocm:0"):
        ra.synchronize(device)
    fakegpu.run()
    clear_trace()
    memory = fakegpu.live("memory")
    for violation in VIOLATIONS:
        print(f"violation: {violation['kind']}: {violation['message']}")
    print(f"\nvalues correct: {correct}")
    print(f"unordered accesses: {len(VIOLATIONS)}")
    print(f"leaked device allocations: {len(memory)}")
    return 0 if correct and not VIOLATIONS and not memory else 1


if __name__ == "__main__":
    sys.exit(main())
