"""Number formats: names and kinds of the dtypes, and rounding of exact numbers, once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
REAL_FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOATS = (*REAL_FLOATS, *COMPLEX)
REAL = (*INTEGERS, *REAL_FLOATS)
NUMERIC = (*REAL, *COMPLEX)
ALL = ("bool", *NUMERIC)
#: The dtypes of the standard: `ALL` has float16 and bfloat16 beside them.
STANDARD = tuple(name for name in ALL if name not in ("float16", "bfloat16"))
COMPONENT = {"complex64": "float32", "complex128": "float64"}
#: Sets of dtypes, by the words with which the standard names them.
KINDS: dict[str, tuple[str, ...]] = {
    "any": ALL,
    "numeric": NUMERIC,
    "real": REAL,
    "floating": FLOATS,
    "real floating": REAL_FLOATS,
    "complex": COMPLEX,
    "integer": INTEGERS,
    "integer or bool": ("bool", *INTEGERS),
    "bool": ("bool",),
}


class Format(NamedTuple):
    """A binary floating-point format with subnormal numbers."""

    precision: int  # bits of the significand, the first included
    emax: int  # exponent of the largest number

    @property
    def emin(self) -> int:
        return 1 - self.emax

    @property
    def largest(self) -> float:
        return math.ldexp(2**self.precision - 1, self.emax - self.precision + 1)

    @property
    def smallest(self) -> float:
        """The smallest positive number, which is subnormal."""
        return math.ldexp(1.0, self.emin - self.precision + 1)

    @property
    def smallest_normal(self) -> float:
        return math.ldexp(1.0, self.emin)


FORMATS = {
    "float16": Format(11, 15),
    "bfloat16": Format(8, 127),
    "float32": Format(24, 127),
    "float64": Format(53, 1023),
}


def exponent(value: Fraction) -> int:
    """The integer e with 2**e <= abs(value) < 2**(e+1)."""
    top, bottom = abs(value.numerator), value.denominator
    guess = top.bit_length() - bottom.bit_length()
    power = Fraction(2) ** guess
    return guess if power <= abs(value) else guess - 1


def quantum(value: Fraction, dtype: str) -> Fraction:
    """The distance of the numbers of the format around a value."""
    form = FORMATS[dtype]
    lowest = form.emin - form.precision + 1
    if not value:
        return Fraction(2) ** lowest
    return Fraction(2) ** max(exponent(value) - form.precision + 1, lowest)


def rounded(value: Fraction | int, dtype: str) -> float:
    """The nearest number of the format, ties to even; overflow gives infinity. A zero that comes
    from a negative number is -0.0."""
    exact = Fraction(value)
    step = quantum(exact, dtype)
    units = round(exact / step)
    sign = -1.0 if exact < 0 else 1.0
    if abs(units) * step > Fraction(FORMATS[dtype].largest):
        return math.copysign(math.inf, sign)
    return math.copysign(float(units * step), sign)


def ulps(got: float, exact: Fraction, dtype: str) -> Fraction:
    """How far a finite number is from the exact value, in units of its last place."""
    return abs(Fraction(got) - exact) / quantum(exact, dtype)


def bits_of(dtype: str) -> int:
    """Bits of an integer dtype."""
    return int(dtype.lstrip("uint"))


def limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer dtype."""
    bits = bits_of(dtype)
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def wrapped(value: int, dtype: str) -> int:
    """The number of the dtype that is equal modulo 2**bits."""
    low, _ = limits(dtype)
    size: int = 2 ** bits_of(dtype)
    return (value - low) % size + low


def step_towards(value: float, target: float, dtype: str) -> float:
    """The next number of the format from a value in the direction of another."""
    if math.isnan(value) or math.isnan(target):
        return math.nan
    if value == target:
        return target
    up = target > value
    form = FORMATS[dtype]
    if value == 0.0:
        return math.copysign(form.smallest, 1.0 if up else -1.0)
    if math.isinf(value):
        return math.copysign(form.largest, value)
    step = quantum(Fraction(value), dtype)
    grows = up == (value > 0)
    if not grows and abs(Fraction(value)) == Fraction(2) ** exponent(Fraction(value)):
        half = step / 2  # below a power of two the numbers are closer, unless they are subnormal
        step = max(half, Fraction(form.smallest))
    result = Fraction(value) + (step if up else -step)
    if abs(result) > Fraction(form.largest):
        return math.inf if up else -math.inf
    return math.copysign(float(result), value)
