"""Owns finfo and iinfo: the numeric limits of every dtype, worked out from how its bits are laid
out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from refarray._native import Array, DType

if TYPE_CHECKING:
    from refarray._native import _DTypeLike


class Format(NamedTuple):
    """How a floating-point type uses its bits. Its finite values are those of the codes 0 to
    `largest`."""

    exponent_bits: int
    mantissa_bits: int  # without the hidden one
    bias: int
    reserved: int  # codes above the largest finite one: infinities and NaNs
    signed: bool = True

    @property
    def largest(self) -> int:
        """The code of the largest finite value: exponent and mantissa bits, without the sign."""
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1 - self.reserved

    def decode(self, code: int) -> float:
        """The value of a code with an exponent other than 0 (or of any code where there is no
        mantissa)."""
        exponent, fraction = divmod(code, 1 << self.mantissa_bits)
        significand = (1 << self.mantissa_bits) + fraction
        return float(significand) * 2.0 ** (exponent - self.bias - self.mantissa_bits)

    @property
    def smallest_normal(self) -> float:
        """The smallest value with the hidden bit set: all positive values where there is neither
        sign nor zero."""
        return self.decode(1 << self.mantissa_bits if self.signed else 0)


def ieee(exponent_bits: int, mantissa_bits: int) -> Format:
    """As IEEE 754 has it: the top exponent is kept for infinities and NaNs."""
    return Format(
        exponent_bits, mantissa_bits, (1 << (exponent_bits - 1)) - 1, reserved=1 << mantissa_bits
    )


# By the name of a real dtype. `fn`: finite, one NaN code (none below 8 bits); `fnuz`: NaN is where
# -0 would be.
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
    """Limits of a floating-point dtype, or of the components of a complex one."""

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
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype}, bits={self.bits}, min={self.min}, max={self.max})"


def scalar_name(type: Array | _DTypeLike, what: str) -> str:
    """The name of the scalar type of an array or of a dtype; TypeError, in the name of `what`, for
    anything else."""
    if not isinstance(type, (Array, DType, str)) and type not in (bool, int, float, complex):
        raise TypeError(f"{what}() takes a dtype, its name or an array, not {type!r}")
    dtype = type.dtype if isinstance(type, Array) else DType(type)
    name = dtype.name.removesuffix("_padded")
    return name if dtype.lanes == 1 else name.rpartition("x")[0]


def float_info(name: str) -> FloatInfo:
    """What finfo returns for a real floating-point type."""
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
    """Limits of a floating-point dtype (array API 2025.12): bits, eps, max, min, smallest_normal
    and dtype.

    Takes a dtype, its name or an array. For a complex dtype the limits are those of its components.
    The numbers are Python floats. float8_e8m0fnu has neither sign nor zero: its min is its smallest
    value.

    Raises TypeError for a dtype that is not floating-point.
    """
    name = scalar_name(type, "finfo")
    name = COMPONENTS.get(name, name)
    if name not in FORMATS:
        raise TypeError(f"finfo() takes a floating-point dtype, not {name}")
    return float_info(name)


def iinfo(type: Array | _DTypeLike, /) -> IntInfo:
    """Limits of an integer dtype (array API 2025.12): bits, max, min and dtype.

    Takes a dtype, its name or an array. Raises TypeError for a dtype that is not an integer; bool
    is none.
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
