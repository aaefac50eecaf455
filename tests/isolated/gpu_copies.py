"""Copies on and between simulated devices give the same bits as on the CPU.

Run as `gpu_copies.py SCENARIO VENDOR`."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fakegpu"))

import fakegpu
import numpy as np

import refarray as ra

VENDOR = sys.argv[2]
LAUNCH = {"cuda": "cuLaunchKernel", "rocm": "hipModuleLaunchKernel"}[VENDOR]
LOAD = {"cuda": "cuModuleLoadData", "rocm": "hipModuleLoadData"}[VENDOR]
PINNED = f"{VENDOR}_host"
DTYPES = ["bool", "int8", "uint16", "int32", "float32", "float64", "complex128", "float16"]
CASTS = [*DTYPES, "bfloat16", "float8_e5m2", "float6_e2m3fn", "float4_e2m1fn", "complex64"]
CHOICE = random.Random(20261121)


def numbers(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    values = np.random.default_rng(5).integers(-100, 100, shape)
    return ra.asarray(values).astype(dtype)


def random_view(array: Any) -> Any:
    """Permute the axes, with random steps and directions."""
    axes = list(range(array.ndim))
    CHOICE.shuffle(axes)
    steps = tuple(slice(None, None, CHOICE.choice([1, 1, 2, -1, -2])) for _ in axes)
    return ra.permute_dims(array, tuple(axes))[steps]


def both(shape: tuple[int, ...], dtype: str, device: str) -> tuple[Any, Any]:
    """The same view of the same numbers on the CPU and on the device."""
    host = numbers(shape, dtype)
    far = ra.asarray(host, device=device)
    state = CHOICE.getstate()
    here = random_view(host)
    CHOICE.setstate(state)
    return here, random_view(far)


def assert_same(seen: Any, expected: Any) -> None:
    seen = ra.asarray(seen, device="cpu")
    assert seen.shape == expected.shape and seen.dtype == expected.dtype
    left, right = (each.copy().astype("float32") if each.dtype.bits < 8 else each.copy()
                   for each in (seen, expected))  # fmt: skip
    assert np.asarray(left).tobytes() == np.asarray(right).tobytes(), (seen.shape, seen.dtype)


def layouts() -> None:
    for dtype in DTYPES:
        for shape in [(7,), (40, 33), (5, 6, 7), (2, 3, 4, 5), (130, 70), ()]:
            for device in (f"{VENDOR}:0", f"{VENDOR}:1"):
                here, far = both(shape, dtype, device)
                assert_same(far.copy(), here)
                assert_same(far, here)  # device to host, strided
                assert_same(ra.asarray(here, device=device), here)  # host to device, strided
                other = f"{VENDOR}:{1 - int(device[-1])}"
                assert_same(ra.asarray(far, device=other), here)


def casts() -> None:
    for source in CASTS:
        for result in CASTS:
            if source.startswith("complex") and not result.startswith(("complex", "bool")):
                continue
            here, far = both((9, 10), source, f"{VENDOR}:0")
            assert_same(far.astype(result), here.astype(result))


def assign(device: str, act: Callable[[Any, Any], None], dtype: str = "float32") -> None:
    host = numbers((12, 10), dtype)
    far = ra.asarray(host, device=device)
    near = host.copy()
    act(near, near)
    act(far, host)
    assert_same(far, near)


def overlap() -> Iterator[Callable[[Any], None]]:
    yield lambda x: x.__setitem__(slice(1, None), x[:-1])
    yield lambda x: x.__setitem__(slice(None, -1), x[1:])
    yield lambda x: x.__setitem__(slice(None), x[::-1])
    yield lambda x: x.__setitem__((slice(None), slice(0, 10)), x[:, ::-1])


def assignments() -> None:
    device = f"{VENDOR}:0"
    for dtype in ("float32", "int8", "complex128", "float4_e2m1fn"):
        for act in overlap():
            assign(device, lambda x, _, act=act: act(x), dtype)
        assign(device, lambda x, _: x.__setitem__(slice(None), 3), dtype)
        assign(device, lambda x, _: x.__setitem__((slice(None), slice(1, 9, 3)), 2), dtype)
        row = numbers((10,), "int16")
        assign(device, lambda x, _, row=row: x.__setitem__(slice(None), row), dtype)
        assign(device, lambda x, h: x.__setitem__(slice(2, 5), h[7:10]), dtype)


def large() -> None:
    """Arrays larger than the whole ring of pinned staging buffers, in both directions."""
    device = f"{VENDOR}:0"
    host = ra.asarray(np.random.default_rng(1).integers(0, 255, (5000, 4999), dtype="u1"))
    for view in (host, host.T, host[::2, ::-1], host[:, 3:4000]):
        far = ra.asarray(view, device=device)
        assert_same(far, view)
        assert_same(far.T, view.T)
        out = ra.zeros(view.shape, dtype="float32")
        out[...] = far
        assert_same(out, view.astype("float32"))
    assert any(each["bytes"] == 4 << 20 for each in fakegpu.live() if "bytes" in each)


def driver_calls() -> None:
    """The driver calls that each kind of copy makes."""
    device = f"{VENDOR}:0"
    host = numbers((600, 512))
    far = ra.asarray(host, device=device)
    far.copy()
    ra.asarray(far, device="cpu")
    far.T.T.copy()
    assert fakegpu.trace(LOAD) == []  # no kernel was needed so far
    far.T.copy()
    (launch,) = fakegpu.trace(LAUNCH)
    assert launch["kernel"] == "refarray_tiled_4"
    far[...] = 5
    far[::2, :500].copy()
    far[1:, 1:].copy()
    far.astype("int8")
    names = [each["kernel"] for each in fakegpu.trace(LAUNCH)[1:]]
    assert names == [
        "refarray_fill_16", "refarray_strided_16", "refarray_strided_4", "refarray_cast",
    ], names  # fmt: skip
    pinned = ra.asarray(host, device=PINNED)
    fakegpu.reset()
    part = ra.asarray(pinned[:, :256], device=device)
    part2 = ra.asarray(far[:, :256], device=PINNED)
    assert len(fakegpu.trace(LAUNCH)) == 0
    rows = {"cuda": "cuMemcpy2DAsync", "rocm": "hipMemcpy2DAsync"}[VENDOR]
    assert len(fakegpu.trace(rows)) == 2
    assert_same(part, host[:, :256])
    assert part2.shape == (600, 256)
    large = ra.zeros((9 << 20,), dtype="uint8", device=device)
    fakegpu.reset()
    ra.asarray(large, device="cpu")  # not in chunks
    down = {"cuda": "cuMemcpyDtoHAsync", "rocm": "hipMemcpyAsync"}[VENDOR]
    assert len(fakegpu.trace(down)) == 1


def no_kernels() -> None:
    """A driver that rejects the kernel image: copies are slower but right."""
    fakegpu.fail(LOAD, 1, 209)
    casts()
    assignments()
    assert fakegpu.trace(LAUNCH) == []
    assert len(fakegpu.trace(LOAD)) == 1  # loading is not retried


def faults() -> None:
    """Fail each driver call of a few copies once: it raises or is right, and later calls work."""
    device = f"{VENDOR}:0"
    host = numbers((80, 90), "float64")
    other = numbers((300, 400), "uint16")

    def work() -> None:
        far = ra.asarray(host.T, device=device)
        assert_same(far[::2].astype("float32"), host.T[::2].astype("float32"))
        far[...] = far[::-1]
        assert_same(ra.asarray(far, device=f"{VENDOR}:1").T, host.T[::-1].T)
        assert_same(ra.asarray(other.T, device=device), other.T)

    work()
    fakegpu.reset()
    work()
    count = fakegpu.calls()
    raised = 0
    for k in range(1, count + 1):
        fakegpu.reset()
        fakegpu.fail("*", k, 700 if k % 2 else 2)
        try:
            work()
        except (RuntimeError, MemoryError, BufferError):
            raised += 1
        fakegpu.reset()
        assert fakegpu.violations() == []
    assert raised > count // 2, (raised, count)
    work()


def main() -> None:
    fakegpu.load(cuda=2, hip=2)
    {
        each.__name__: each
        for each in (layouts, casts, assignments, large, driver_calls, no_kernels, faults)
    }[sys.argv[1]]()
    fakegpu.run()
    found = fakegpu.violations()
    assert found == [], found[:3]
    print("alive")


main()
