"""An exchange between two streams, for ThreadSanitizer: `race.py SCENARIO`. Exits with 3 if the
consumer read other bytes than the producer wrote."""

from __future__ import annotations

import sys
import time

import fakegpu
from fakegpu.driving import Cuda

SIZE = 1 << 16


def exchange(cuda: Cuda, scenario: str) -> bytes:
    """The bytes the consumer read. The producer always finishes long before it starts."""
    producer, consumer = cuda.stream(), cuda.stream()
    memory, got = cuda.pooled(producer, SIZE), cuda.memory(SIZE)
    event = cuda.event()
    cuda.fill(memory, producer, 7, SIZE)
    time.sleep(0.05)
    cuda.record(event, producer)
    if scenario != "missing-wait":
        cuda.wait(consumer, event)
    cuda.copy(got, memory, consumer, SIZE)
    time.sleep(0.05)
    if scenario == "ordered":
        cuda.after(producer, consumer)
    if scenario != "missing-wait":
        cuda("cuMemFreeAsync", memory, producer)
    cuda("cuCtxSynchronize")
    return fakegpu.peek(got, SIZE)


if __name__ == "__main__":
    got = exchange(Cuda(fakegpu.load().cuda), sys.argv[1])
    sys.exit(0 if got == b"\7" * SIZE else 3)
