"""Simulated drivers, in processes of their own: each file of simulated/ on several versions, what
needs a fresh process, and driver calls that fail."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakegpu import PERSONALITIES as DRIVERS
from helpers.processes import printed, python, python_path

pytestmark = [pytest.mark.not_repeated, pytest.mark.usefixtures("simulated_drivers")]

HERE = Path(__file__).resolve().parents[1] / "devices" / "simulated"
FILES = sorted(path.name for path in HERE.glob("sim_*.py"))


def pairs() -> Iterator[Any]:
    """Every file with every driver version. `make test` runs each file with the strictest driver,
    and every third file with another one, in rotation; `make gate G=test-long` runs all."""
    *versions, strictest = DRIVERS
    for number, file in enumerate(FILES):
        short = {strictest} if number % 3 else {strictest, versions[number // 3 % len(versions)]}
        for name in DRIVERS:
            marks = [] if name in short else [pytest.mark.long]
            yield pytest.param(file, name, marks=marks, id=f"{file}-{name}")


@pytest.mark.parametrize(("file", "drivers"), list(pairs()))
def test_simulated(file: str, drivers: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "faulthandler_timeout=200"]
    options += ["-o", "faulthandler_exit_on_timeout=true"]
    settings = json.dumps(DRIVERS[drivers])
    done = python("-m", "pytest", *options, HERE / file, seconds=300, SIMULATED_DRIVERS=settings)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_device_reset_by_another_library(isolated: Any) -> None:
    assert isolated("gpu_dead_context.py", leaks=True) == "alive\n"


@pytest.mark.parametrize("way", ["handle", "protocol", "interface", "table", "producer"])
def test_a_capture_in_a_stream_of_ours_that_others_know(isolated: Any, way: str) -> None:
    assert isolated("gpu_known_streams.py", way, leaks=True) == "1\n"


ALLOCATES = """
import fakegpu
fakegpu.load()
import refarray as ra
try:
    ra.zeros(3, device="cuda:0")
except BufferError as error:
    print(error)
print({r["call"] for r in fakegpu.trace()} & {"cuMemAlloc", "cuMemAllocFromPoolAsync"})
"""


def printed_by(code: str, **variables: str) -> str:
    """The output of Python code that uses the simulated drivers."""
    path = python_path(HERE.parents[2] / "fakegpu", HERE)
    return printed(code, **variables, PYTHONPATH=path)


@pytest.mark.parametrize(
    ("chosen", "printed"),
    [
        ("", "{'cuMemAllocFromPoolAsync'}"),
        ("pool", "{'cuMemAllocFromPoolAsync'}"),
        ("plain", "{'cuMemAlloc'}"),
        ("Plain", "REFARRAY_CUDA_ALLOCATOR is 'Plain'; it must be pool or plain"),
    ],
)
def test_the_environment_chooses_the_allocator(chosen: str, printed: str) -> None:
    """cuMemAlloc is for memory that other processes open by cudaIpcGetMemHandle."""
    assert printed in printed_by(ALLOCATES, REFARRAY_CUDA_ALLOCATOR=chosen)


EXPORTS_5_MIB = """
import fakegpu
fakegpu.load(cuda=1, hip=0, cuda_version=VERSION, device_bytes=MIB << 20)
import refarray as ra
ra.zeros((5 << 20,), dtype="uint8", device="cuda_host").__dlpack__(stream=-1)
fakegpu.reset()
ra.zeros(3, device="cuda_host")
print(len(fakegpu.trace("cuCtxSynchronize")), len(fakegpu.trace("cuCtxRecordEvent")))
"""


@pytest.mark.parametrize(
    ("version", "mib", "shown"),
    [(12000, 64, "1 0\n"), (12080, 64, "0 1\n"), (12000, 1024, "0 0\n"), (12080, 1024, "0 0\n")],
)
def test_limits_of_deferred_frees_grow_with_the_memory(version: int, mib: int, shown: str) -> None:
    assert printed_by(f"VERSION, MIB = {version}, {mib}\n{EXPORTS_5_MIB}") == shown


USES_DEVICE_0 = """
import fakegpu
fakegpu.load(concurrent_managed=False)
import refarray as ra
array = ra.zeros((64,), device="cuda_managed:0")
array.__dlpack__(stream=None)
assert array.tolist() == [0.0] * 64
print([item["device"] for item in fakegpu.live("context")])
"""


def test_a_device_that_nobody_uses_is_not_initialised() -> None:
    """The host may not use managed memory while a kernel runs on any device. On one that is not
    initialised none can: to ask it would take seconds and hundreds of MB."""
    assert printed_by(USES_DEVICE_0) == "[0]\n"


FORKS = """
import gc, os, sys
import fakegpu
from fakegpu.driving import Cuda
fakegpu.load()
import refarray as ra
stream = ra.Stream("cuda:0")
deferred, kept = (ra.zeros((64,), device="cuda_host") for _ in range(2))
source = ra.ones((64,), device="cuda:0")
ra.synchronize("cuda:0")
fakegpu.hold(stream.handle)
with ra.use_stream(stream):
    deferred[...] = source
del deferred
fakegpu.run()
stream.synchronize()
before = len(fakegpu.live("memory"))
sys.stdout.flush()
if os.fork() == 0:
    del kept
    gc.collect()
    os.write(1, f"{fakegpu.calls_after_fork()} calls in the child\\n".encode())
    os._exit(0)
assert os.wait()[1] == 0
kept = None
ra.synchronize("cuda:0")
print(before - len(fakegpu.live("memory")), "freed here")
"""


def test_deferred_frees_stay_with_the_parent_of_a_fork() -> None:
    """The driver does not work in the child, which drops an array too."""
    assert printed_by(FORKS) == "0 calls in the child\n2 freed here\n"


GREEN = """
import ctypes, threading
import fakegpu
fakegpu.load(cuda=1, cuda_version=VERSION)
from capturing import driver_of
import refarray as ra
driver = driver_of("cuda:0")
resource = (ctypes.c_int * 64)()
driver("cuDeviceGetDevResource", 0, resource, 1)
description = driver.made("cuDevResourceGenerateDesc", resource, 1)
green = driver.made("cuGreenCtxCreate", description, 0, 1)
context = driver.made("cuCtxFromGreenCtx", green)
ready, done = threading.Event(), threading.Event()
made = []
def use():
    driver("cuCtxPushCurrent_v2", context)
    made.append(driver.stream())
    ready.set()
    done.wait(60)
thread = threading.Thread(target=use)
thread.start()
ready.wait(60)
before = len(fakegpu.live("memory"))
for _ in range(70):
    ra.empty((3,), device="cuda:0").__dlpack__(stream=made[0])
with ra.use_stream(ra.Stream("cuda:0", made[0])):
    ra.ones((3,), device="cuda:0").copy()
ra.synchronize("cuda:0")
done.set()
thread.join()
print(len(fakegpu.live("memory")) - before, fakegpu.violations())
"""


@pytest.mark.parametrize("version", [12040, 12050, 13000])
def test_a_green_context_that_another_thread_uses(version: int) -> None:
    """CUDA 12.4 tells of a stream's green context, but not of the primary one around it."""
    assert printed_by(f"VERSION = {version}\n{GREEN}") == "0 []\n"


PER_THREAD = """
import threading
import fakegpu
fakegpu.load(cuda=1)
from capturing import MODES, Capture, driver_of
import refarray as ra
source, target = (ra.full((64,), n, dtype="uint8", device="cuda:0") for n in (1, 0))
ra.synchronize("cuda:0")
captured, done, shared = threading.Event(), threading.Event(), []
def capture_there():
    driver = driver_of("cuda:0")
    capture = Capture(driver, 2, MODES["relaxed"])
    with ra.use_stream(ra.Stream("cuda:0", 2)):
        target[...] = source
    other = driver.stream()
    driver.after(other, 2)
    shared.append(other)
    captured.set()
    done.wait(60)
    driver.after(2, other)
    capture.end()
thread = threading.Thread(target=capture_there)
thread.start()
captured.wait(60)
fakegpu.reset()
with ra.use_stream(ra.Stream("cuda:0", shared[0])):
    source[...] = target
waits = [r["stream"] for r in fakegpu.trace() if "WaitEvent" in r["call"]]
print(shared[0] in waits, end=" ")
done.set()
thread.join()
print(target.tolist() == [0] * 64, fakegpu.violations())
"""


def test_a_capture_of_another_threads_default_stream() -> None:
    """The same handle is another stream here, which does not capture: it cannot be asked."""
    assert printed_by(PER_THREAD) == "True True []\n"


EXITS = """
import atexit
import fakegpu
fakegpu.load()
from capturing import MODES, Capture, driver_of
import refarray as ra
from refarray.conformance import _adversary as adversary
stream, target = ra.Stream(DEVICE), ra.zeros((64,), dtype="uint8", device=DEVICE)
calls = []
atexit.register(lambda: print(len(calls), "after,", capture.state() == 1))
def tensor():
    driver = driver_of(DEVICE)
    return adversary.make(device=target.device.dlpack, data=driver.memory(64), shape=(64,),
                          dtype=(1, 8, 1), deleter=lambda: calls.append(1))
tensors = [tensor(), tensor()]
arrays = [ra.from_dlpack(one) for one in tensors]
with ra.use_stream(ra.Stream(DEVICE)):
    copied = arrays[0].copy()
ra.synchronize(DEVICE)
capture = Capture(driver_of(DEVICE), stream.handle, MODES["relaxed"])
with ra.use_stream(stream):
    target[...] = arrays[1]
arrays.clear()
print(len(calls), "before,", end=" ", flush=True)
"""


@pytest.mark.parametrize("device", ["cuda:0", "rocm:0"])
def test_exit_during_a_capture(device: str) -> None:
    """The deleter of a tensor that the graph reads is not called, only that of another one: the
    memory must stay."""
    printed = printed_by(f"DEVICE = {device!r}\n{EXITS}")
    assert printed == "1 before, 1 after, True\n"


# Fault injection: each driver call of a scenario fails once, with the right exception and no leak.
# `make test` fails only a scenario's first call of each driver function.

SWEEP = HERE.parent / "driver" / "sweep_faults.py"
FAULTS = re.findall(r"^@scenario\ndef (\w+)", SWEEP.read_text(encoding="utf-8"), re.MULTILINE)


def sweep(*arguments: str) -> tuple[int, int]:
    """How many calls sweep_faults.py made and let fail; it must find no problem."""
    done = python(SWEEP, *arguments, seconds=900)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    counts = re.search(r"(\d+) calls, (\d+) of them failed once", done.stdout)
    assert counts is not None
    return int(counts[1]), int(counts[2])


@pytest.mark.not_sanitized("it forks hundreds of processes")
@pytest.mark.parametrize("scenario", FAULTS)
def test_the_first_call_of_each_function_fails(scenario: str) -> None:
    calls, failed = sweep(scenario, "--first")
    assert 5 < failed < calls


@pytest.mark.long
@pytest.mark.not_sanitized("it forks hundreds of processes")
@pytest.mark.parametrize("scenario", FAULTS)
def test_every_call_fails(scenario: str) -> None:
    calls, failed = sweep(scenario)
    assert failed == calls
