"""Fault injection: `sweep_faults.py NAME` repeats a scenario in forked processes, in each of which
another driver call returns an error, and prints the problems. With `--first` only the first call of
each driver function fails."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "fakegpu"))

import fakegpu

import refarray as ra

UNKNOWN, OUT_OF_MEMORY, ILLEGAL_ADDRESS = 999, 2, 700
#: The exceptions that a failing driver call may raise.
ALLOWED = (ra.DriverError, MemoryError, BufferError)
DEVICES = ("cuda:0", "cuda:1", "rocm:0")
SIZE = 1000
ROUNDS = 4
#: Calls without faults and not counted: they are made to describe a failure.
UNCOUNTED = {"cuGetErrorName", "cuGetErrorString"}
MOST_CALLS = 400  # of one scenario, to limit the duration of the sweep

Scenario = Callable[[], object]
SCENARIOS: dict[str, Scenario] = {}
COLD: set[str] = set()  # scenarios that open the drivers, so that no warm-up may do it before


def scenario(body: Scenario) -> Scenario:
    SCENARIOS[body.__name__] = body
    return body


@scenario
def open_both() -> None:
    for device in ("cuda:1", "rocm:0"):
        ra.asarray([1, 2, 3], device=device).to_device("cpu")


COLD.add("open_both")


@scenario
def there_and_back() -> None:
    for device in DEVICES:
        array = ra.asarray(list(range(SIZE)), device=device)
        assert array.to_device("cpu").tolist() == list(range(SIZE))


@scenario
def strided_there_and_back() -> None:
    host = ra.asarray([[10 * i + j for j in range(10)] for i in range(10)])
    for device in DEVICES:
        array = host.T[::2].to_device(device)
        assert array[:, ::-3].to_device("cpu").tolist() == host.T[::2][:, ::-3].tolist()


@scenario
def kernels() -> None:
    for device in ("cuda:0", "rocm:0"):
        array = ra.full((40, 30), 7, dtype="int32", device=device)
        turned = array.T.copy().astype("float16")
        turned[::2] = 1
        assert turned.to_device("cpu")[0, 0].item() == 1


@scenario
def between_devices() -> None:
    array = ra.asarray(list(range(SIZE)), device="cuda:0")
    for device in ("cuda:1", "rocm:0", "cuda:0"):
        array = array.to_device(device)
    assert array.to_device("cpu").tolist() == list(range(SIZE))


@scenario
def host_memory() -> None:
    for device in ("cuda_host", "cuda_managed:0", "rocm_host"):
        array = ra.asarray(list(range(SIZE)), device=device)
        there = array.to_device("cuda:0")
        assert there.to_device(device).to_device("cpu").tolist() == list(range(SIZE))


@scenario
def export_to_another_stream() -> None:
    for device in DEVICES:
        producer, consumer = ra.Stream(device), ra.Stream(device)
        with ra.use_stream(producer):
            array = ra.zeros((SIZE,), device=device)
        capsule = array.__dlpack__(stream=consumer, max_version=(1, 3))
        del array
        with ra.use_stream(consumer):
            taken = ra.from_capsule(capsule)
            assert taken.to_device("cpu").tolist() == [0.0] * SIZE


@scenario
def export_a_copy() -> None:
    for device in DEVICES:
        consumer = ra.Stream(device)
        array = ra.ones((SIZE,), device=device)
        capsules = [array.__dlpack__(stream=consumer, copy=True, max_version=(1, 3))]
        capsules.append(array.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))
        assert [ra.from_capsule(each).device.kind for each in capsules][1] == "cpu"


class Foreign:
    """A producer whose arrays are refarray's, but whose type is not."""

    def __init__(self, device: str) -> None:
        self.array = ra.zeros((SIZE,), device=device)

    def __dlpack__(self, **keywords: Any) -> object:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@scenario
def import_from_others() -> None:
    for device in (*DEVICES, "cuda_host", "cuda_managed:0"):
        taken = ra.from_dlpack(Foreign(device))
        taken[0] = 5
        assert taken.to_device("cpu")[0].item() == 5


@scenario
def streams_and_events() -> None:
    for device in DEVICES:
        stream, other = ra.Stream(device), ra.Stream(device)
        start, end = ra.Event(device, timing=True), ra.Event(device, timing=True)
        start.record(stream)
        with ra.use_stream(stream):
            ra.zeros((SIZE,), device=device)
        end.record(stream)
        other.wait(end)
        stream.synchronize()
        other.synchronize()
        assert stream.done and end.done
        assert start.elapsed_ms(end) >= 0
        ra.synchronize(device)


def release_all() -> None:
    """Completes the work and the deferred releases of all devices that are usable."""
    gc.collect()
    fakegpu.run()
    for device in DEVICES:
        try:
            ra.synchronize(device)
        except ALLOWED:
            continue  # the device was never opened, or the driver is in an error state
    fakegpu.run()


def left() -> Counter[str]:
    """Counts of live memory blocks, streams and events by vendor."""
    items = (item for item in fakegpu.live() if item["what"] in {"memory", "stream", "event"})
    return Counter(f"{item['what']} on {item.get('vendor')}" for item in items)


def lost(before: Counter[str]) -> list[str]:
    """Leaks: objects of which each round left one or more. Fewer are pooled objects."""
    now = left()
    return [
        f"{now[what] - before[what]} more {what} after {ROUNDS} rounds"
        for what in now
        if now[what] - before[what] >= ROUNDS
    ]


def play(name: str, k: int, code: int) -> dict[str, Any]:
    """Runs the scenario with its k-th call failing (k = 0: none). Call it in a forked process."""
    fakegpu.load(cuda=2, hip=1)
    if name not in COLD:
        SCENARIOS["open_both"]()
        SCENARIOS[name]()  # warm-up: makes the objects that are made once
        release_all()
    fakegpu.reset()
    before, calls, failed, problems = left(), 0, "", []
    names: list[str] = []
    # Repeated if the device survives the error, to tell leaks from pooled objects.
    for _ in range(ROUNDS if code == UNKNOWN else 1):
        if k:
            fakegpu.fail("*", k, code)
        with contextlib.suppress(*ALLOWED):
            SCENARIOS[name]()
        calls = fakegpu.calls()
        names = [record["call"] for record in fakegpu.trace() if record["call"] not in UNCOUNTED]
        failed = next((record["call"] for record in fakegpu.trace() if record.get("injected")), "")
        release_all()
        problems += [f"{found['kind']}: {found['message']}" for found in fakegpu.violations()]
        fakegpu.reset()
    if code == UNKNOWN:
        problems += lost(before)
    return {"calls": calls, "names": names, "failed": failed, "problems": problems}


def forked(name: str, k: int, code: int) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            result = play(name, k, code)
        except BaseException:
            result = {"problems": [traceback.format_exc()], "failed": "", "calls": 0}
        os.write(writing, json.dumps(result).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        output = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not output:
        return {"problems": [f"the process ended with {status}"], "failed": "", "calls": 0}
    return dict(json.loads(output))


def codes_for(call: str) -> tuple[int, ...]:
    allocates = "Alloc" in call or "Malloc" in call
    return (UNKNOWN, ILLEGAL_ADDRESS, OUT_OF_MEMORY) if allocates else (UNKNOWN, ILLEGAL_ADDRESS)


def first_of_each(names: list[str]) -> list[int]:
    """The numbers, from 1, of each function's first call."""
    return sorted(names.index(name) + 1 for name in set(names))


def sweep(name: str, only_first: bool) -> Iterator[tuple[str, str]]:
    """Yields (call, problem) for each problem found."""
    plain = forked(name, 0, 0)
    for problem in plain["problems"]:
        yield "without a fault", problem
    calls = plain.get("calls", 0)
    if not 0 < calls <= MOST_CALLS:
        yield "without a fault", f"{calls} calls"
        return
    numbers = first_of_each(plain["names"]) if only_first else range(1, calls + 1)
    print(f"{name}: {calls} calls, {len(numbers)} of them failed once", flush=True)
    for k in numbers:
        for code in codes_for(plain["names"][k - 1]):
            result = forked(name, k, code)
            where = f"call {k} ({result['failed']}) with {code}"
            for problem in result["problems"]:
                yield where, problem


def main(arguments: list[str]) -> int:
    found = 0
    names = [name for name in arguments if name != "--first"]
    for name in names or list(SCENARIOS):
        for where, problem in sweep(name, "--first" in arguments):
            found += 1
            print(f"{name}, {where}: {problem}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
