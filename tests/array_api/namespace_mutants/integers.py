"""Mutants of the bitwise and logical functions and of integer arithmetic."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    as_dtype_of_first,
    boolean,
    first,
    ignoring_strides,
    instead,
    integer,
    last_as_first,
    longer,
    of,
    second,
    signed,
    swapped,
    then,
    when,
    with_scalar,
)

import refarray as xp


def width(x: Any) -> int:
    return int(xp.iinfo(x.dtype).bits)


def both(x: Any, y: Any) -> bool:
    """Both operands are arrays of integers of different dtypes."""
    return integer(x) and integer(y) and x.dtype != y.dtype


plant("bitwise_and", "or", "computes the or", instead(lambda x, y: xp.bitwise_or(x, y)))
plant(
    "bitwise_and",
    "logical",
    "whether both are nonzero",
    lambda f, x, y: xp.astype((x != 0) & (y != 0), f(x, y).dtype),
)
plant(
    "bitwise_and",
    "high-byte",
    "only the lowest 32 bits of int64 count",
    when(of("int64"), lambda f, x, y: f(x, y) & 0xFFFFFFFF),
)
plant("bitwise_or", "xor", "computes the exclusive or", instead(lambda x, y: xp.bitwise_xor(x, y)))
plant("bitwise_or", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("bitwise_xor", "or", "computes the or", instead(lambda x, y: xp.bitwise_or(x, y)))
plant("bitwise_xor", "bool", "of bool computes equality", when(boolean, then(lambda x: ~x)))
plant("bitwise_invert", "negates", "-x instead of -x - 1", when(integer, instead(lambda x: -x)))
plant(
    "bitwise_invert", "bool", "returns bool unchanged", when(boolean, instead(lambda x: xp.copy(x)))
)
plant("bitwise_left_shift", "one-more", "shifts one bit too far", then(lambda x: xp.multiply(x, 2)))
plant(
    "bitwise_left_shift",
    "modulo",
    "shifts by the count modulo the width",
    second(lambda y: y & (width(y) - 1)),
)
plant("bitwise_left_shift", "swapped", "shifts the second operand by the first", swapped)
plant("bitwise_left_shift", "dtype", "the result has the first operand's dtype", as_dtype_of_first)
plant(
    "bitwise_right_shift",
    "logical",
    "shifts zeros into negative numbers",
    when(
        signed,
        lambda f, x, y: xp.where((x < 0) & (y > 0), f(x, y) & xp.iinfo(x.dtype).max >> 1, f(x, y)),
    ),
)
plant(
    "bitwise_right_shift",
    "to-zero",
    "rounds negative results toward 0",
    when(signed, lambda f, x, y: xp.where(x < 0, -f(-x, y), f(x, y))),
)
plant(
    "bitwise_right_shift",
    "left",
    "shifts to the left",
    instead(lambda x, y: xp.bitwise_left_shift(x, y)),
)
plant("logical_and", "or", "computes the or", instead(lambda x, y: xp.logical_or(x, y)))
plant(
    "logical_and",
    "first",
    "returns the first operand",
    lambda f, x, y: xp.broadcast_to(x, f(x, y).shape),
)
plant("logical_or", "xor", "computes the exclusive or", instead(lambda x, y: xp.logical_xor(x, y)))
plant("logical_or", "tail", "the last element repeats the first", then(last_as_first))
plant("logical_xor", "and", "computes the and", instead(lambda x, y: xp.logical_and(x, y)))
plant("logical_xor", "or", "True also if both are", instead(lambda x, y: xp.logical_or(x, y)))
plant("logical_not", "same", "returns the operand", instead(lambda x: xp.copy(x)))
plant("logical_not", "strides", "reads strided operands as contiguous", ignoring_strides)

plant(
    "add",
    "saturates",
    "int8 saturates instead of wrapping",
    when(
        of("int8"),
        lambda f, x, y: xp.astype(
            xp.clip(f(xp.astype(x, "int64"), xp.astype(y, "int64")), -128, 127), f(x, y).dtype
        ),
    ),
)
plant(
    "add",
    "through-float",
    "int64 goes through float64",
    when(
        of("int64", "uint64"),
        lambda f, x, y: xp.astype(
            f(xp.astype(x, "float64"), xp.astype(y, "float64")), f(x, y).dtype
        ),
    ),
)
plant(
    "add",
    "narrow",
    "mixed integers are added in the first operand's dtype",
    when(both, as_dtype_of_first),
)
plant(
    "add",
    "scalar-twice",
    "Python numbers are added twice",
    when(with_scalar, lambda f, x, y: f(f(x, y), y)),
)
plant(
    "subtract",
    "unsigned",
    "unsigned results below 0 become 0",
    when(of("uint8", "uint16", "uint32", "uint64"), lambda f, x, y: xp.where(x < y, 0, f(x, y))),
)
plant(
    "subtract",
    "narrow",
    "mixed integers are subtracted in the first operand's dtype",
    when(both, as_dtype_of_first),
)
plant(
    "multiply",
    "high-half",
    "int64 products beyond 2^53 lose their lowest bits",
    when(
        of("int64"),
        lambda f, x, y: xp.astype(
            f(xp.astype(x, "float64"), xp.astype(y, "float64")), f(x, y).dtype
        ),
    ),
)
plant(
    "multiply",
    "narrow",
    "mixed integers are multiplied in the second operand's dtype",
    when(both, lambda f, x, y: xp.astype(f(x, y), y.dtype)),
)
plant(
    "floor_divide",
    "truncates",
    "integer quotients are rounded toward 0",
    when(
        signed, lambda f, x, y: xp.where((f(x, y) < 0) & (f(x, y) * y != x), f(x, y) + 1, f(x, y))
    ),
)
plant(
    "floor_divide",
    "through-float",
    "int64 goes through float64",
    when(
        of("int64"),
        lambda f, x, y: xp.astype(
            f(xp.astype(x, "float64"), xp.astype(y, "float64")), f(x, y).dtype
        ),
    ),
)
plant(
    "floor_divide",
    "long",
    "the last quotient of more than 64 integers repeats the first",
    when(lambda x, y: integer(x) and longer(64)(x), then(last_as_first)),
)
plant(
    "remainder",
    "truncates",
    "integer remainders have the dividend's sign",
    when(
        signed,
        lambda f, x, y: xp.where((f(x, y) != 0) & ((x < 0) != (y < 0)), f(x, y) - y, f(x, y)),
    ),
)
plant(
    "remainder",
    "unsigned",
    "int8 operands are taken as unsigned",
    when(
        of("int8"),
        lambda f, x, y: xp.astype(
            f(xp.astype(xp.astype(x, "uint8"), "int16"), xp.astype(y, "int16")), "int8"
        ),
    ),
)
plant(
    "pow",
    "through-float",
    "int64 goes through float64",
    when(
        of("int64"),
        lambda f, x, y: xp.astype(
            f(xp.astype(x, "float64"), xp.astype(y, "float64")), f(x, y).dtype
        ),
    ),
)
plant(
    "pow", "even", "negative bases give positive powers", when(signed, first(lambda x: xp.abs(x)))
)
plant(
    "pow",
    "zero",
    "x to the power of 0 is 0 for integers",
    when(integer, lambda f, x, y: xp.where(y == 0, 0, f(x, y))),
)
