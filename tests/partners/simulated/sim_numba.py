"""Numba's device arrays through `__cuda_array_interface__`, in both directions, on the simulated
driver, which suffices as long as Numba compiles no kernel."""

from __future__ import annotations

import gc
import importlib
import weakref
from pathlib import Path
from types import ModuleType

import fakegpu
import numpy as np
import pytest
from helpers.processes import python

import refarray as ra

pytestmark = pytest.mark.numba
HARDWARE = Path(__file__).resolve().parents[2] / "devices" / "hardware"
DTYPES = [*("bool", "int8", "uint16", "int32", "int64"),
          *("float16", "float32", "float64", "complex64", "complex128")]  # fmt: skip


@pytest.fixture(scope="module")
def cuda() -> ModuleType:
    return importlib.import_module("numba.cuda")


def ours(dtype: str = "float32") -> ra.Array:
    numbers = np.arange(24).reshape(2, 3, 4)
    return ra.asarray(numbers.astype(dtype), device="cuda:0")


@pytest.mark.parametrize("dtype", DTYPES)
def test_numba_reads_ours(cuda: ModuleType, dtype: str) -> None:
    array = ours(dtype)
    theirs = cuda.as_cuda_array(array)
    assert theirs.dtype == np.dtype(dtype)
    assert theirs.copy_to_host().tolist() == array.to_device("cpu").tolist()


@pytest.mark.parametrize("layout", ["mT", "steps", "broadcast", "0-d", "empty"])
def test_layouts_of_ours(cuda: ModuleType, layout: str) -> None:
    whole = ours()
    array = {
        "mT": whole.mT,
        "steps": whole[:, ::2, 1:3],
        "broadcast": ra.broadcast_to(whole[:1], (3, 3, 4)),
        "0-d": whole[1, 2, 3],
        "empty": whole[:0],
    }[layout]
    theirs = cuda.as_cuda_array(array)
    assert theirs.shape == array.shape
    assert theirs.copy_to_host().tolist() == array.to_device("cpu").tolist()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_dtypes_without_a_typestr(cuda: ModuleType, dtype: str) -> None:
    with pytest.raises(TypeError, match="cuda array interface"):
        cuda.as_cuda_array(ra.zeros((4,), dtype=dtype, device="cuda:0"))


def test_refarray_sees_numbas_writes(cuda: ModuleType) -> None:
    array = ra.zeros((6,), dtype="int32", device="cuda:0")
    cuda.as_cuda_array(array).copy_to_device(np.arange(6, dtype="int32"))
    cuda.synchronize()
    assert array.to_device("cpu").tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_we_read_numbas(cuda: ModuleType, dtype: str) -> None:
    host = np.arange(24).reshape(4, 6).astype(dtype)
    theirs = cuda.to_device(host)
    got = ra.asarray(theirs)
    assert got.device == "cuda:0" and got.dtype == dtype
    assert got.to_device("cpu").tolist() == host.tolist()


@pytest.mark.parametrize("layout", ["slice", "F", "empty"])
def test_layouts_of_numbas(cuda: ModuleType, layout: str) -> None:
    host = np.arange(24, dtype="float32").reshape(4, 6)
    theirs, expected = {
        "slice": lambda: (cuda.to_device(host)[1:3, ::2], host[1:3, ::2]),
        "F": lambda: (cuda.to_device(np.asfortranarray(host)), host),
        "empty": lambda: (cuda.device_array((0, 3), dtype="float32"), host[:0, :3]),
    }[layout]()
    got = ra.asarray(theirs)
    assert got.shape == expected.shape
    assert got.to_device("cpu").tolist() == expected.tolist()


def test_refarray_waits_for_numbas_stream(cuda: ModuleType) -> None:
    stream = cuda.stream()
    host = cuda.pinned_array(8, dtype="float32")
    host[:] = 3
    theirs = cuda.device_array(8, dtype="float32", stream=stream)
    theirs.copy_to_device(host, stream=stream)
    assert theirs.__cuda_array_interface__["stream"] == stream.__cuda_stream__()[1]
    with ra.use_stream(ra.Stream("cuda:0")):
        assert ra.asarray(theirs).copy().to_device("cpu").tolist() == [3.0] * 8


def test_numba_waits_for_our_stream(cuda: ModuleType) -> None:
    array = ra.zeros((8,), dtype="float32", device="cuda:0")
    with ra.use_stream(ra.Stream("cuda:0")):
        array[...] = 5.0
        theirs = cuda.as_cuda_array(array)
    assert theirs.copy_to_host().tolist() == [5.0] * 8


def test_lifetimes(cuda: ModuleType) -> None:
    theirs = cuda.as_cuda_array(ours())
    gc.collect()
    assert theirs.copy_to_host().ravel().tolist() == list(range(24))
    made = cuda.to_device(np.arange(4.0))
    alive = weakref.ref(made)
    got = ra.asarray(made)
    del made
    gc.collect()
    assert alive() is not None and got.to_device("cpu").tolist() == [0.0, 1.0, 2.0, 3.0]
    del got
    ra.synchronize("cuda:0")
    gc.collect()
    assert alive() is None


def test_refarray_accepts_numbas_streams(cuda: ModuleType) -> None:
    stream = cuda.stream()
    assert ra.Stream("cuda:0", stream).handle == stream.__cuda_stream__()[1]


@pytest.mark.parametrize(("partner", "passed"), [("numba", 2), ("cuda.core", 3)])
def test_hardware_tests_pass_on_the_simulated_driver(
    cuda: ModuleType, partner: str, passed: int
) -> None:
    """Runs the tests of devices/hardware that a simulated device supports."""
    options = ["--hardware=simulated", f"--partner={partner}", "-W", "default"]
    code = f"import ctypes, runpy, sys; ctypes.CDLL({str(fakegpu.Drivers.here().cuda)!r}); "
    code += "sys.argv = sys.argv[1:]; runpy.run_module('pytest', run_name='__main__')"
    command = ["-c", code, "pytest", "-q", "-p", "no:cacheprovider", HARDWARE, *options]
    done = python(*command, seconds=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{passed} passed" in done.stdout
