"""Holds many shared arrays at once that went through a queue: shared_soak.py COUNT."""

from __future__ import annotations

import multiprocessing
import resource
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import refarray.shared as shared


def hold(queue: Any, count: int, answer: Any) -> None:
    held = [queue.get() for _ in range(count)]
    wrong = sum(int(x[0]) != i for i, x in enumerate(held))
    answer.put(wrong)


def main(count: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    context = multiprocessing.get_context("spawn")
    queue, answer = context.Queue(), context.Queue()
    arena = shared.Arena(limit=1 << 30)
    shared.use(arena)
    process = context.Process(target=hold, args=(queue, count, answer))
    process.start()
    held = []
    for i in range(count):
        x = shared.empty(4, "int64")
        x[...] = i
        queue.put(x)
        held.append(x)
    wrong = answer.get()
    process.join()
    del held, x
    shared.collect()
    usage = arena.usage()
    print(f"{count} arrays, {wrong} wrong, {usage.held} held, {usage.sent} sent")


if __name__ == "__main__":
    main(int(sys.argv[1]))
