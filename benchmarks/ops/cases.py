"""The computation cases: one expression for each library, and a target.

Small arrays are judged in U, the time of a call that does nothing; large ones in P, the time of the
better of NumPy and PyTorch in the same run. C10 is judged in S, the time of array-api-strict. The
cases of one call (C1, C10) also run in refarray's strict namespace, for C15.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

SMALL, CACHE, LARGE = 16, 32 << 10, 2 << 20
#: Rows and columns of the matrices of C11.
ORDERS = (64, 128, 512, 1024)
U, P, S = "U", "P", "S"

#: Functions of the standard on 16 elements, for C10.
STRICT = (
    *("abs(x)", "add(x, y)", "multiply(x, y)", "divide(x, y)", "floor_divide(x, y)"),
    *("remainder(x, y)", "negative(x)", "sqrt(x)", "exp(x)", "sin(x)", "floor(x)", "isnan(x)"),
    *("less(x, y)", "equal(x, y)", "maximum(x, y)", "clip(x, 20, 80)", "where(m, x, y)"),
    *("sum(x)", "mean(x)", "std(x)", "max(x)", "argmax(x)", "all(m)", "cumulative_sum(x)"),
    *("sort(x)", "take(x, i)", "concat([x, y])", "reshape(x, (4, 4))", "astype(x, l.float32)"),
    "broadcast_to(x, (4, 16))",
)
assert len(STRICT) == 30


@dataclass(frozen=True)
class Case:
    """In `ours`, `numpy` and `torch`, `l` is the library, x and y are arrays of `dtype` with `size`
    elements, m is a mask, i an array of int64 indices. a and b are the same elements as x and y,
    in square matrices, if size is a square; p is positive definite then. None: the library has no
    such function."""

    id: str
    ours: str
    size: int
    unit: str
    target: float | None
    dtype: str = "float64"
    numpy: str | None = ""
    torch: str | None = ""
    strict: str | None = None

    def code(self, library: str) -> str | None:
        of_call = self.ours if self.id.startswith(("C1 ", "C10 ")) else None
        others = {
            "numpy": self.numpy,
            "torch": self.torch,
            "array_api_strict": self.strict,
            "refarray strict": of_call,
        }
        found = others.get(library, "")
        return self.ours if found == "" else found

    @property
    def is_of_matrices(self) -> bool:
        return "@" in self.ours or "linalg." in self.ours

    @property
    def title(self) -> str:
        order = math.isqrt(self.size)
        sizes = {SMALL: "16", CACHE: "32 Ki", LARGE: "2 Mi"}
        size = f"{order} x {order}" if self.is_of_matrices else sizes.get(self.size, str(self.size))
        return f"{self.ours.replace('l.', '')} {self.dtype} {size}"


def cases() -> Iterator[Case]:
    yield from _small()
    for size, factor in ((CACHE, 1.0), (LARGE, 1.05)):
        yield from _elementwise(size, factor)
    yield from _mathematical()
    yield from _rearranging()
    yield from _products()
    yield from _transforms()
    yield from _decompositions()
    for code in STRICT:
        name = code.partition("(")[0]
        yield Case(f"C10 {name}", f"l.{code}", SMALL, S, None, torch=None, strict="")


def _small() -> Iterator[Case]:
    yield Case("C1 add", "x + y", SMALL, U, 8)
    yield Case("C1 less", "x < y", SMALL, U, 8)
    yield Case("C1 scalar", "x * 2.0", SMALL, U, 10)
    yield Case("C1 sum", "l.sum(x)", SMALL, U, 12)
    yield Case("C1 where", "l.where(m, x, y)", SMALL, U, 12)
    yield Case("C1 mask", "x[m]", SMALL, U, 15)
    yield Case("C1 slice", "x[2:10]", SMALL, U, 5)
    yield Case("C1 float", "float(x[3])", SMALL, U, 5.5)


def _elementwise(size: int, factor: float) -> Iterator[Case]:
    suffix = "32K" if size == CACHE else "2M"
    for dtype in ("float32", "float64", "int32", "uint8"):
        for name, code in (("add", "x + y"), ("mul", "x * y"), ("less", "x < y")):
            yield Case(f"C2 {name} {dtype} {suffix}", code, size, P, factor, dtype)
        yield Case(f"C2 max {dtype} {suffix}", "l.maximum(x, y)", size, P, factor, dtype)
        yield Case(f"C3 strided {dtype} {suffix}", "x[::2] + y[::2]", size, P, 0.8, dtype)
        yield Case(f"C4 where {dtype} {suffix}", "l.where(m, x, y)", size, P, 0.15, dtype)
    yield Case(f"C2 // int32 {suffix}", "x // y", size, P, factor, "int32")
    yield Case(
        f"C5 cast {suffix}", "l.astype(x, l.float64)", size, P, factor, "float32",
        "x.astype('float64')", "x.to(l.float64)",
    )  # fmt: skip


def _mathematical() -> Iterator[Case]:
    for dtype, target in (("float32", 2.2), ("float64", 1.5)):
        for name in ("exp", "log", "sin", "tanh", "sqrt"):
            yield Case(f"C6 {name} {dtype}", f"l.{name}(x)", CACHE, P, target, dtype)


def _rearranging() -> Iterator[Case]:
    for size in (CACHE, LARGE):
        suffix = "32K" if size == CACHE else "2M"
        in_cache = 0.6 if size == CACHE else None
        yield Case(f"C7 sum {suffix}", "l.sum(x)", size, P, in_cache, "float32")
        yield Case(f"C7 argmax {suffix}", "l.argmax(x)", size, P, 1.0, "float32")
        yield Case(
            f"C7 cumsum {suffix}", "l.cumulative_sum(x)", size, P, 0.85, "float32",
            torch="l.cumsum(x, 0)",
        )  # fmt: skip
        yield Case(f"C8 mask {suffix}", "x[m]", size, P, 0.25, "float32")
        yield Case(f"C8 take {suffix}", "l.take(x, i)", size, P, 1.0, "float32")
        yield Case(f"C9 sort {suffix}", "l.sort(x)", size, P, 1.2, "float32", torch="l.sort(x)[0]")
        yield Case(
            f"C9 argsort {suffix}", "l.argsort(x, stable=True)", size, P,
            0.2 if size == LARGE else None, "float32",
        )  # fmt: skip
        yield Case(
            f"C9 unique {suffix}", "l.unique_values(x)", size, P, 0.5, "float32",
            torch="l.unique(x)",
        )  # fmt: skip


def _products() -> Iterator[Case]:
    """Judged by NumPy, whose products are those of OpenBLAS, at 0.85 of its speed."""
    for dtype in ("float32", "float64", "complex64", "complex128", "int32"):
        for order in ORDERS if dtype in ("float32", "float64") else (128,):
            target = 1 / 0.85 if order >= 128 else None
            yield Case(
                f"C11 matmul {dtype} {order}", "a @ b", order**2, P, target, dtype, torch=None
            )
    for dtype in ("float32", "float64"):
        yield Case(f"C12 matvec {dtype}", "a @ b[0]", 512**2, P, None, dtype, torch=None)
        yield Case(f"C12 vecmat {dtype}", "b[0] @ a", 512**2, P, None, dtype, torch=None)
        yield Case(f"C12 vecdot {dtype}", "l.vecdot(x, y)", CACHE, P, None, dtype, torch=None)


def _transforms() -> Iterator[Case]:
    """Judged by NumPy, at twice its time."""
    for size in (64, 1024, 64 << 10, 1 << 20, 1009, 10007):
        for dtype in ("complex64", "complex128"):
            yield Case(f"C13 fft {dtype} {size}", "l.fft.fft(x)", size, P, 2.0, dtype, torch=None)
        yield Case(f"C13 rfft {size}", "l.fft.rfft(x)", size, P, 2.0, "float64", torch=None)


def _decompositions() -> Iterator[Case]:
    """Judged by NumPy, whose decompositions are those of LAPACK, at four times its time."""
    calls = ("solve(a, b)", "cholesky(p)", "qr(a)", "eigh(p)", "svd(a)")
    for order in (64, 512):
        for call in calls:
            name = call.partition("(")[0]
            code = f"l.linalg.{call}"
            yield Case(f"C14 {name} {order}", code, order**2, P, 4.0, torch=None)
