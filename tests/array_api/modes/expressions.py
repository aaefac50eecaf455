"""Expressions with `xp` and arrays, which every strict implementation of the standard can evaluate.

For each dtype there are a vector (`f64`), a matrix (`f64m`) and a number (`f64s`, ndim 0).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

DTYPES = {
    "b1": "bool",
    **{f"i{8 * n}": f"int{8 * n}" for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": f"uint{8 * n}" for n in (1, 2, 4, 8)},
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
#: One dtype of each kind.
KINDS = ("b1", "i32", "i64", "u8", "f32", "f64", "c128")
NUMBERS = ("True", "2", "2.5", "2j")
#: What is neither an array nor a number.
OTHERS = ("None", "'x'", "[1, 2, 3]", "(1, 2, 3)", "object")

UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag"
    " isfinite isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal round"
    " sign signbit sin sinh sqrt square tan tanh trunc"
).split()
BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign"
    " divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and"
    " logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"
).split()
OPERATORS = "+ - * / // % ** & | ^ << >> < <= == != > >= @".split()
REDUCTIONS = (
    "all any argmax argmin count_nonzero max mean min prod std sum var cumulative_sum"
    " cumulative_prod sort argsort nonzero unique_all unique_counts unique_inverse unique_values"
    " diff flip"
).split()


def variables(xp: Any) -> dict[str, Any]:
    """The names that the expressions use."""
    out: dict[str, Any] = {"xp": xp, "object": object()}
    for short, name in DTYPES.items():
        dtype = getattr(xp, name)
        values = [True, False, True] if short == "b1" else [1, 2, 3]
        square = [[True, False], [True, True]] if short == "b1" else [[2, 1], [1, 3]]
        out[short] = xp.asarray(values, dtype=dtype)
        out[f"{short}m"] = xp.asarray(square, dtype=dtype)
        out[f"{short}s"] = xp.asarray(values[0], dtype=dtype)
    return out


def elementwise() -> Iterator[str]:
    for name in UNARY:
        yield from (f"xp.{name}({x})" for x in (*DTYPES, *NUMBERS, *OTHERS))
        yield from (f"xp.{name}(x=f64)", f"xp.{name}(f64, f64)", f"xp.{name}(f64, out=f64)")
    for name in BINARY:
        yield from (f"xp.{name}({a}, {b})" for a, b in itertools.product(DTYPES, DTYPES))
        for x, other in itertools.product(KINDS, (*NUMBERS, *OTHERS)):
            yield from (f"xp.{name}({x}, {other})", f"xp.{name}({other}, {x})")
        yield from (f"xp.{name}(x1=f64, x2=f64)", f"xp.{name}(f64)", f"xp.{name}(2, 2)")


def operators() -> Iterator[str]:
    for each in OPERATORS:
        for a, b in itertools.product(KINDS, KINDS):
            yield f"{a} {each} {b}"
            yield f"{a}m {each} {b}m"
        for x, other in itertools.product(KINDS, (*NUMBERS, *OTHERS)):
            yield from (f"{x} {each} {other}", f"{other} {each} {x}")
    yield from (f"{sign}{x}" for sign in ("-", "+", "~") for x in DTYPES)
    for function in ("abs", "bool", "int", "float", "complex", "len", "list", "hash", "round"):
        yield from (f"{function}({x}{shape})" for x in KINDS for shape in ("", "s", "m"))
    yield from (f"[7, 8, 9][{x}s]" for x in DTYPES)
