"""Formatting of numbers: the shortest decimals that identify a value of the dtype, in columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from refarray._info import COMPONENTS, FORMATS, Format

# Columns with magnitudes outside this range are written with exponents.
LARGEST_PLAIN = Decimal(10) ** 8
SMALLEST_PLAIN = Decimal(10) ** -4


def nearest(value: float, format: Format) -> float:
    """Round to `format`, ties to even, ignoring its largest exponent."""
    lowest = 1 - format.bias if format.signed else -format.bias
    exponent = max(math.frexp(value)[1] - 1, lowest) - format.mantissa_bits
    return math.ldexp(round(math.ldexp(value, -exponent)), exponent)


def shortest(value: float, format: Format) -> Decimal:
    """Return the decimal with the fewest digits that rounds to `value`, which must be finite."""
    if format.mantissa_bits >= 52:
        return Decimal(repr(value))
    for digits in range(17):
        text = f"{value:.{digits}e}"
        if nearest(float(text), format) == value:
            return Decimal(text)
    return Decimal(repr(value))  # `value` is not a value of the format


def strip(text: str) -> str:
    """Strip the trailing zeros of a fraction, but keep the point, which marks a float."""
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.rstrip('0')}"


def justify(texts: Sequence[str]) -> list[str]:
    """Right-justify to the width of the longest text; there is at least one."""
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def plain(decimals: list[Decimal], precision: int) -> list[str]:
    """Format without exponents, with aligned decimal points."""
    texts = [strip(f"{decimal:.{precision}f}") for decimal in decimals]
    places = max((len(text) - text.index(".") for text in texts), default=0)
    return [text.ljust(text.index(".") + places) for text in texts]


def scientific(decimals: list[Decimal], precision: int) -> list[str]:
    """Format with exponents; all mantissas have one length, and all exponents."""
    rounded = [Decimal(f"{decimal:.{precision}e}") for decimal in decimals]
    exponents = [decimal.adjusted() if decimal else 0 for decimal in rounded]
    mantissas = [
        strip(f"{decimal.scaleb(-exponent):.{precision}f}")
        for decimal, exponent in zip(rounded, exponents, strict=True)
    ]
    places = max(len(text.partition(".")[2]) for text in mantissas)
    width = 1 + max(len(str(abs(exponent))) for exponent in exponents)
    return [
        f"{text}{'0' * (places - len(text.partition('.')[2]))}e{exponent:+0{max(width, 3)}d}"
        for text, exponent in zip(mantissas, exponents, strict=True)
    ]


def float_column(values: Sequence[float], format: Format, precision: int) -> list[str]:
    """Format floats as an aligned column."""
    decimals = [shortest(value, format) for value in values if math.isfinite(value)]
    sizes = [abs(decimal) for decimal in decimals if decimal]
    wide = bool(sizes) and (max(sizes) >= LARGEST_PLAIN or min(sizes) < SMALLEST_PLAIN)
    texts = iter((scientific if wide else plain)(decimals, precision))
    return justify([next(texts) if math.isfinite(value) else str(value) for value in values])


def complex_column(values: Sequence[complex], format: Format, precision: int) -> list[str]:
    """Format complex numbers as an aligned column; `format` is that of the components."""
    real = float_column([value.real for value in values], format, precision)
    imaginary = [
        text.lstrip() if text.lstrip().startswith("-") else "+" + text.lstrip()
        for text in float_column([value.imag for value in values], format, precision)
    ]
    width = max(map(len, imaginary))
    return [
        f"{a}{b.rjust(width).rstrip()}j{' ' * (len(b) - len(b.rstrip()))}"
        for a, b in zip(real, imaginary, strict=True)
    ]


def column(values: Sequence[Any], dtype_name: str, precision: int) -> list[str]:
    """Format values of a scalar dtype, at least one, as an aligned column."""
    format = FORMATS.get(COMPONENTS.get(dtype_name, dtype_name))
    if format is None:  # booleans and integers
        return justify([str(value) for value in values])
    make: Callable[..., list[str]] = complex_column if dtype_name in COMPONENTS else float_column
    return make(values, format, precision)
