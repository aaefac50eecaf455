"""F: arrays that go to another process, beside `multiprocessing.shared_memory` and PyTorch; wall
time, medians of rounds in which each contender takes its turn."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import pickle
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.reduction import ForkingPickler
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from .environment import Environment
from .measure import OURS, Case, Target, is_wanted

ROUNDS = 300
PROCESSES = 9  # of F2
BATCH = 32  # arrays that are sent and attached one after the other, in F1 and F4
ELEMENTS = 12_500_000  # float64: 100 MB
SEGMENT, TENSOR, INT = "SharedMemory", "torch", "an int"
#: Each row: what is measured, and its limit in microseconds.
CASES = {
    "F1": ("attach in an arena that is open", 5),
    "F2": ("attach first, in a new process", 200),
    "F3": ("100 MB there and back, above an int", 60),
    "F4": ("send, without the pipe", None),
}
Rounds = dict[str, list[float]]
Make = Callable[[], object]


def cases() -> Iterator[Case]:
    for id_, (title, limit) in CASES.items():
        yield Case(id_, title, () if limit is None else (Target(limit),), (), "us")


def opened(message: bytes) -> object:
    """What a receiver does with a message; a segment is sent by its name."""
    found = pickle.loads(message)
    return SharedMemory(found) if isinstance(found, str) else found


def timed(function: Callable[[Any], object], batch: list[Any]) -> tuple[list[Any], float]:
    """The results of a function, and the microseconds of one call."""
    start = time.perf_counter_ns()
    found = [function(each) for each in batch]
    return found, (time.perf_counter_ns() - start) / 1e3 / len(batch)


def answer_times(connection: Any, modules: list[str]) -> None:
    """The other process of F1 and F2: the microseconds that it takes to open each of some messages.
    It keeps the last objects of each kind, and so the arena."""
    for name in modules:
        importlib.import_module(name)
    connection.send(None)
    kept = {}
    with contextlib.suppress(EOFError):
        while True:
            kind, messages = connection.recv()
            found, passed = timed(opened, messages)
            kept[kind] = found
            connection.send(passed)


def answer(requests: Any, answers: Any) -> None:
    """The other process of F3: opens each message and sends it back, until None comes."""
    while (found := requests.get()) is not None:
        if isinstance(found, str):
            SharedMemory(found).close()
        answers.put(found)


class Contenders:
    """What each library sends, made anew for each round."""

    def __init__(self, environment: Environment) -> None:
        import refarray.shared

        self.shared = refarray.shared
        self.torch = environment.partners.get("torch")
        self.segments: list[SharedMemory] = []

    def segment(self, nbytes: int) -> str:
        self.segments.append(SharedMemory(create=True, size=nbytes))
        return self.segments[-1].name

    def of(self, count: int) -> dict[str, Make]:
        made: dict[str, Make] = {
            OURS: lambda: self.shared.zeros(count),
            SEGMENT: lambda: self.segment(8 * count),
        }
        if self.torch is not None:
            made[TENSOR] = lambda: self.torch.zeros(count, dtype=self.torch.float64).share_memory_()
        return made

    def close(self) -> None:
        for each in self.segments:
            each.close()
            each.unlink()


def medians(rounds: Rounds) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in rounds.items()}


def rotated(names: Iterable[str], number: int) -> list[str]:
    found = list(names)
    shift = number % len(found)
    return found[shift:] + found[:shift]


def take_turns(makes: dict[str, Make], count: int, measure: Callable[[str, Make], float]) -> Rounds:
    """Microseconds of each contender, which rotate, without those of the first rounds."""
    rounds: Rounds = {name: [] for name in makes}
    for number in range(-5, count):
        for name in rotated(makes, number):
            passed = measure(name, makes[name])
            if number >= 0:
                rounds[name].append(passed)
    return rounds


class Receiver:
    """A new process, which has imported what it needs and opens what it is sent."""

    def __init__(self, contenders: Contenders, context: Any) -> None:
        self.connection, theirs = context.Pipe()
        modules = ["refarray.shared"] + ["torch.multiprocessing"] * (contenders.torch is not None)
        self.process = context.Process(target=answer_times, args=(theirs, modules))
        self.process.start()
        theirs.close()
        self.connection.recv()
        self.sent: Rounds = {}

    def measure(self, name: str, make: Make, count: int = BATCH) -> float:
        """Microseconds until it has opened an array; those of sending one are in `sent`."""
        messages, passed = timed(ForkingPickler.dumps, batch := [make() for _ in range(count)])
        self.sent.setdefault(name, []).append(passed)
        self.connection.send((name, list(map(bytes, messages))))
        found: float = self.connection.recv()
        batch.clear()
        return found

    def close(self) -> None:
        self.connection.close()
        self.process.join()


def attached(contenders: Contenders, context: Any) -> Iterator[tuple[str, dict[str, float]]]:
    makes = contenders.of(1000)
    receiver = Receiver(contenders, context)
    yield "F1", medians(take_turns(makes, ROUNDS, receiver.measure))
    yield "F4", medians(receiver.sent)
    receiver.close()
    rounds: Rounds = {}
    for number in range(PROCESSES):
        receiver = Receiver(contenders, context)
        for name in rotated(makes, number):
            rounds.setdefault(name, []).append(receiver.measure(name, makes[name], 1))
        receiver.close()
    yield "F2", medians(rounds)


def returned(contenders: Contenders, context: Any) -> Iterator[tuple[str, dict[str, float]]]:
    """F3: the time above that of an int in the same round."""
    requests, answers = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=answer, args=(requests, answers))
    process.start()

    def measure(_: str, make: Make) -> float:
        x = make()
        start = time.perf_counter_ns()
        requests.put(x)
        answers.get()
        return (time.perf_counter_ns() - start) / 1e3

    kept = {name: make() for name, make in contenders.of(ELEMENTS).items()}
    kept[INT] = 1
    rounds = take_turns({name: lambda x=x: x for name, x in kept.items()}, ROUNDS, measure)
    requests.put(None)
    process.join()
    ints = rounds.pop(INT)
    above = {
        name: [x - i for x, i in zip(of, ints, strict=True)] for name, of in rounds.items()
    }  # fmt: skip
    yield "F3", {**medians(above), INT: statistics.median(ints)}


def measured(
    environment: Environment, wanted: list[str]
) -> Iterator[tuple[str, dict[str, float]]]:  # fmt: skip
    """Yields the figures of the wanted rows, in microseconds."""
    context = multiprocessing.get_context("spawn")
    for ids, measure in ((("F1", "F2", "F4"), attached), (("F3",), returned)):
        if not any(is_wanted(id_, wanted) for id_ in ids):
            continue
        contenders = Contenders(environment)
        try:
            yield from measure(contenders, context)
        finally:
            contenders.close()
