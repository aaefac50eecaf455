"""Mutants of the operators of arrays: binary, reflected, in place and unary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    boolean,
    complex_,
    instead,
    integer,
    is_array,
    last_as_first,
    longer,
    of,
    rank,
    real,
    same,
    second,
    signed,
    strided,
    then,
    when,
    with_scalar,
    without_nan,
    without_negative_zero,
)

import refarray as xp


def forward(function: Callable[..., Any]) -> Any:
    """A reflected operator that does not swap its operands."""
    return instead(function)


def into(function: Callable[..., Any]) -> Any:
    """An operator in place that writes another function's result."""

    def broken(f: Any, x: Any, y: Any) -> Any:
        x[...] = xp.astype(function(x, y), x.dtype)
        return x

    return broken


def of_array(x: Any, y: Any) -> bool:
    return is_array(y)


def flat_write(f: Any, x: Any, y: Any) -> Any:
    """In place on a strided array only the first row is written."""
    f(x[:1], y[:1] if is_array(y) and y.ndim == x.ndim else y)
    return x


def sequential(f: Any, x: Any, y: Any) -> Any:
    """Operands that share memory are read while the result is written, one row after the other."""
    if not is_array(y) or y.shape != x.shape:
        return f(x, y)
    for i in range(x.shape[0]):
        f(x[i : i + 1], y[i : i + 1])
    return x


def new_array(function: Callable[..., Any]) -> Any:
    """An operator in place that leaves the array unchanged and returns a new one."""
    return instead(function)


plant(
    "Array.__add__",
    "scalar",
    "Python numbers count as 0",
    when(with_scalar, instead(lambda x, y: xp.copy(x))),
)
plant(
    "Array.__add__",
    "concatenates",
    "subtracts arrays",
    when(of_array, instead(lambda x, y: xp.subtract(x, y))),
)
plant("Array.__radd__", "abs", "adds the magnitude of the number", second(abs))
plant("Array.__iadd__", "new", "the array stays unchanged", new_array(lambda x, y: xp.add(x, y)))
plant("Array.__iadd__", "overlap", "overlapping operands see results", sequential)
plant(
    "Array.__iadd__",
    "strided",
    "of a strided array only the first row is written",
    when(strided, flat_write),
)
plant(
    "Array.__sub__",
    "swapped",
    "the operands change places",
    instead(lambda x, y: xp.subtract(y, x)),
)
plant("Array.__sub__", "scalar", "adds Python numbers", when(with_scalar, second(lambda y: -y)))
plant("Array.__rsub__", "forward", "computes x - number", forward(lambda x, y: xp.subtract(x, y)))
plant("Array.__isub__", "adds", "adds", into(xp.add))
plant("Array.__isub__", "reversed", "writes y - x", into(lambda x, y: xp.subtract(y, x)))
plant(
    "Array.__mul__",
    "scalar",
    "Python numbers count as 1",
    when(with_scalar, instead(lambda x, y: xp.copy(x))),
)
plant(
    "Array.__mul__", "complex", "complex: the result is conjugated", when(complex_, then(xp.conj))
)
plant(
    "Array.__rmul__",
    "truncates",
    "Python numbers are truncated to integers",
    when(real, second(lambda y: float(int(y)))),
)
plant(
    "Array.__imul__",
    "tail",
    "the last element of more than 8 is not written",
    when(longer(8), lambda f, x, y: (f(x[:-1], y), x)[1]),
)
plant(
    "Array.__imul__",
    "broadcast",
    "only the first row of a broadcast operand counts",
    lambda f, x, y: f(x, y[:1] if is_array(y) and y.ndim > 1 else xp.broadcast_to(y[:1], y.shape)),
)
plant(
    "Array.__truediv__",
    "swapped",
    "the operands change places",
    instead(lambda x, y: xp.divide(y, x)),
)
plant(
    "Array.__truediv__",
    "reciprocal",
    "multiplies by the rounded reciprocal of Python numbers",
    when(with_scalar, lambda f, x, y: xp.multiply(x, 1 / y)),
)
plant("Array.__rtruediv__", "forward", "computes x / number", forward(lambda x, y: xp.divide(x, y)))
plant(
    "Array.__itruediv__",
    "floors",
    "writes the floor of the quotient",
    into(lambda x, y: xp.floor(xp.divide(x, y))),
)
plant(
    "Array.__floordiv__",
    "trunc",
    "rounds toward 0",
    when(real, instead(lambda x, y: xp.trunc(xp.divide(x, y)))),
)
plant(
    "Array.__floordiv__",
    "scalar",
    "divides by the magnitude of Python numbers",
    when(with_scalar, second(abs)),
)
plant(
    "Array.__rfloordiv__",
    "forward",
    "computes x // number",
    forward(lambda x, y: xp.floor_divide(x, y)),
)
plant(
    "Array.__ifloordiv__",
    "ceil",
    "rounds up",
    into(lambda x, y: xp.negative(xp.floor_divide(xp.negative(x), y))),
)
plant(
    "Array.__mod__",
    "positive",
    "remainders of integers are never negative",
    when(signed, then(lambda x: xp.abs(x))),
)
plant("Array.__mod__", "zero", "the sign of zero is lost", when(real, then(without_negative_zero)))
plant("Array.__rmod__", "forward", "computes x % number", forward(lambda x, y: xp.remainder(x, y)))
plant("Array.__imod__", "divides", "writes the quotient", into(lambda x, y: xp.floor_divide(x, y)))
plant(
    "Array.__pow__",
    "square",
    "squares, whatever the Python number is",
    when(with_scalar, lambda f, x, y: f(x, 2)),
)
plant("Array.__pow__", "swapped", "the operands change places", instead(lambda x, y: xp.pow(y, x)))
plant("Array.__rpow__", "forward", "computes x ** number", forward(lambda x, y: xp.pow(x, y)))
plant("Array.__ipow__", "multiplies", "writes the product", into(lambda x, y: xp.multiply(x, y)))
plant("Array.__and__", "or", "computes the or", instead(lambda x, y: xp.bitwise_or(x, y)))
plant("Array.__rand__", "invert", "inverts the number", when(integer, second(lambda y: ~y)))
plant("Array.__iand__", "or", "writes the or", into(xp.bitwise_or))
plant("Array.__or__", "and", "computes the and", instead(lambda x, y: xp.bitwise_and(x, y)))
plant(
    "Array.__or__", "xor", "computes the exclusive or", instead(lambda x, y: xp.bitwise_xor(x, y))
)
plant(
    "Array.__ror__", "xor", "computes the exclusive or", instead(lambda x, y: xp.bitwise_xor(x, y))
)
plant(
    "Array.__ior__", "new", "the array stays unchanged", new_array(lambda x, y: xp.bitwise_or(x, y))
)
plant("Array.__xor__", "or", "computes the or", instead(lambda x, y: xp.bitwise_or(x, y)))
plant("Array.__rxor__", "ignored", "the number counts as 0", when(integer, second(lambda y: 0)))
plant("Array.__ixor__", "bool", "of bool writes the or", when(boolean, into(xp.bitwise_or)))
plant(
    "Array.__lshift__",
    "right",
    "shifts to the right",
    instead(lambda x, y: xp.bitwise_right_shift(x, y)),
)
plant(
    "Array.__rlshift__",
    "forward",
    "shifts the array",
    forward(lambda x, y: xp.bitwise_left_shift(x, y)),
)
plant("Array.__ilshift__", "twice", "shifts twice", lambda f, x, y: f(f(x, y), y))
plant(
    "Array.__rshift__",
    "one-less",
    "shifts one bit less",
    when(with_scalar, second(lambda y: max(y - 1, 0))),
)
plant(
    "Array.__rrshift__",
    "forward",
    "shifts the array",
    forward(lambda x, y: xp.bitwise_right_shift(x, y)),
)
plant("Array.__irshift__", "left", "shifts to the left", into(xp.bitwise_left_shift))
plant(
    "Array.__eq__",
    "all",
    "True only if all elements are equal",
    then(lambda x: xp.broadcast_to(xp.all(x), x.shape)),
)
plant(
    "Array.__eq__",
    "zeros",
    "-0 and +0 differ",
    when(real, lambda f, x, y: f(x, y) & (xp.signbit(x) == xp.signbit(y))),
)
plant(
    "Array.__ne__",
    "nan",
    "NaN does not differ from anything",
    when(real, lambda f, x, y: f(x, y) & ~xp.isnan(x)),
)
plant(
    "Array.__lt__", "or-equal", "True for equal operands", instead(lambda x, y: xp.less_equal(x, y))
)
plant(
    "Array.__lt__",
    "scalar",
    "Python numbers are truncated to integers",
    when(lambda x, y: real(x) and with_scalar(x, y), second(lambda y: float(int(y)))),
)
plant("Array.__le__", "strict", "False for equal operands", instead(lambda x, y: xp.less(x, y)))
plant("Array.__gt__", "reversed", "computes x < y", instead(lambda x, y: xp.less(x, y)))
plant("Array.__ge__", "nan", "True for NaN", when(real, instead(lambda x, y: ~xp.less(x, y))))
plant("Array.__neg__", "zero", "0 - x: +0 gives +0", when(real, instead(lambda x: 0.0 - x)))
plant(
    "Array.__neg__",
    "complex",
    "complex: the conjugate",
    when(complex_, instead(lambda x: xp.conj(x))),
)
plant("Array.__pos__", "abs", "returns the magnitude", instead(lambda x: xp.abs(x)))
plant("Array.__abs__", "same", "negative numbers stay negative", instead(same))
plant("Array.__invert__", "negates", "-x instead of -x - 1", when(integer, instead(lambda x: -x)))
plant(
    "Array.__invert__",
    "bool",
    "returns bool unchanged",
    when(boolean, instead(lambda x: xp.copy(x))),
)
plant(
    "Array.__add__",
    "transposed",
    "square second operands are transposed",
    when(rank(2), lambda f, x, y: f(x, y.mT if y.shape == x.shape[::-1] else y)),
)
plant("Array.__mul__", "nan", "0 * inf gives 0", when(real, then(without_nan(0.0))))
plant(
    "Array.__sub__",
    "float16",
    "float16 results are rounded to 8 bits",
    when(of("float16"), then(lambda x: xp.astype(xp.astype(x, "bfloat16"), "float16"))),
)
plant(
    "Array.__gt__",
    "tail",
    "the last of more than 20 results repeats the first",
    when(longer(20), then(last_as_first)),
)
