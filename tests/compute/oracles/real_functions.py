"""Exact real functions of one and two floating-point numbers, special cases included.

A function returns a Fraction or an mpf with 60 digits where the result is finite and not zero, and
a float where it is zero, infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

from oracles.formats import FORMATS

Exact = Fraction | float
CONTEXT = mpmath.MPContext()
CONTEXT.prec = 240
#: Beyond these binary exponents every format overflows or underflows.
HUGE = 5000

MONOTONE_ODD = ("asinh", "atan", "sinh", "tan", "tanh", "asin", "atanh", "sin", "expm1", "log1p")
#: Where a function is defined; elsewhere the result is NaN.
DOMAINS: dict[str, Callable[[float], bool]] = {
    "acos": lambda x: -1 <= x <= 1,
    "asin": lambda x: -1 <= x <= 1,
    "acosh": lambda x: x >= 1,
    "atanh": lambda x: -1 <= x <= 1,
    "log": lambda x: x >= 0,
    "log2": lambda x: x >= 0,
    "log10": lambda x: x >= 0,
    "log1p": lambda x: x >= -1,
    "sqrt": lambda x: x >= 0,
    "sin": math.isfinite,
    "cos": math.isfinite,
    "tan": math.isfinite,
}
#: Values at -infinity, +infinity and, for logarithms and atanh, at the ends of the domain.
AT_MINUS_INFINITY = {"atan": None, "exp": 0.0, "expm1": -1.0, "tanh": -1.0, "cosh": math.inf}
AT_INFINITY = {"atan": None, "tanh": 1.0}
POLES = {
    ("log", 0.0): -math.inf,
    ("log2", 0.0): -math.inf,
    ("log10", 0.0): -math.inf,
    ("log1p", -1.0): -math.inf,
    ("atanh", 1.0): math.inf,
    ("atanh", -1.0): -math.inf,
}


def settled(value: Any) -> Exact:
    """A Fraction, or an infinity or zero where every format overflows or underflows."""
    if not value:
        return 0.0
    sign = -1.0 if value < 0 else 1.0
    size = CONTEXT.mag(value)
    if abs(size) > HUGE:
        return math.copysign(math.inf if size > 0 else 0.0, sign)
    _, man, power, _ = value._mpf_
    return Fraction(int(man)) * Fraction(2) ** int(power) * int(sign)


def evaluated(name: str, x: float) -> Exact:
    """The function of a finite number in its domain, at no pole."""
    work = {
        "log2": lambda v: CONTEXT.log(v) / CONTEXT.ln2 if not is_power(x, 2) else power_of(x, 2),
        "log10": lambda v: CONTEXT.log10(v) if not is_power(x, 10) else power_of(x, 10),
        "expm1": CONTEXT.expm1,
        "log1p": CONTEXT.log1p,
    }.get(name, getattr(CONTEXT, name, None))
    assert work is not None
    if x == 0.0 and name in (*MONOTONE_ODD, "sqrt"):
        return x
    if name in MONOTONE_ODD and 0 < abs(x) < 2.0**-60:
        CONTEXT.prec = 2400  # the result differs from x beyond the sixtieth digit
    try:
        return settled(CONTEXT.convert(work(CONTEXT.mpf(x))))
    finally:
        CONTEXT.prec = 240


def is_power(x: float, base: int) -> bool:
    return x in (float(base) ** n for n in range(-20 if base == 2 else 0, 21))


def power_of(x: float, base: int) -> Any:
    return CONTEXT.mpf(round(math.log(x, base)))


def real_unary(name: str, x: float) -> Exact:
    if math.isnan(x):
        return x
    if (x == math.inf and name in AT_INFINITY) or (x == -math.inf and name in AT_MINUS_INFINITY):
        if name == "atan":
            return settled(CONTEXT.pi / 2 * (1 if x > 0 else -1))
        return AT_INFINITY[name] if x > 0 else AT_MINUS_INFINITY[name]  # type: ignore[return-value]
    if name in DOMAINS and not DOMAINS[name](x):
        return math.nan
    if (name, x) in POLES:
        return POLES[name, x]
    if math.isinf(x):
        return x
    return evaluated(name, x)


def is_odd(x: float) -> bool:
    return x.is_integer() and x % 2 == 1


def special_power(x: float, y: float) -> float | None:
    """pow where an operand is zero, one, infinite or NaN, or the result is NaN."""
    if y == 0 or x == 1:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if math.isinf(y):
        if abs(x) == 1:
            return 1.0
        return math.inf if (abs(x) > 1) == (y > 0) else 0.0
    if x == 0 or math.isinf(x):
        sign = math.copysign(1.0, x) if is_odd(abs(y)) else 1.0
        return math.copysign(math.inf if (x == 0) == (y < 0) else 0.0, sign)
    if x < 0 and not y.is_integer():
        return math.nan
    return None


def power(x: float, y: float) -> Exact:
    special = special_power(x, y)
    if special is not None:
        return special
    sign = -1 if x < 0 and is_odd(abs(y)) else 1
    if y.is_integer() and abs(y) <= 64:
        return Fraction(x) ** int(y)
    size = CONTEXT.log(abs(CONTEXT.mpf(x))) * CONTEXT.mpf(y)
    if abs(size) > HUGE:
        return math.copysign(math.inf if size > 0 else 0.0, sign)
    return settled(CONTEXT.exp(size) * sign)


def arc_tangent(y: float, x: float) -> Exact:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if math.isinf(x) or math.isinf(y) or x == 0 or y == 0:
        eighths = math.atan2(y, x) / math.pi * 4  # a multiple of pi / 4, or a zero with its sign
        return settled(CONTEXT.pi * round(eighths) / 4) if round(eighths) else eighths
    # An angle differs from a small quotient far beyond the sixtieth digit.
    with CONTEXT.workprec(2400 if abs(y) < 2.0**-60 * abs(x) else CONTEXT.prec):
        return settled(CONTEXT.atan2(CONTEXT.mpf(y), CONTEXT.mpf(x)))


def hypotenuse(x: float, y: float) -> Exact:
    if math.isinf(x) or math.isinf(y):
        return math.inf
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return settled(CONTEXT.sqrt(CONTEXT.mpf(x) ** 2 + CONTEXT.mpf(y) ** 2))


def log_add_exp(x: float, y: float) -> Exact:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    large, small = max(x, y), min(x, y)
    if math.isinf(large):
        return large
    if math.isinf(small):
        return Fraction(large) if large else 0.0  # log 1
    rest = CONTEXT.log1p(CONTEXT.exp(CONTEXT.mpf(small) - CONTEXT.mpf(large)))
    return settled(CONTEXT.mpf(large) + rest)


def precision_of(dtype: str) -> int:
    return FORMATS[dtype].precision


REAL_BINARY: dict[str, Callable[[float, float], Exact]] = {
    "pow": power,
    "atan2": arc_tangent,
    "hypot": hypotenuse,
    "logaddexp": log_add_exp,
}
