"""finfo() and iinfo(): the numeric limits of dtypes, computed from their binary formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from refarray._native import Array, DType

if TYPE_CHECKING:
    from refarray._native import _DTypeLike


class Format(NamedTuple):
    """A binary floating-point format. Codes 0 to `largest` are its finite non-negative values."""

    exponent_bits: int
    mantissa_bits: int  # without the hidden bit
    bias: int
    reserved: int  # the number of codes above `largest`: infinities and NaNs
    signed: bool = True

    @property
    def largest(self) -> int:
        """The code of the largest finite value: exponent and mantissa bits, without the sign."""
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1 - self.reserved

    def decode(self, code: int) -> float:
        """Return the value of a normal code; every code is normal if there are no mantissa bits."""
        exponent, fraction = divmod(code, 1 << self.mantissa_bits)
        significand = (1 << self.mantissa_bits) + fraction
        return float(significand) * 2.0 ** (exponent - self.bias - self.mantissa_bits)

    @property
    def smallest_normal(self) -> float:
        """The smallest normal value; for unsigned formats, which have no zero, the smallest."""
        return self.decode(1 << self.mantissa_bits if self.signed else 0)


def ieee(exponent_bits: int, mantissa_bits: int) -> Format:
    """Return an IEEE 754 format: the largest exponent is reserved for infinities and NaNs."""
    return Format(
        exponent_bits, mantissa_bits, (1 << (exponent_bits - 1)) - 1, reserved=1 << mantissa_bits
    )


# By dtype name. `fn`: no infinities, and one NaN code, or none below 8 bits. `fnuz`: no infinities
# and no negative zero, whose code is NaN.
FORMATS: dict[str, Format] = {
    "float64": ieee(11, 52),
    "float32": ieee(8, 23),
    "float16": ieee(5, 10),
    "bfloat16": ieee(8, 7),
    "float8_e3m4": ieee(3, 4),
    "float8_e4m3": ieee(4, 3),
    "float8_e5m2": ieee(5, 2),
    "float8_e4m3fn": Format(4, 3, bias=7, reserved=1),
    "float8_e4m3fnuz": Format(4, 3, bias=8, reserved=0),
    "float8_e4m3b11fnuz": Format(4, 3, bias=11, reserved=0),
    "float8_e5m2fnuz": Format(5, 2, bias=16, reserved=0),
    "float8_e8m0fnu": Format(8, 0, bias=127, reserved=1, signed=False),
    "float6_e2m3fn": Format(2, 3, bias=1, reserved=0),
    "float6_e3m2fn": Format(3, 2, bias=3, reserved=0),
    "float4_e2m1fn": Format(2, 1, bias=1, reserved=0),
}
COMPONENTS = {"complex128": "float64", "complex64": "float32", "complex32": "float16"}


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """The limits of a floating-point dtype, or of the components of a complex dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    def __repr__(self) -> str:
        return (
            f"finfo(dtype={self.dtype}, bits={self.bits}, eps={self.eps:.6g}, min={self.min:.6g}, "
            f"max={self.max:.6g}, smallest_normal={self.smallest_normal:.6g})"
        )


@dataclass(frozen=True, slots=True)
class IntInfo:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype}, bits={self.bits}, min={self.min}, max={self.max})"


def scalar_name(type: Array | _DTypeLike, function: str) -> str:
    """Return the name of the scalar type of an array or dtype.

    Raises TypeError for other objects; `function` is named in the message.
    """
    try:
        dtype = type.dtype if isinstance(type, Array) else DType(type)
    except TypeError as error:
        message = f"{function}() takes a dtype, its name or an array, not {type!r}"
        raise TypeError(message) from error
    name = dtype.name.removesuffix("_padded")
    return name if dtype.lanes == 1 else name.rpartition("x")[0]


def float_info(name: str) -> FloatInfo:
    format = FORMATS[name]
    largest = format.decode(format.largest)
    return FloatInfo(
        bits=DType(name).bits,
        eps=2.0**-format.mantissa_bits,
        max=largest,
        min=-largest if format.signed else format.smallest_normal,
        smallest_normal=format.smallest_normal,
        dtype=DType(name),
    )


def finfo(type: Array | _DTypeLike, /) -> FloatInfo:
    """Return the limits of a floating-point dtype: bits, eps, max, min, smallest_normal, dtype.

    type: a dtype, its name or an array. For a complex dtype the limits are those of its components.

    The limits are Python floats. float8_e8m0fnu has neither a sign nor zero: its min is its
    smallest value. Raises TypeError for other dtypes.

    Array API standard, data type functions, since 2021.12.
    """
    name = scalar_name(type, "finfo")
    name = COMPONENTS.get(name, name)
    if name not in FORMATS:
        raise TypeError(f"finfo() takes a floating-point dtype, not {name}")
    return float_info(name)


def iinfo(type: Array | _DTypeLike, /) -> IntInfo:
    """Return the limits of an integer dtype: bits, max, min, dtype.

    type: a dtype, its name or an array.

    Raises TypeError for other dtypes, including bool.

    Array API standard, data type functions, since 2021.12.
    """
    name = scalar_name(type, "iinfo")
    dtype = DType(name)
    if dtype.kind not in ("int", "uint"):
        raise TypeError(f"iinfo() takes an integer dtype, not {name}")
    signed = dtype.kind == "int"
    return IntInfo(
        bits=dtype.bits,
        max=2 ** (dtype.bits - signed) - 1,
        min=-(2 ** (dtype.bits - 1)) if signed else 0,
        dtype=dtype,
    )
