"""Sample elements of every dtype: limits, signed zeros, infinities, NaN, ties and plain numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from oracles.formats import COMPLEX, COMPONENT, FORMATS, INTEGERS, limits, rounded

PLAIN = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 10.25, 100.75)
ROUGH = (Fraction(1, 3), Fraction(1, 1000), Fraction(31, 10), Fraction(88, 7), Fraction(7, 10))


def real_floats(dtype: str) -> list[float]:
    form = FORMATS[dtype]
    small = (form.smallest, 3 * form.smallest, form.smallest_normal, 2.0**-10, 1 + 2.0**-7)
    large = (form.largest, form.largest / 4, rounded(Fraction(8191, 4), dtype))
    rough = [rounded(each, dtype) for each in ROUGH]
    positive = [rounded(Fraction(each), dtype) for each in (*PLAIN, *rough, *small, *large)]
    positive = [0.0, *positive, math.inf]
    return [*positive, *(-each for each in positive), math.nan]


def integers(dtype: str) -> list[int]:
    low, high = limits(dtype)
    near = [low, low + 1, low // 2, high // 2 + 1, high - 1, high, 85, 100, 17]
    small = [0, 1, 2, 3, 5, 7, 8, 11, 31, 32, 63, 64]
    signed = [-1, -2, -3, -7, -11, -64] if low < 0 else []
    return [each for each in dict.fromkeys([*small, *signed, *near]) if low <= each <= high]


#: Finite components for complex numbers, none zero: no sample lies on a branch cut.
COMPONENTS = (0.25, -0.25, 0.75, -1.5, 1.0, 2.0, -3.0, 0.001, -11.0)


def complexes(dtype: str) -> list[complex]:
    part = COMPONENT[dtype]
    parts = [rounded(Fraction(each), part) for each in COMPONENTS]
    return [complex(a, b) for a in parts for b in parts]


def samples(dtype: str) -> list[Any]:
    """The samples, their number made a multiple of four."""
    if dtype == "bool":
        return [True, False, False, True]
    if dtype in INTEGERS:
        found: list[Any] = list(integers(dtype))
    else:
        found = list(complexes(dtype) if dtype in COMPLEX else real_floats(dtype))
    while len(found) % 4:
        found.append(found[len(found) // 2])
    return found


def pairs(dtype: str) -> tuple[list[Any], list[Any]]:
    """Every sample with every sample, in two lists."""
    each = samples(dtype)
    each = each[::2] if dtype in COMPLEX else each
    while len(each) % 4:
        each = [*each, each[1]]
    return [a for a in each for _ in each], [b for _ in each for b in each]
