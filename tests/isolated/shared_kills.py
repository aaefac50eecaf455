"""Kills processes that send each other shared arrays through pipes: shared_kills.py KILLS.

Each worker has a pipe to this process and one from it. What a worker sends goes on to another one.
Workers fork children that read and check what their parents hold.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.shared_workers import value_of

import refarray.shared as shared

WORKERS = 4
GENERATIONS = 3


def churn(seed: int, generation: int, inbox: Any, outbox: Any, faults: Any) -> None:
    rng = random.Random(seed)
    kept: list[Any] = []
    while True:
        action = rng.random()
        if action < 0.5:
            x = shared.empty(rng.choice((10, 300, 8_000)), "int64")
            x[...] = rng.randrange(10**6)
            outbox.send(x)
            kept.append(x)
        if inbox.poll(0.001):
            kept.append(inbox.recv())
        if action > 0.97 and generation < GENERATIONS and os.fork() == 0:
            for x in kept * 3:  # the child holds what its parent held
                faults.value += value_of(x) < 0
            shared.asarray(kept[0][:1]) if kept else None
            time.sleep(rng.random() / 20)
            os._exit(0)
        while len(kept) > 5:
            faults.value += value_of(kept.pop(rng.randrange(len(kept)))) < 0


class Worker:
    def __init__(self, context: Any, seed: int, faults: Any) -> None:
        self.ours, theirs = context.Pipe()
        back, self.theirs = context.Pipe()
        self.process = context.Process(target=churn, args=(seed, 1, theirs, self.theirs, faults))
        self.process.start()
        self.back = back
        theirs.close()
        self.theirs.close()

    def end(self) -> None:
        if self.process.pid:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()


def main(kills: int) -> None:
    rng = random.Random(35)
    context = multiprocessing.get_context("fork")
    arena = shared.Arena(limit=512 << 20)
    shared.use(arena)
    shared.limits(transit=2000)  # what was sent to workers that were killed
    faults = context.Value("l", 0, lock=False)  # a process that is killed would keep the lock
    workers = [Worker(context, rng.random(), faults) for _ in range(WORKERS)]
    killed = received = refused = 0
    until = time.monotonic()
    while killed < kills:
        for worker in workers:
            try:
                while worker.back.poll():
                    x = worker.back.recv()
                    received += 1
                    faults.value += value_of(x) < 0
                    to = rng.choice(workers)
                    if len(x) < 5_000 or rng.random() < 0.1:
                        to.ours.send(x)
            except (EOFError, BrokenPipeError, ConnectionResetError):
                pass  # it was killed in the middle of a message
            except BufferError as error:
                refused += 1
                print(error)
        if time.monotonic() < until:
            time.sleep(0.001)
            continue
        until = time.monotonic() + rng.random() / 25
        at = rng.randrange(WORKERS)
        pid = workers[at].process.pid or 0
        if rng.random() < 0.3:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(rng.random() / 100)
            os.kill(pid, signal.SIGCONT)
        else:
            workers[at].end()
            killed += 1
            workers[at] = Worker(context, rng.random(), faults)
    for worker in workers:
        worker.end()
    time.sleep(0.2)  # for grandchildren
    del workers, worker, x
    shared.limits(transit=0, orphans=0)  # what nobody will read
    shared.collect()
    usage = arena.usage()
    print(
        f"{killed} killed, {received} received, {faults.value} wrong, {refused} refused; left: "
        f"{usage.held} held, {usage.sent} sent, {usage.processes - 1} processes"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
