"""Mutants of the comparisons and of where()."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    as_if_contiguous,
    boolean,
    complex_,
    first,
    ignoring_strides,
    instead,
    integer,
    is_array,
    last_as_first,
    longer,
    of,
    real,
    second,
    swapped,
    then,
    when,
    with_scalar,
)

import refarray as xp


def wrapping(f: Any, x: Any, y: Any) -> Any:
    """Operands of different dtypes are compared in the first operand's dtype."""
    return f(x, xp.astype(y, x.dtype))


def parts_compare(f: Any, x: Any, y: Any) -> Any:
    return f(xp.real(x), xp.real(y))


def through_float(f: Any, x: Any, y: Any) -> Any:
    return f(xp.astype(x, "float64"), xp.astype(y, "float64"))


def through_int(f: Any, x: Any, y: Any) -> Any:
    """uint64 is compared as int64."""
    return f(xp.astype(x, "int64"), xp.astype(y, "int64"))


def mixed(x: Any, y: Any) -> bool:
    return integer(x) and integer(y) and x.dtype != y.dtype


plant(
    "equal",
    "nan",
    "NaN equals NaN",
    when(real, lambda f, x, y: f(x, y) | (xp.isnan(x) & xp.isnan(y))),
)
plant(
    "equal", "complex", "complex: only the real parts are compared", when(complex_, parts_compare)
)
plant(
    "equal",
    "through-float",
    "int64 is compared as float64",
    when(of("int64", "uint64"), through_float),
)
plant(
    "equal",
    "zeros",
    "-0 and +0 differ",
    when(real, lambda f, x, y: f(x, y) & (xp.signbit(x) == xp.signbit(y))),
)
plant(
    "equal",
    "wraps",
    "mixed integers are compared in the first operand's dtype",
    when(mixed, wrapping),
)
plant("equal", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "not_equal",
    "nan",
    "NaN does not differ from NaN",
    when(real, lambda f, x, y: f(x, y) & ~(xp.isnan(x) & xp.isnan(y))),
)
plant(
    "not_equal",
    "complex",
    "complex: both parts have to differ",
    when(complex_, lambda f, x, y: f(xp.real(x), xp.real(y)) & f(xp.imag(x), xp.imag(y))),
)
plant(
    "not_equal",
    "tail",
    "the last of more than 32 results repeats the first",
    when(longer(32), then(last_as_first)),
)
plant("not_equal", "inverted", "computes equality", instead(lambda x, y: xp.equal(x, y)))
plant("less", "or-equal", "True for equal operands", instead(lambda x, y: xp.less_equal(x, y)))
plant("less", "signed", "uint64 is compared as int64", when(of("uint64"), through_int))
plant(
    "less",
    "wraps",
    "mixed integers are compared in the first operand's dtype",
    when(mixed, wrapping),
)
plant("less", "through-float", "int64 is compared as float64", when(of("int64"), through_float))
plant("less_equal", "strict", "False for equal operands", instead(lambda x, y: xp.less(x, y)))
plant(
    "less_equal",
    "nan",
    "not greater: True for NaN",
    when(real, instead(lambda x, y: ~xp.greater(x, y))),
)
plant("less_equal", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("greater", "swapped", "the operands change places", swapped)
plant(
    "greater",
    "nan",
    "not less or equal: True for NaN",
    when(real, instead(lambda x, y: ~xp.less_equal(x, y))),
)
plant(
    "greater",
    "scalar",
    "Python numbers are rounded to integers",
    when(
        with_scalar, lambda f, x, y: f(x, float(round(y))) if is_array(x) else f(float(round(x)), y)
    ),
)
plant("greater_equal", "strict", "False for equal operands", instead(lambda x, y: xp.greater(x, y)))
plant(
    "greater_equal",
    "abs",
    "float16 and bfloat16 are compared by magnitude",
    when(of("float16", "bfloat16"), lambda f, x, y: f(xp.abs(x), xp.abs(y))),
)
plant(
    "greater_equal",
    "infinite",
    "infinities compare as the largest number",
    when(
        real,
        lambda f, x, y: f(
            xp.clip(x, xp.finfo(x.dtype).min, xp.finfo(x.dtype).max),
            xp.clip(y, xp.finfo(y.dtype).min, xp.finfo(y.dtype).max),
        ),
    ),
)


def where_dtype(f: Any, condition: Any, x: Any, y: Any) -> Any:
    return xp.astype(f(condition, x, y), x.dtype)


def where_any(f: Any, condition: Any, x: Any, y: Any) -> Any:
    """Takes everything from one operand, after the first element of the condition."""
    one = bool(xp.reshape(condition, (-1,))[0])
    return f(xp.full_like(condition, one), x, y)


plant("where", "swapped", "takes the other operand", lambda f, c, x, y: f(c, y, x))
plant("where", "dtype", "the result has the first operand's dtype", where_dtype)
plant(
    "where", "condition-strides", "reads a strided condition as contiguous", first(as_if_contiguous)
)
plant("where", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "where", "one", "the first element of the condition decides for all", when(boolean, where_any)
)
plant(
    "where",
    "condition-shape",
    "a condition with fewer dimensions is aligned at the left",
    lambda f, c, x, y: f(xp.reshape(c, (*c.shape, *(1,) * (x.ndim - c.ndim))), x, y),
)
plant(
    "where",
    "nan",
    "NaN in the second operand becomes 0",
    lambda f, c, x, y: f(c, xp.where(xp.isnan(x), 0.0, x), y),
)
plant(
    "where",
    "tail",
    "the last of more than 100 elements repeats the first",
    when(longer(100), then(last_as_first)),
)
plant(
    "where",
    "scalar",
    "Python numbers are truncated to integers",
    lambda f, c, x, y: f(c, x, float(int(y))) if real(x) else f(c, float(int(x)), y),
)
plant(
    "less",
    "second-strides",
    "reads a strided second operand as contiguous",
    second(as_if_contiguous),
)
