"""Exactly rounded elementwise functions: one right answer for every operand."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from oracles.formats import bits_of, rounded, step_towards, wrapped


def finite(*values: float) -> bool:
    return all(math.isfinite(each) for each in values)


def sign_of(x: float) -> float:
    return math.copysign(1.0, x)


def add(a: float, b: float, dtype: str) -> float:
    exact = a + b if not finite(a, b) else Fraction(a) + Fraction(b)
    return rounded(exact, dtype) if isinstance(exact, Fraction) and exact else float(a + b)


def subtract(a: float, b: float, dtype: str) -> float:
    return add(a, -b, dtype)


def multiply(a: float, b: float, dtype: str) -> float:
    if not finite(a, b):
        return a * b
    return math.copysign(rounded(Fraction(a) * Fraction(b), dtype), sign_of(a) * sign_of(b))


def divide(a: float, b: float, dtype: str) -> float:
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return math.nan
    sign = sign_of(a) * sign_of(b)
    if b == 0 or math.isinf(a):
        return math.copysign(math.inf, sign)
    if math.isinf(b):
        return math.copysign(0.0, sign)
    return math.copysign(rounded(Fraction(a) / Fraction(b), dtype), sign)


def floor_divide(a: float, b: float, dtype: str) -> float:
    """The floor of the exact quotient, rounded; infinite and zero operands follow the division."""
    quotient = divide(a, b, dtype)
    if not finite(a, b) or a == 0 or b == 0:
        return quotient
    floor = math.floor(Fraction(a) / Fraction(b))
    return math.copysign(rounded(floor, dtype), quotient)


def remainder(a: float, b: float, dtype: str) -> float:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    if math.isinf(b):
        return math.copysign(0.0, b) if a == 0 else a if (a > 0) == (b > 0) else b
    exact = Fraction(a) - Fraction(b) * math.floor(Fraction(a) / Fraction(b))
    return math.copysign(rounded(exact, dtype), b)


def larger(a: float, b: float, dtype: str) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def smaller(a: float, b: float, dtype: str) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


FLOAT_BINARY: dict[str, Callable[[float, float, str], Any]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "maximum": larger,
    "minimum": smaller,
    "copysign": lambda a, b, dtype: math.copysign(a, b),
    "nextafter": step_towards,
}


def shift_left(a: int, b: int, dtype: str) -> int:
    return wrapped(a << b, dtype) if 0 <= b < bits_of(dtype) else 0


def shift_right(a: int, b: int, dtype: str) -> int:
    return a >> b if 0 <= b < bits_of(dtype) else (-1 if a < 0 else 0)


def integer_power(a: int, b: int, dtype: str) -> int:
    if b >= 0:
        return wrapped(pow(a, b, 2 ** bits_of(dtype)), dtype)
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


INTEGER_BINARY: dict[str, Callable[[int, int, str], int]] = {
    "add": lambda a, b, dtype: wrapped(a + b, dtype),
    "subtract": lambda a, b, dtype: wrapped(a - b, dtype),
    "multiply": lambda a, b, dtype: wrapped(a * b, dtype),
    "floor_divide": lambda a, b, dtype: wrapped(a // b, dtype) if b else 0,
    "remainder": lambda a, b, dtype: a % b if b else 0,
    "pow": integer_power,
    "maximum": lambda a, b, dtype: max(a, b),
    "minimum": lambda a, b, dtype: min(a, b),
    "bitwise_and": lambda a, b, dtype: a & b,
    "bitwise_or": lambda a, b, dtype: a | b,
    "bitwise_xor": lambda a, b, dtype: a ^ b,
    "bitwise_left_shift": shift_left,
    "bitwise_right_shift": shift_right,
}
BOOL_BINARY: dict[str, Callable[[bool, bool], bool]] = {
    "bitwise_and": lambda a, b: a and b,
    "bitwise_or": lambda a, b: a or b,
    "bitwise_xor": lambda a, b: a != b,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_xor": lambda a, b: a != b,
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}


def kept(work: Callable[[float], int]) -> Callable[[float, str], float]:
    """A rounding function, with the sign of its argument on a zero."""
    return lambda x, dtype: math.copysign(float(work(x)), x) if finite(x) else x


def sign(x: float, dtype: str) -> float:
    return x if math.isnan(x) else 0.0 if x == 0 else sign_of(x)


FLOAT_UNARY: dict[str, Callable[[float, str], Any]] = {
    "abs": lambda x, dtype: abs(x),
    "ceil": kept(math.ceil),
    "floor": kept(math.floor),
    "trunc": kept(math.trunc),
    "round": kept(round),
    "sign": sign,
    "negative": lambda x, dtype: -x,
    "positive": lambda x, dtype: x,
    "conj": lambda x, dtype: x,
    "real": lambda x, dtype: x,
    "square": lambda x, dtype: multiply(x, x, dtype),
    "reciprocal": lambda x, dtype: divide(1.0, x, dtype),
    "signbit": lambda x, dtype: math.copysign(1.0, x) < 0,
    "isnan": lambda x, dtype: math.isnan(x),
    "isinf": lambda x, dtype: math.isinf(x),
    "isfinite": lambda x, dtype: math.isfinite(x),
}
INTEGER_UNARY: dict[str, Callable[[int, str], Any]] = {
    "abs": lambda x, dtype: wrapped(abs(x), dtype),
    "negative": lambda x, dtype: wrapped(-x, dtype),
    "square": lambda x, dtype: wrapped(x * x, dtype),
    "sign": lambda x, dtype: (x > 0) - (x < 0),
    "bitwise_invert": lambda x, dtype: wrapped(~x, dtype),
    **dict.fromkeys(("ceil", "floor", "trunc", "round"), lambda x, dtype: x),
    **dict.fromkeys(("positive", "conj", "real"), lambda x, dtype: x),
    **dict.fromkeys(("isnan", "isinf"), lambda x, dtype: False),
    "isfinite": lambda x, dtype: True,
}
