#!/usr/bin/env python3
"""Arrays on simulated devices: two of CUDA and one of ROCm exchange them on different streams.

`make demo-gpu` runs this anywhere. The drivers are simulated, the extension is the shipped one: it
opens them as it would open a vendor's, and every access of every stream is held against all others.
The program ends with exit status 1 when anything was not ordered or not given back.
"""

from __future__ import annotations

import gc
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "fakegpu"))

import fakegpu

fakegpu.load(cuda=2, hip=1)  # before refarray opens a driver

import refarray as ra  # noqa: E402
from refarray import Stream, use_stream  # noqa: E402

NUMBERS = [[float(10 * i + j) for j in range(4)] for i in range(3)]
SHOWN = ("Memcpy", "Memset", "EventRecord", "WaitEvent", "Synchronize", "AllocFromPool",
         "FreeAsync", "LaunchKernel", "hipMalloc", "hipFree", "CtxRecordEvent")  # fmt: skip


#: What nothing orders, and what else a driver may punish.
VIOLATIONS: list[dict[str, Any]] = []


def forget() -> None:
    """The calls so far, and not what was found in them."""
    VIOLATIONS.extend(fakegpu.violations())
    fakegpu.reset()


class Consumer:
    """Another library with a stream of its own, which takes arrays by the protocol."""

    def __init__(self, device: str) -> None:
        self.stream = Stream(device)

    def take(self, array: ra.Array) -> ra.Array:
        """What every consumer does: says on which stream it will work, and takes the capsule."""
        capsule = array.__dlpack__(stream=self.stream.handle, max_version=(1, 3))
        with use_stream(self.stream):
            return ra.from_capsule(capsule)


def show(title: str) -> None:
    """The calls since the last time, with the stream and the device that each was made on."""
    print(f"\n{title}")
    for record in fakegpu.trace():
        if not any(word in record["call"] for word in SHOWN):
            continue
        fields = {key: record[key] for key in ("device", "stream", "event") if record.get(key)}
        text = "  ".join(f"{key} {value:#x}" if value > 9 else f"{key} {value}"
                         for key, value in fields.items())  # fmt: skip
        print(f"  {record['call']:<26} {text}")


def exchange_on_one_device() -> ra.Array:
    """The producer's work is held back: whoever did not wait would read nothing."""
    producer, consumer = Stream("cuda:0"), Consumer("cuda:0")
    array = ra.asarray(NUMBERS, device="cuda:0")
    forget()
    fakegpu.hold(producer.handle)
    with use_stream(producer):
        doubled = array.copy()
    taken = consumer.take(doubled)
    with use_stream(consumer.stream):
        result = taken.copy()
    show("cuda:0, one stream to another: one event, and the consumer's stream waits for it")
    fakegpu.run()
    return result


def move_between_devices(array: ra.Array) -> ra.Array:
    forget()
    there = array.to_device("cuda:1")
    across = there.to_device("rocm:0")
    show("cuda:0 to cuda:1 between the devices, and on to rocm:0 through host memory")
    return across


def same_stream(array: ra.Array) -> list[dict[str, Any]]:
    """No driver is called where producer and consumer work on one stream."""
    stream = ra.current_stream(array.device)
    array.__dlpack__(stream=stream.handle)
    forget()
    array.__dlpack__(stream=stream.handle)
    return fakegpu.trace()


def play() -> bool:
    """The whole of it: whether the values are right, and no call was made for nothing."""
    first = exchange_on_one_device()
    last = move_between_devices(first)
    calls = same_stream(last)
    print(f"\nexport on the stream that the array was written on: {len(calls)} driver calls")
    return last.to_device("cpu").tolist() == NUMBERS and not calls


def main() -> int:
    print(__doc__)
    try:
        correct = play()
    except RuntimeError:  # a driver's: what the simulation saw is more telling
        traceback.print_exc(file=sys.stdout)
        correct = False
    gc.collect()
    for device in ("cuda:0", "cuda:1", "rocm:0"):
        ra.synchronize(device)
    fakegpu.run()
    forget()
    memory = fakegpu.live("memory")
    for violation in VIOLATIONS:
        print(f"violation: {violation['kind']}: {violation['message']}")
    print(f"\nvalues correct: {correct}")
    print(f"accesses without an order: {len(VIOLATIONS)}")
    print(f"memory not given back: {len(memory)}")
    return 0 if correct and not VIOLATIONS and not memory else 1


if __name__ == "__main__":
    sys.exit(main())
