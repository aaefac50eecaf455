"""Makes public calls in threads with small stacks: every recipe of the out-of-memory sweep, and
calls with as many elements as whole blocks, tiles and panels of the algorithms take.

`small_stacks.py STACK ORDER...`: bytes of a stack, and the orders of the large matrices. The name
of each call is printed before it is made: the last one tells which call ended the process."""

from __future__ import annotations

import contextlib
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy.ma  # noqa: F401  # from CPython 3.14 on, its import has no room on a stack of 96 KiB
from oom.computations import BINARY, UNARY, maker
from oom.linalg import CALLS, SQUARE, matrices, plain
from oom.recipes import NEEDS_DRIVER, RECIPES, Recipe

import refarray as ra
import refarray._results  # from CPython 3.14 on, namedtuple() has no room on a stack of 64 KiB
from refarray import fft, linalg

Call = tuple[str, Callable[[], Any]]
FLOATS = ("float32", "float64", "complex64", "complex128")


def make_and_call(recipe: Recipe) -> None:
    with contextlib.suppress(*recipe.raises):
        recipe.call(recipe.make())


def recipes() -> Iterator[Call]:
    for recipe in RECIPES:
        if recipe.name not in NEEDS_DRIVER:
            yield str(recipe), partial(make_and_call, recipe)


def tiled(x: Any, rows: int, columns: int) -> Any:
    """`x` repeated to that many rows and columns, transposed: no axis is contiguous by blocks."""
    return ra.tile(x, (columns // x.shape[0] + 1, rows // x.shape[1] + 1))[:columns, :rows].T


def elementwise() -> Iterator[Call]:
    for name in (*UNARY, *BINARY):
        x = tiled(maker(name)(), 200, 300)
        yield name, partial(getattr(ra, name), *((x,) if name in UNARY else (x, x[::-1])))
    x = tiled(ra.asarray([[1.0, 0.0], [0.5, 2.0]]), 200, 300)
    for dtype in ("float32", "int8", "complex128", "float16", "float4_e2m1fn"):
        yield f"astype {dtype}", partial(x.astype, dtype)
        back = "complex64" if dtype == "complex128" else "float64"
        yield f"back from {dtype}", partial(x.astype(dtype).T.astype, back)
        mixed = x.astype("complex64" if dtype == "complex128" else "float32")
        yield f"where {dtype}", partial(ra.where, x > 0.25, x, mixed)
        yield f"add {dtype}", partial(ra.add, x, mixed[:1])


def rearranged() -> Iterator[Call]:
    x = tiled(ra.asarray([[3, 1], [2, 7]]), 2100, 300)
    for dtype in ("int8", "uint16", "float32", "int64", "float64", "complex128"):
        y = x.astype(dtype).T
        cube = ra.reshape(ra.copy(y), (30, 10, 2100))
        yield f"copy {dtype}", y.T.copy
        yield f"strided copy {dtype}", y[::2, ::3].copy
        yield f"cube {dtype}", ra.permute_dims(cube, (2, 0, 1)).copy
        yield f"overlap {dtype}", partial(ra.Array.__setitem__, y, ..., ra.copy(y)[::-1])
        yield f"take {dtype}", partial(ra.take, y.T, ra.arange(300), axis=1)
        yield f"mask {dtype}", partial(ra.Array.__getitem__, y.T, y.T != 1)
        yield f"pickle {dtype}", partial(pickle.dumps, y.T, 5)
        yield f"tobytes {dtype}", y.T.tobytes
        for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
            yield f"{name} {dtype}", partial(getattr(ra, name), y.T)
        if dtype == "complex128":
            continue
        for axis in (0, 1):
            yield f"sort {dtype}", partial(ra.sort, y.T, axis=axis)
            yield f"argsort {dtype}", partial(ra.argsort, y.T, axis=axis)
        yield f"searchsorted {dtype}", partial(ra.searchsorted, ra.sort(y[0]), y.T[:, 0])


def reduced() -> Iterator[Call]:
    x = tiled(ra.asarray([[1, 0], [2, 3]]), 1000, 300)
    names = ("all", "any", "argmax", "count_nonzero", "max", "mean", "prod", "std", "sum", "var")
    for dtype in ("float16", *FLOATS):
        y = x.astype(dtype).T
        for array in (y, y.T, y[::2, ::3]):
            for axis in (None, 0, 1):
                for name in names:
                    if not (y.dtype.name.startswith("complex") and name in ("argmax", "max")):
                        yield f"{name} {dtype}", partial(allowed, getattr(ra, name), array, axis)
            for axis in (0, 1):
                for name in ("cumulative_sum", "cumulative_prod"):
                    yield f"{name} {dtype}", partial(getattr(ra, name), array, axis=axis)


def allowed(function: Any, array: Any, axis: int | None) -> None:
    """Calls a function that may not take complex numbers."""
    try:
        function(array, axis=axis)
    except TypeError:
        assert array.dtype.name.startswith("complex")


def transformed() -> Iterator[Call]:
    for dtype in FLOATS:
        x = ra.ones((12, 61 * 59 * 4), dtype=dtype)
        names = ("fft", "ifft", "irfft", "hfft") if dtype[0] == "c" else ("rfft", "ihfft")
        for name in names:
            for n in (61 * 59 * 4, 4096, 2 * 521):
                yield f"fft.{name} {dtype}", partial(getattr(fft, name), x, n=n)
                yield f"fft.{name} {dtype}", partial(getattr(fft, name), x.T, n=n, axis=0)


def factored(n: int) -> Iterator[Call]:
    for dtype in FLOATS:
        x = matrices(dtype, (n, n))
        for name in plain(CALLS):
            yield f"{name} {dtype} {n}", partial(CALLS[name], x.T)
            if name not in SQUARE:
                yield f"{name} {dtype} {n}", partial(CALLS[name], x[: n // 2])
                yield f"{name} {dtype} {n}", partial(CALLS[name], x[:, : n // 2])
        yield f"matmul {dtype} {n}", partial(ra.matmul, x, x.T)
        yield f"tensordot {dtype} {n}", partial(ra.tensordot, x, x, axes=((0,), (0,)))
        yield f"vecdot {dtype} {n}", partial(ra.vecdot, x.T, x)
        yield f"outer {dtype} {n}", partial(linalg.outer, x[0], x[:, 0])


def calls(orders: list[int]) -> Iterator[Call]:
    for group in (recipes(), elementwise(), rearranged(), reduced(), transformed()):
        yield from group
    for order in orders:
        yield from factored(order)


if __name__ == "__main__":
    threading.stack_size(int(sys.argv[1]))
    for name, call in calls([int(order) for order in sys.argv[2:]]):
        print(name, flush=True)
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
