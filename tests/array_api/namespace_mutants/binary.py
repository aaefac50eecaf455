"""Mutants of the elementwise functions of two floating-point or complex operands, and of clip()."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    as_dtype_of_first,
    complex_,
    first,
    ignoring_strides,
    in_precision,
    instead,
    integer,
    is_array,
    last_as_first,
    longer,
    next_up,
    of,
    rank,
    real,
    second,
    swapped,
    then,
    when,
    with_scalar,
    without_nan,
    without_negative_zero,
)

import refarray as xp


def float_and_complex(x: Any, y: Any) -> bool:
    return real(x) and complex_(y)


def transposing(f: Any, x: Any, y: Any) -> Any:
    """The second operand is transposed if it is square."""
    return f(x, y.mT if y.shape[-1] == y.shape[-2] else y)


def aligned_left(f: Any, x: Any, y: Any) -> Any:
    """The dimensions of the second operand are aligned at the left."""
    out = f(x, xp.reshape(y, (*y.shape, *(1,) * (x.ndim - y.ndim))))
    return out if out.shape == f(x, y).shape else f(x, y)


plant("add", "subtracts", "computes the difference", instead(lambda x, y: xp.subtract(x, y)))
plant("add", "minus-zero", "-0 + -0 gives +0", when(real, then(without_negative_zero)))
plant("add", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "add",
    "long",
    "the last of more than 1000 elements repeats the first",
    when(longer(1000), then(last_as_first)),
)
plant("add", "broadcast", "aligns the shape of the second operand at the left", aligned_left)
plant(
    "add",
    "float32",
    "float64 operands are rounded to float32",
    when(of("float64"), in_precision("float32")),
)
plant("subtract", "swapped", "the operands change places", swapped)
plant("subtract", "nan", "inf - inf gives 0", when(real, then(without_nan(0.0))))
plant("subtract", "transposed", "square second operands are transposed", when(rank(2), transposing))
plant("multiply", "adds", "computes the sum", instead(lambda x, y: xp.add(x, y)))
plant("multiply", "nan", "0 * inf gives 0", when(real, then(without_nan(0.0))))
plant(
    "multiply",
    "conjugate",
    "complex: the second operand is conjugated",
    when(complex_, second(xp.conj)),
)
plant("multiply", "dtype", "the result has the first operand's dtype", as_dtype_of_first)
plant(
    "multiply",
    "bfloat16",
    "float16 is computed with 8 bits",
    when(of("float16"), in_precision("bfloat16")),
)
plant("divide", "swapped", "the operands change places", swapped)
plant(
    "divide",
    "reciprocal",
    "multiplies by the reciprocal: not correctly rounded",
    when(real, instead(lambda x, y: x * xp.reciprocal(y))),
)
plant(
    "divide",
    "zero",
    "quotients by 0 are 0",
    when(real, lambda f, x, y: xp.where(y == 0, 0.0, f(x, y))),
)
plant(
    "divide",
    "complex",
    "complex: the quotient is not scaled by the divisor's magnitude",
    when(complex_, instead(lambda x, y: x * xp.conj(y))),
)
plant(
    "divide",
    "float-complex",
    "real / complex has the other imaginary sign",
    when(float_and_complex, then(xp.conj)),
)
plant(
    "floor_divide",
    "trunc",
    "floating-point quotients are rounded toward 0",
    when(real, instead(lambda x, y: xp.trunc(xp.divide(x, y)))),
)
plant("floor_divide", "swapped", "the operands change places", swapped)
plant("floor_divide", "minus-zero", "-0 // 1 gives +0", when(real, then(without_negative_zero)))
plant(
    "remainder",
    "fmod",
    "floating-point remainders have the dividend's sign",
    when(real, lambda f, x, y: xp.copysign(f(xp.abs(x), xp.abs(y)), x)),
)
plant("remainder", "swapped", "the operands change places", swapped)
plant(
    "remainder",
    "infinite",
    "x % inf gives NaN",
    when(real, lambda f, x, y: xp.where(xp.isinf(y), xp.nan, f(x, y))),
)
plant("pow", "swapped", "the operands change places", swapped)
plant(
    "pow",
    "exp-log",
    "exp(y * log(x)): NaN for negative bases",
    when(real, instead(lambda x, y: xp.exp(y * xp.log(x)))),
)
plant(
    "pow",
    "nan",
    "1 to the power of NaN, and NaN to the power of 0, give NaN",
    when(real, lambda f, x, y: xp.where(xp.isnan(x) | xp.isnan(y), xp.nan, f(x, y))),
)
plant("pow", "odd", "-0 to odd powers gives +0", when(real, then(without_negative_zero)))
plant("atan2", "swapped", "the operands change places", swapped)
plant(
    "atan2", "quadrant", "the quadrant is lost: atan(y / x)", instead(lambda x, y: xp.atan(x / y))
)
plant(
    "atan2", "zero", "the sign of zero in the second operand is lost", second(without_negative_zero)
)
plant(
    "hypot",
    "overflow",
    "sqrt(x * x + y * y), which overflows",
    instead(lambda x, y: xp.sqrt(x * x + y * y)),
)
plant("hypot", "sum", "|x| + |y|", instead(lambda x, y: xp.abs(x) + xp.abs(y)))
plant(
    "hypot",
    "nan",
    "hypot(inf, NaN) gives NaN",
    lambda f, x, y: xp.where(xp.isnan(x) | xp.isnan(y), xp.nan, f(x, y)),
)
plant(
    "logaddexp",
    "overflow",
    "log(exp(x) + exp(y)), which overflows",
    instead(lambda x, y: xp.log(xp.exp(x) + xp.exp(y))),
)
plant("logaddexp", "larger", "returns the larger operand", instead(lambda x, y: xp.maximum(x, y)))
plant("logaddexp", "base-2", "computes with powers of 2", then(lambda x: x * 1.4426950408889634))
plant(
    "nextafter",
    "away",
    "steps away from the second operand",
    lambda f, x, y: xp.where(x == y, y, f(x, xp.where(y > x, xp.full_like(x, -xp.inf), xp.inf))),
)
plant(
    "nextafter",
    "equal",
    "of equal operands returns the first: nextafter(0, -0) is +0",
    lambda f, x, y: xp.where(x == y, x, f(x, y)),
)
plant(
    "nextafter", "stays", "returns the first operand", lambda f, x, y: xp.where(f(x, y) == y, y, x)
)
plant("copysign", "swapped", "the operands change places", swapped)
plant("copysign", "zero", "-0 counts as positive", second(without_negative_zero))
plant(
    "copysign",
    "negative",
    "negative first operands stay negative",
    lambda f, x, y: xp.where(x < 0, x, f(x, y)),
)
plant("copysign", "nan", "the sign of NaN in the second operand is lost", second(without_nan(1.0)))
plant(
    "maximum",
    "nan",
    "ignores NaN",
    when(real, lambda f, x, y: xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, f(x, y)))),
)
plant(
    "maximum",
    "nan-second",
    "NaN in the second operand is ignored",
    when(real, lambda f, x, y: xp.where(xp.isnan(y), x, f(x, y))),
)
plant("maximum", "minimum", "computes the minimum", instead(lambda x, y: xp.minimum(x, y)))
plant(
    "minimum",
    "nan",
    "ignores NaN",
    when(real, lambda f, x, y: xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, f(x, y)))),
)
plant(
    "minimum",
    "signed",
    "uint64 is compared as int64",
    when(
        of("uint64"), lambda f, x, y: xp.where(xp.astype(x, "int64") < xp.astype(y, "int64"), x, y)
    ),
)
plant("minimum", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("maximum", "dtype", "the result has the first operand's dtype", as_dtype_of_first)


def bounds(lower: Any, upper: Any) -> Any:
    """clip() with other bounds."""

    def broken(f: Any, x: Any, min: Any = None, max: Any = None) -> Any:
        return f(x, lower(min, max), upper(min, max))

    return broken


def clip_nan(f: Any, x: Any, min: Any = None, max: Any = None) -> Any:
    return xp.where(xp.isnan(x), min, f(x, min, max))


def clip_strictly(f: Any, x: Any, min: Any = None, max: Any = None) -> Any:
    return xp.where(x == max, max - 1, f(x, min, max))


def clip_mask(f: Any, x: Any, min: Any = None, max: Any = None) -> Any:
    """A bound that is NaN is ignored."""
    out = f(x, min, max)
    out = xp.where(xp.isnan(min), f(x, None, max), out) if real(min) else out
    return xp.where(xp.isnan(max), f(x, min, None), out) if real(max) else out


plant("clip", "no-min", "the lower bound is ignored", bounds(lambda a, b: None, lambda a, b: b))
plant("clip", "no-max", "the upper bound is ignored", bounds(lambda a, b: a, lambda a, b: None))
plant("clip", "swapped", "the bounds change places", bounds(lambda a, b: b, lambda a, b: a))
plant("clip", "nan", "NaN becomes the lower bound", when(real, clip_nan))
plant("clip", "exclusive", "the upper bound is excluded", when(integer, clip_strictly))
plant("clip", "nan-bound", "bounds that are NaN are ignored", clip_mask)
plant(
    "clip",
    "first-bound",
    "of an array of bounds only the first counts",
    bounds(lambda a, b: xp.reshape(a, (-1,))[0] if is_array(a) else a, lambda a, b: b),
)
plant("clip", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("divide", "next", "one unit in the last place too large", when(real, then(next_up)))
plant(
    "multiply",
    "scalar",
    "Python numbers are truncated to integers",
    when(with_scalar, lambda f, x, y: f(x, float(int(y))) if is_array(x) else f(float(int(x)), y)),
)
plant(
    "subtract",
    "scalar-dtype",
    "with Python numbers the result is float64",
    when(with_scalar, then(lambda x: xp.astype(x, "float64") if real(x) else x)),
)
plant("pow", "complex", "complex: the base is conjugated", when(complex_, first(xp.conj)))
