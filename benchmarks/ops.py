"""C: computations side by side with NumPy and PyTorch, one expression for each library.

Small arrays are judged in U, the time of a call that does nothing; large ones in P, the time of the
better of NumPy and PyTorch in the same run. C10 is judged in S, the time of array-api-strict. The
cases of one call (C1, C10) also run in refarray's strict namespace, for C15.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .environment import Environment
from .exchange import unit_statement
from .measure import OURS, UNIT, Absent, Case, Statement, Target

SECONDS = 0.5
SMALL, CACHE, LARGE = 16, 32 << 10, 2 << 20
STACK = 400 * 400  # elements of 10,000 matrices of 4 x 4
#: Rows and columns of the matrices of C11.
ORDERS = (64, 128, 512, 1024)
U, P, S = "U", "P", "S"
PEERS, STRICT = ("numpy", "torch"), "array_api_strict"
OUR_STRICT = "refarray strict"  # refarray.namespace(strict=True)
UNITS = {U: (UNIT,), P: PEERS, S: (STRICT,)}
#: Of a call of array-api-strict, on average over the functions of C10.
STRICT_TARGET = Target(1 / 40)
#: What a call in a strict namespace may take above the same one in the default namespace, in U.
EXCESS_TARGET = Target(0.5)

#: Functions that are no arithmetic, each with operands in its domain, for C6.
MATHEMATICS = {
    **dict.fromkeys(("exp", "expm1", "sin", "cos", "tan", "atan"), "v"),
    **dict.fromkeys(("sinh", "cosh", "tanh", "asinh"), "v"),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "acosh"), "x"),
    **dict.fromkeys(("asin", "acos", "atanh"), "u"),
    "pow": "x, u",
    "atan2": "v, u",
}
#: Functions of the standard on 16 elements, for C10.
FUNCTIONS = (
    *("abs(x)", "add(x, y)", "multiply(x, y)", "divide(x, y)", "floor_divide(x, y)"),
    *("remainder(x, y)", "negative(x)", "sqrt(x)", "exp(x)", "sin(x)", "floor(x)", "isnan(x)"),
    *("less(x, y)", "equal(x, y)", "maximum(x, y)", "clip(x, 20, 80)", "where(m, x, y)"),
    *("sum(x)", "mean(x)", "std(x)", "max(x)", "argmax(x)", "all(m)", "cumulative_sum(x)"),
    *("sort(x)", "take(x, i)", "concat([x, y])", "reshape(x, (4, 4))", "astype(x, l.float32)"),
    "broadcast_to(x, (4, 16))",
)
assert len(FUNCTIONS) == 30


@dataclass(frozen=True)
class Expression:
    """In `ours`, `numpy` and `torch`, `l` is the library, x and y are arrays of `dtype` with `size`
    elements, u and v are x moved into (-1, 1) and (-50, 50), s is x sorted, m is a mask, i an array
    of int64 indices. a and b are the same elements as x and y, in square matrices, if size is a
    square; p is positive definite then. None: the library has no such function."""

    ours: str
    size: int
    dtype: str
    numpy: str | None
    torch: str | None
    strict: str | None
    of_call: bool

    def code(self, library: str) -> str | None:
        others = {
            "numpy": self.numpy,
            "torch": self.torch,
            STRICT: self.strict,
            OUR_STRICT: self.ours if self.of_call else None,
        }
        found = others.get(library, "")
        return self.ours if found == "" else found

    @property
    def title(self) -> str:
        order = math.isqrt(self.size)
        sizes = {SMALL: "16", CACHE: "32 Ki", LARGE: "2 Mi"}
        of_matrices = ("@" in self.ours or "linalg." in self.ours) and "reshape" not in self.ours
        size = f"{order} x {order}" if of_matrices else sizes.get(self.size, str(self.size))
        return f"{self.ours.replace('l.', '')} {self.dtype} {size}"


def case(
    id_: str,
    ours: str,
    size: int,
    unit: str,
    target: float | None,
    dtype: str = "float64",
    numpy: str | None = "",
    torch: str | None = "",
    strict: str | None = None,
) -> Case:
    of_call = id_.startswith(("C1 ", "C10 "))
    given = Expression(ours, size, dtype, numpy, torch, strict, of_call)
    targets = () if target is None else (Target(target),)
    return Case(id_, given.title, targets, UNITS[unit], unit, given)


def cases() -> Iterator[Case]:
    yield from _small()
    for size, factor in ((CACHE, 1.0), (LARGE, 1.05)):
        yield from _elementwise(size, factor)
    yield from _mathematical()
    yield from _rearranging()
    yield from _products()
    yield from _transforms()
    yield from _decompositions()
    yield from _short_rows()
    for code in FUNCTIONS:
        name = code.partition("(")[0]
        yield case(f"C10 {name}", f"l.{code}", SMALL, S, None, torch=None, strict="")
    yield Case("C10", "geometric mean of 30 functions", (STRICT_TARGET,), label=S)
    yield Case("C15 mean", "strict: geometric mean of 30 functions", (STRICT_TARGET,), label=S)
    yield Case("C15 above", "strict above open, mean of 38 calls", (EXCESS_TARGET,))
    yield Case("C15 slice", "strict above open: C1 slice", (EXCESS_TARGET,))
    yield Case("C15 float", "strict above open: C1 float", (EXCESS_TARGET,))


def _small() -> Iterator[Case]:
    yield case("C1 add", "x + y", SMALL, U, 8)
    yield case("C1 less", "x < y", SMALL, U, 8)
    yield case("C1 scalar", "x * 2.0", SMALL, U, 10)
    yield case("C1 sum", "l.sum(x)", SMALL, U, 12)
    yield case("C1 where", "l.where(m, x, y)", SMALL, U, 12)
    yield case("C1 mask", "x[m]", SMALL, U, 15)
    yield case("C1 slice", "x[2:10]", SMALL, U, 5)
    yield case("C1 float", "float(x[3])", SMALL, U, 5.5)


def _elementwise(size: int, factor: float) -> Iterator[Case]:
    suffix = "32K" if size == CACHE else "2M"
    for dtype in ("float32", "float64", "int32", "uint8"):
        for name, code in (("add", "x + y"), ("mul", "x * y"), ("less", "x < y")):
            yield case(f"C2 {name} {dtype} {suffix}", code, size, P, factor, dtype)
        yield case(f"C2 max {dtype} {suffix}", "l.maximum(x, y)", size, P, factor, dtype)
        yield case(f"C3 strided {dtype} {suffix}", "x[::2] + y[::2]", size, P, 0.8, dtype)
        yield case(f"C4 where {dtype} {suffix}", "l.where(m, x, y)", size, P, 0.15, dtype)
    yield case(f"C2 // int32 {suffix}", "x // y", size, P, factor, "int32")
    for dtype in ("int32", "int64"):
        yield case(f"C2 // 7 {dtype} {suffix}", "x // 7", size, P, 1.2, dtype)
        yield case(f"C2 % 7 {dtype} {suffix}", "x % 7", size, P, 1.2, dtype)
    for to, operand in (("complex128", "x"), ("float32", "m")):
        yield case(
            f"C5 {suffix} {to}", f"l.astype({operand}, l.{to})", size, P, 1.2,
            numpy=f"{operand}.astype(l.{to})", torch=f"{operand}.to(l.{to})",
        )  # fmt: skip
    yield case(
        f"C5 {suffix} float64", "l.astype(x, l.float64)", size, P, factor, "float32",
        "x.astype('float64')", "x.to(l.float64)",
    )  # fmt: skip


def _mathematical() -> Iterator[Case]:
    """Judged by functions that may be wrong by 4 ULP; refarray's round correctly in float32, and
    nearly so in float64."""
    for dtype, target, mean in (("float32", 4.0, 2.8), ("float64", 2.5, 1.8)):
        for name, operands in MATHEMATICS.items():
            yield case(f"C6 {dtype} {name}", f"l.{name}({operands})", CACHE, P, target, dtype)
        title = f"geometric mean of {len(MATHEMATICS)} functions, {dtype}"
        yield Case(f"C6 {dtype} mean", title, (Target(mean),), label=P)
        for name, code in (("hypot", "l.hypot(x, y)"), ("%", "x % y"), ("//", "x // y")):
            yield case(f"C6 {dtype} {name}", code, CACHE, P, 1.0, dtype)
        yield case(f"C6 {dtype} sqrt", "l.sqrt(x)", CACHE, P, 1.05, dtype)
    yield case("C6 abs complex64", "l.abs(x)", CACHE, P, 1.8, "complex64")
    yield case("C6 abs complex128", "l.abs(x)", CACHE, P, 2.0, "complex128")


def _short_rows() -> Iterator[Case]:
    """Arrays of many short rows or small matrices, where a loop for each would cost more than its
    elements."""
    rows = "l.reshape({}, (-1, {}))".format
    for length in (1, 8, 16):
        yield case(
            f"C16 any {length}", f"l.any({rows('m', length)}, axis=1)", CACHE, P, 1.0, "float32"
        )
        for name, in_torch in (("max", "amax"), ("argmax", "argmax")):
            yield case(
                f"C16 {name} {length}", f"l.{name}({rows('x', length)}, axis=1)", CACHE, P, 1.0,
                "float32", torch=f"l.{in_torch}({rows('x', length)}, dim=1)",
            )  # fmt: skip
    for length in (16, 64, 256):
        for dtype in ("float32", "float64"):
            code = f"l.sort({rows('x', length)})"
            yield case(f"C16 sort {dtype} {length}", code, CACHE, P, 1.2, dtype, torch=f"{code}[0]")
    for dtype in ("complex64", "complex128"):
        yield case(f"C16 fft {dtype} 8", f"l.fft.fft({rows('x', 8)})", CACHE, P, 1.2, dtype)
    small = "l.reshape({}, (-1, 4, 4))".format
    for name, operands in (("solve", "xy"), ("inv", "x"), ("det", "x"), ("qr", "x")):
        code = f"l.linalg.{name}({', '.join(map(small, operands))})"
        yield case(f"C16 {name}", code, STACK, P, 1.2)
    yield case("C16 matmul", f"{small('x')} @ {small('y')}", STACK, P, 1.2)
    axes = "l.reshape({}, {})".format
    yield case("C16 axes", f"{axes('x', (2,) * 16)} + {axes('y[:256]', (2, 1) * 8)}", 2**16, P, 1.2)


def _rearranging() -> Iterator[Case]:
    for size in (CACHE, LARGE):
        suffix = "32K" if size == CACHE else "2M"
        in_cache = 0.6 if size == CACHE else None
        yield case(f"C7 sum {suffix}", "l.sum(x)", size, P, in_cache, "float32")
        yield case(f"C7 argmax {suffix}", "l.argmax(x)", size, P, 1.0, "float32")
        yield case(
            f"C7 cumsum {suffix}", "l.cumulative_sum(x)", size, P, 0.85, "float32",
            torch="l.cumsum(x, 0)",
        )  # fmt: skip
        yield case(f"C8 mask {suffix}", "x[m]", size, P, 0.25, "float32")
        yield case(f"C8 take {suffix}", "l.take(x, i)", size, P, 1.0, "float32")
        yield case(f"C9 sort {suffix}", "l.sort(x)", size, P, 1.2, "float32", torch="l.sort(x)[0]")
        yield case(
            f"C9 argsort {suffix}", "l.argsort(x, stable=True)", size, P,
            0.2 if size == LARGE else None, "float32",
        )  # fmt: skip
        yield case(f"C9 isin {suffix}", "l.isin(x, y)", size, P, 1.2, "int32")
        yield case(f"C9 searchsorted {suffix}", "l.searchsorted(s, s)", size, P, 1.2, "float32")
        yield case(
            f"C9 unique {suffix}", "l.unique_values(x)", size, P, 0.5, "float32",
            torch="l.unique(x)",
        )  # fmt: skip


def _products() -> Iterator[Case]:
    """Judged by NumPy, whose products are those of OpenBLAS, at 0.85 of its speed."""
    for dtype in ("float32", "float64", "complex64", "complex128", "int32"):
        for order in ORDERS if dtype in ("float32", "float64") else (128,):
            target = 1 / 0.85 if order >= 128 else None
            yield case(
                f"C11 matmul {dtype} {order}", "a @ b", order**2, P, target, dtype, torch=None
            )
    for dtype in ("float32", "float64"):
        yield case(f"C12 matvec {dtype}", "a @ b[0]", 512**2, P, 1.2, dtype)
        yield case(f"C12 vecmat {dtype}", "b[0] @ a", 512**2, P, 1.2, dtype)
        yield case(f"C12 vecdot {dtype}", "l.vecdot(x, y)", CACHE, P, None, dtype, torch=None)


def _transforms() -> Iterator[Case]:
    """Judged by NumPy, at twice its time."""
    for size in (64, 1024, 64 << 10, 1 << 20, 1009, 10007):
        for dtype in ("complex64", "complex128"):
            yield case(f"C13 fft {dtype} {size}", "l.fft.fft(x)", size, P, 2.0, dtype, torch=None)
        yield case(f"C13 rfft {size}", "l.fft.rfft(x)", size, P, 2.0, "float64", torch=None)


def _decompositions() -> Iterator[Case]:
    """Judged by NumPy, whose decompositions are those of LAPACK, at four times its time; large
    systems by PyTorch's too."""
    calls = ("cholesky(p)", "qr(a)", "eigh(p)", "svd(a)", "solve(a, b)", "inv(a)")
    for order in (64, 512):
        for call in calls:
            name = call.partition("(")[0]
            large_system = order == 512 and name in ("solve", "inv")
            yield case(
                f"C14 {order} {name}", f"l.linalg.{call}", order**2, P,
                1.5 if large_system else 4.0, torch="" if large_system else None,
            )  # fmt: skip


class Setup:
    """Makes the statements of a case: the same values for every library."""

    def __init__(self, environment: Environment) -> None:
        if not environment.has("numpy"):
            raise SystemExit("NumPy is needed: it makes the operands")
        self.environment = environment
        self.numpy = environment.partners["numpy"]
        own = environment.refarray
        self.libraries = {OURS: own, **environment.partners}
        self.libraries[OUR_STRICT] = own.namespace(strict=True)
        self._of: dict[tuple[str, int], dict[str, Any]] = {}

    def operands(self, dtype: str, size: int) -> dict[str, Any]:
        if (dtype, size) not in self._of:
            random = self.numpy.random.default_rng(7)
            values = random.uniform(1, 100, size), random.uniform(1, 100, size)
            made = {
                "x": values[0].astype(dtype),
                "u": (values[0] / 50 - 1).astype(dtype),
                "v": (values[0] - 50).astype(dtype),
                "s": self.numpy.sort(values[0]).astype(dtype),
                "y": values[1].astype(dtype),
                "m": random.random(size) < 0.5,
                "i": random.integers(0, size, size),
            }
            order = math.isqrt(size)
            if order**2 == size:
                made["a"], made["b"] = (made[name].reshape(order, order) for name in "xy")
                if made["a"].dtype.kind == "f":
                    made["p"] = made["a"] @ made["a"].T
                    made["p"].flat[:: order + 1] += order * 100
            self._of[dtype, size] = made
        return self._of[dtype, size]

    def statements(self, case: Case) -> dict[str, Statement]:
        given: Expression | None = case.given
        if given is None:
            raise Absent("derived from other rows")
        found = {UNIT: unit_statement(self.environment)} if given.of_call else {}
        for library, module in self.libraries.items():
            code = given.code(library)
            if code is None or library not in (OURS, *PEERS, STRICT, OUR_STRICT):
                continue
            words = set(re.findall(r"\w+", code))
            names = {"l": module} if "l" in words else {}
            for name, array in self.operands(given.dtype, given.size).items():
                if name in words:
                    names[name] = array if library == "numpy" else module.from_dlpack(array)
            found[library] = Statement(code, names)
        return found


def summarised(ns: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """The means of C6 and C10, and C15, of the times of the measured rows."""
    found: dict[str, dict[str, float]] = {}
    for dtype in ("float32", "float64"):
        rows = [ns[id_] for name in MATHEMATICS if (id_ := f"C6 {dtype} {name}") in ns]
        if len(rows) == len(MATHEMATICS):
            found[f"C6 {dtype} mean"] = {
                library: statistics.geometric_mean(
                    row[library] / min(row[peer] for peer in PEERS) for row in rows
                )
                for library in (OURS, *PEERS)
            }
    strict = [row for row in ns.values() if {STRICT, OUR_STRICT} <= row.keys()]
    if len(strict) == len(FUNCTIONS):
        means = {
            name: statistics.geometric_mean(row[name] / row[STRICT] for row in strict)
            for name in (OURS, "numpy", STRICT, OUR_STRICT)
        }
        found["C10"] = means
        found["C15 mean"] = {OURS: means[OUR_STRICT], STRICT: means[STRICT]}
    above = {
        id_: (row[OUR_STRICT] - row[OURS]) / row[UNIT]
        for id_, row in ns.items()
        if OUR_STRICT in row
    }
    if len(above) == len(FUNCTIONS) + 8:
        found["C15 above"] = {OURS: statistics.mean(above.values())}
    for name in ("slice", "float"):
        if f"C1 {name}" in above:
            found[f"C15 {name}"] = {OURS: above[f"C1 {name}"]}
    return found
