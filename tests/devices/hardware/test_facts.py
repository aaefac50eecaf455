"""What a CUDA driver does where the documentation leaves it open or the simulated driver chose: one
table for both, so that a difference shows. Expected is what driver 580.159.04 (CUDA 13.0) did on an
H100. Calls with the handle of a destroyed stream crash there, and are left out."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from fakegpu.driving import NON_BLOCKING, Cuda, Number

pytestmark = [pytest.mark.hardware, pytest.mark.needs("driver")]
LEGACY, BLOCKING = 1, 0
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
VALID, UNSUPPORTED, IMPLICIT, CAPTURED = (0, 1), (900, 2), (906, 2), (907, 2)

#: The call, and its status with the state of the capture after it: where the capture's mode forbids
#: unsafe calls to the thread; where the mode or the thread is relaxed.
BESIDE_A_CAPTURE = {
    "cuStreamSynchronize other": (UNSUPPORTED, VALID),
    "cuStreamQuery other": (UNSUPPORTED, VALID),
    "cuMemPoolTrimTo pool zero": (UNSUPPORTED, VALID),
    "cuEventQuery outside": (UNSUPPORTED, VALID),
    "cuEventSynchronize outside": (UNSUPPORTED, VALID),
    "cuEventRecord outside other": (VALID, VALID),
    "cuEventQuery inside": (CAPTURED, CAPTURED),
    "cuEventSynchronize inside": (CAPTURED, CAPTURED),
    "cuStreamSynchronize stream": (UNSUPPORTED, UNSUPPORTED),
    "cuCtxSynchronize": (UNSUPPORTED, UNSUPPORTED),
    "cuCtxRecordEvent context outside": (UNSUPPORTED, UNSUPPORTED),
}


class Scene:
    """A stream that captures, an idle one, and an event of each."""

    def __init__(self, driver: Cuda, flags: int) -> None:
        self.driver, self.context, self.zero = driver, driver.contexts[0], 0
        self.pool = driver.made("cuDeviceGetDefaultMemPool", 0)
        self.stream, self.other = driver.stream(flags), driver.stream()
        self.inside, self.outside = driver.event(), driver.event()
        driver.record(self.outside, self.other)
        driver("cuCtxSynchronize")

    def call(self, text: str) -> int:
        name, *arguments = text.split()
        return self.driver.code(name, *(getattr(self, argument) for argument in arguments))

    def state(self) -> int:
        out = ctypes.c_int(77)
        self.driver("cuStreamIsCapturing", self.stream, out)
        return out.value


@contextmanager
def capture(driver: Cuda, mode: int, flags: int = NON_BLOCKING) -> Iterator[Scene]:
    scene = Scene(driver, flags)
    driver("cuStreamBeginCapture_v2", scene.stream, mode)
    driver.record(scene.inside, scene.stream)
    yield scene
    valid = scene.state() == 1
    assert driver.code("cuStreamEndCapture", scene.stream, Number()) == (0 if valid else 901)
    assert valid or scene.call("cuEventQuery inside") == 1
    for name in ("Stream stream", "Stream other", "Event inside", "Event outside"):
        scene.call(f"cu{name.replace(' ', 'Destroy_v2 ')}")


def in_mode(mode: int, driver: Cuda, body: Callable[[], int]) -> int:
    exchanged = ctypes.c_int(mode)
    driver("cuThreadExchangeStreamCaptureMode", exchanged)
    code = body()
    driver("cuThreadExchangeStreamCaptureMode", exchanged)
    return code


def in_thread(driver: Cuda, body: Callable[[], int]) -> int:
    enter = partial(driver, "cuCtxPushCurrent_v2", driver.contexts[0])
    with ThreadPoolExecutor(1, initializer=enter) as threads:
        return threads.submit(body).result()


@pytest.mark.parametrize("text", BESIDE_A_CAPTURE)
def test_calls_beside_a_capture(text: str, driver: Cuda) -> None:
    strict, relaxed = BESIDE_A_CAPTURE[text]
    found, expected = {}, {}
    for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
        for name, enter, forbids in (
            ("the same thread", partial(in_mode, GLOBAL), mode != RELAXED),
            ("in relaxed mode", partial(in_mode, RELAXED), False),
            ("another thread", in_thread, mode == GLOBAL),
        ):
            with capture(driver, mode) as scene:
                code = enter(driver, lambda scene=scene: scene.call(text))
                found[mode, name] = code, scene.state()
            expected[mode, name] = strict if forbids else relaxed
    assert found == expected


@pytest.mark.parametrize("name", ["cuStreamQuery", "cuMemAllocAsync", "cuEventRecord"])
def test_the_legacy_stream_while_a_blocking_one_captures(name: str, driver: Cuda) -> None:
    event = driver.event()
    before = {"cuMemAllocAsync": (Number(), 64), "cuEventRecord": (event,)}.get(name, ())
    with capture(driver, GLOBAL, BLOCKING) as scene:
        assert (driver.code(name, *before, LEGACY), scene.state()) == IMPLICIT


def test_memory_of_a_pool(driver: Cuda) -> None:
    pooled, context, nothing = driver.pooled(LEGACY), Number(77), Number(77)
    driver("cuPointerGetAttribute", context, 1, pooled)
    driver("cuMemAllocAsync", nothing, 0, LEGACY)
    assert [driver.code("cuMemFreeAsync", pointer, LEGACY) for pointer in (0, pooled)] == [0, 0]
    assert context.value == 0


#: In a process of its own: the context is reset.
AFTER_A_RESET = """
import json, sys
sys.path.insert(0, sys.argv[2])
from fakegpu.driving import Cuda, Number
driver = Cuda(sys.argv[1])
gone, memory = driver.event(), driver.pooled(1)
driver("cuEventDestroy_v2", gone)
found = {"destroyed event": driver.code("cuEventQuery", gone)}
driver("cuDevicePrimaryCtxReset_v2", 0)
found["push"] = driver.code("cuCtxPushCurrent_v2", driver.contexts[0])
found["allocate"] = driver.code("cuMemAlloc_v2", Number(), 64)
found["free"] = driver.code("cuMemFreeAsync", memory, 1)
found["same handle"] = driver.made("cuDevicePrimaryCtxRetain", 0) == driver.contexts[0]
found["allocate again"] = driver.code("cuMemAlloc_v2", Number(), 64)
print(json.dumps(found))
"""


def test_a_context_that_is_reset(library: str) -> None:
    package = Path(__file__).resolve().parents[3] / "fakegpu"
    done = subprocess.run(
        [sys.executable, "-c", AFTER_A_RESET, library, str(package)],
        stdout=subprocess.PIPE, timeout=60, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == {
        "destroyed event": 709, "push": 0, "allocate": 709, "free": 709, "same handle": True,
        "allocate again": 0,
    }  # fmt: skip
