"""Copies, conversions and fills by the device kernels, compared with the CPU's results."""

from __future__ import annotations

import random
from typing import Any

import pytest
from devices.hardware.gpu_partners import DEVICE, Partner

import refarray as ra

pytestmark = [pytest.mark.hardware, pytest.mark.needs("refarray")]
PLACES = ["cpu", DEVICE, "cuda_host", "cuda_managed:0"]
DTYPES = ["bool", "int8", "uint16", "int32", "float32", "float64", "complex128", "float16",
          "bfloat16", "float8_e5m2", "float6_e2m3fn", "float4_e2m1fn"]  # fmt: skip
SHAPES = [(1,), (7, 5), (64, 64), (33, 129), (3, 1, 65), (17, 4, 9, 11), (2, 3, 4, 5, 6)]


def numbers(shape: tuple[int, ...], dtype: str, choice: random.Random) -> ra.Array:
    count = 1
    for extent in shape:
        count *= extent
    values = ra.asarray([float(choice.randrange(-100, 100)) for _ in range(count)])
    return ra.astype(values, dtype).reshape(shape)


def same(first: ra.Array, second: ra.Array) -> bool:
    """Whether the elements are equal."""
    return bool(ra.asarray(first, copy=True).tolist() == ra.asarray(second, copy=True).tolist())


def same_bytes(first: ra.Array, second: ra.Array) -> bool:
    return memoryview(first).tobytes() == memoryview(second).tobytes()


def view(array: Any, choice: random.Random) -> Any:
    """A random view: permuted axes, steps and reversals."""
    axes = list(range(array.ndim))
    choice.shuffle(axes)
    steps = tuple(slice(None, None, choice.choice([1, 1, 2, -1, -2])) for _ in axes)
    return ra.permute_dims(array, tuple(axes))[steps]


@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(partner: Partner, dtype: str) -> None:
    for number, shape in enumerate(SHAPES):
        host = numbers(shape, dtype, random.Random(number))
        far = ra.asarray(host, device=DEVICE)
        for seed in range(6):
            here = view(host, random.Random(seed))
            there = view(far, random.Random(seed))
            assert same(there.copy().to_device("cpu"), here.copy()), (shape, seed)
            assert same(there.to_device("cpu"), here.copy()), (shape, seed)


@pytest.mark.parametrize("dtype", DTYPES[1:8])
def test_conversions(partner: Partner, dtype: str) -> None:
    host = numbers((129, 65), "float64", random.Random(1))
    host = ra.astype(ra.astype(host, "int8"), dtype)  # exact in every type
    far = ra.asarray(host, device=DEVICE)
    for to in DTYPES[1:8]:
        if dtype.startswith("complex") and not to.startswith("complex"):
            continue
        assert same(ra.astype(far.T, to).to_device("cpu"), ra.astype(host.T, to)), (dtype, to)


@pytest.mark.parametrize("source", PLACES)
@pytest.mark.parametrize("target", PLACES)
def test_copies_between_memory_kinds(partner: Partner, source: str, target: str) -> None:
    choice = random.Random(3)
    for shape in ((5,), (300, 700), (3, 250, 1000)):
        host = numbers(shape, "float32", choice)
        moved = ra.asarray(host, device=source).to_device(target)
        assert moved.device == ra.Device(target)
        assert same_bytes(moved.to_device("cpu"), host)


@pytest.mark.parametrize(("rows", "columns"), [(2048, 2048), (2049, 1023), (1, 1 << 20)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64", "complex128"])
def test_large_transposes(partner: Partner, dtype: str, rows: int, columns: int) -> None:
    host = ra.arange(rows * columns, dtype="int64").astype(dtype).reshape((rows, columns))
    far = ra.asarray(host, device=DEVICE)
    there = far.T.copy().to_device("cpu")
    assert same_bytes(there, host.T.copy())


def test_fills_and_assignments(partner: Partner) -> None:
    for dtype in DTYPES[:8]:
        host = ra.zeros((31, 67), dtype=dtype)
        far = ra.zeros((31, 67), dtype=dtype, device=DEVICE)
        for array in (host, far):
            array[::2, 3:60:7] = ra.ones((16, 9), dtype=dtype)
            array[5] = ra.ones((67,), dtype=dtype)
        assert same(far.to_device("cpu"), host), dtype


def test_driver_errors(partner: Partner) -> None:
    with pytest.raises(MemoryError, match="on cuda:0"):
        ra.empty((1 << 50,), dtype="uint8", device=DEVICE)
    with pytest.raises(BufferError, match="does not exist"):
        ra.zeros((2,), device="cuda:63")
    assert ra.full((3,), 2.0, device=DEVICE).to_device("cpu").tolist() == [2.0] * 3
