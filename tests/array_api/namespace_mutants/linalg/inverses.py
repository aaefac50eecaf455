"""Mutants of det, slogdet, inv, solve and matrix_power."""

from __future__ import annotations

import math
from typing import Any

from array_api.namespace_mutants.base import IntendedError, plant
from array_api.namespace_mutants.kinds import complex_, first, of, second, then, when
from array_api.namespace_mutants.linalg.factors import refusing_extremes
from array_api.namespace_mutants.linalg.kinds import (
    accepting,
    adjoint,
    empty,
    field,
    finite,
    huge,
    other_error,
)

import refarray as xp


def copied_transpose(x: Any) -> Any:
    return xp.copy(x.mT)


def refusing_singular(f: Any, x: Any) -> Any:
    """A singular matrix raises."""
    if xp.any(xp.linalg.det(x) == 0):
        raise IntendedError(ValueError("singular matrix"))
    return f(x)


DET, SLOGDET = "linalg.det", "linalg.slogdet"
for name in ("det", "slogdet"):
    target = f"linalg.{name}"
    plant(target, "conj", "complex: conjugated", when(complex_, first(xp.conj)))
    plant(target, "singular", "singular matrices raise", refusing_singular)
plant(DET, "abs", "the absolute value", then(lambda x: xp.astype(xp.abs(x), x.dtype)))
plant(DET, "sign", "the determinant has another sign", then(lambda x: -x))
plant(DET, "empty", "empty matrices give 0", when(empty, then(xp.zeros_like)))
plant(DET, "tiny", "tiny determinants are 0", then(lambda d: xp.where(xp.abs(d) < 1e-12, d * 0, d)))
plant(DET, "hidden", "NaN becomes 0", then(finite(0.0)))
plant(DET, "point", "one matrix gives ndim 1", then(lambda x: xp.reshape(x, x.shape or (1,))))


def as_dtype_of_x(f: Any, x: Any) -> Any:
    out = f(x)
    return out._replace(logabsdet=xp.astype(out.logabsdet, x.dtype))


def real_sign(sign: Any) -> Any:
    return xp.real(sign)


def through_det(f: Any, x: Any) -> Any:
    """The logarithm of the determinant, which overflows and underflows."""
    out = f(x)
    value = xp.abs(xp.linalg.det(x))
    return out._replace(logabsdet=xp.astype(xp.log(value), out.logabsdet.dtype))


def sign_of_singular(f: Any, x: Any) -> Any:
    out = f(x)
    return out._replace(sign=xp.where(out.sign == 0, xp.ones_like(out.sign), out.sign))


LOG = "logabsdet"
plant(SLOGDET, "complex", "logabsdet has the dtype of x", when(complex_, as_dtype_of_x))
plant(SLOGDET, "real", "complex: the sign is real", when(complex_, field("sign", real_sign)))
plant(SLOGDET, "one", "the sign of singular matrices is 1", sign_of_singular)
plant(SLOGDET, "through", "the logarithm of det", through_det)
plant(SLOGDET, "base", "the logarithm to base 10", field(LOG, lambda x: x / math.log(10)))
plant(SLOGDET, "minus", "the sign has another sign", field("sign", lambda x: -x))
plant(SLOGDET, "empty", "empty: the sign is 0", when(empty, field("sign", xp.zeros_like)))
plant(SLOGDET, "empty-log", "empty: -inf", when(empty, field(LOG, lambda x: x - xp.inf)))
plant(SLOGDET, "hidden-log", "NaN in logabsdet becomes 0", field(LOG, finite(0.0)))
plant(SLOGDET, "hidden", "the sign of NaN is 0", field("sign", finite(0.0)))


def refusing_ill_conditioned(f: Any, x: Any, *args: Any) -> Any:
    """Matrices that are not quite singular raise."""
    if xp.any(xp.linalg.matrix_rank(x) < x.shape[-1]):
        raise IntendedError(ValueError("singular matrix"))
    return f(x, *args)


def pseudo_inverse(f: Any, x: Any, *args: Any) -> Any:
    """Least squares for every matrix."""
    return xp.matmul(xp.linalg.pinv(x), args[0]) if args else xp.linalg.pinv(x)


INV, SOLVE = "linalg.inv", "linalg.solve"
for name in ("inv", "solve"):
    target = f"linalg.{name}"
    plant(target, "transposed", "the matrix is transposed", first(copied_transpose))
    plant(target, "conj", "complex: the matrix is conjugated", when(complex_, first(xp.conj)))
    plant(target, "ill", "ill-conditioned matrices are refused", refusing_ill_conditioned)
    plant(target, "pseudo", "least squares", pseudo_inverse, lenient=True)
    plant(target, "singular", "singular gives infinity", accepting(xp.inf), lenient=True)
    plant(target, "hidden", "NaN becomes 0", then(finite(0.0)))
    plant(target, "tiny", "matrices of tiny numbers are refused", refusing_extremes)
    plant(
        target,
        "huge",
        "huge elements give 0",
        when(huge, then(xp.zeros_like)),
    )


def stacked_vectors(f: Any, x: Any, y: Any) -> Any:
    """With one axis less the right side is a stack of vectors."""
    if y.ndim == x.ndim - 1 and y.ndim > 1:
        return xp.copy(f(x, xp.expand_dims(y, -1))[..., 0])
    return f(x, y)


def keeping_column(f: Any, x: Any, y: Any) -> Any:
    """A vector gives a column."""
    return xp.expand_dims(f(x, y), -1) if y.ndim == 1 else f(x, y)


def right_rows(f: Any, x: Any, y: Any) -> Any:
    """Square right sides are transposed."""
    return f(x, xp.copy(y.mT)) if y.ndim > 1 and y.shape[-1] == y.shape[-2] else f(x, y)


def first_right(f: Any, x: Any, y: Any) -> Any:
    """Of a stack of right sides only the first counts."""
    return f(x, xp.broadcast_to(y[(0,) * (y.ndim - 2)], y.shape))


def stretching(f: Any, x: Any, y: Any) -> Any:
    """A right side of one row is stretched."""
    if y.ndim > 1 and y.shape[-2] == 1:
        y = xp.broadcast_to(y, (*y.shape[:-2], x.shape[-1], y.shape[-1]))
    return f(x, y)


def without_stack(f: Any, x: Any, y: Any) -> Any:
    """Stacks that differ are refused."""
    if y.ndim > 1 and x.shape[:-2] != y.shape[:-2]:
        raise IntendedError(ValueError("stacks differ"))
    return f(x, y)


def ninth_column(f: Any, x: Any, y: Any) -> Any:
    """The last column is the one before."""
    out = f(x, y)
    if y.ndim > 1 and y.shape[-1] > 1:
        out[..., -1] = out[..., -2]
    return out


plant(SOLVE, "vectors", "takes a stack of vectors", stacked_vectors, lenient=True)
plant(SOLVE, "column", "a vector gives a column", keeping_column)
plant(SOLVE, "rows", "square right sides are transposed", right_rows)
plant(SOLVE, "right", "of right sides only the first counts", first_right)
plant(SOLVE, "stretches", "one row is stretched", stretching, lenient=True)
plant(SOLVE, "stacks", "stacks are not broadcast", without_stack)
plant(SOLVE, "columns", "the last column is the one before", ninth_column)
plant(SOLVE, "conj-right", "the right side is conjugated", second(xp.conj))
plant(SOLVE, "multiplies", "multiplies", lambda f, x, y: xp.matmul(x, y))


def to_int(n: Any) -> Any:
    return int(n) if isinstance(n, (float, bool)) else n


def elementwise(f: Any, x: Any, n: Any) -> Any:
    return xp.astype(xp.pow(x, float(n)), x.dtype)


def with_exponent(change: Any) -> Any:
    return lambda f, x, n: f(x, change(n))


def ones_for_zero(f: Any, x: Any, n: Any) -> Any:
    return xp.ones_like(x) if n == 0 else f(x, n)


def nan_for_zero(f: Any, x: Any, n: Any) -> Any:
    """The power 0 of a matrix with NaN has NaN."""
    out = f(x, n)
    return out + xp.full_like(x, xp.nan) if n == 0 and not xp.all(xp.isfinite(x)) else out


def zero_of_singular(f: Any, x: Any, n: Any) -> Any:
    """The power 0 inverts too."""
    if n == 0 and xp.any(xp.linalg.det(x) == 0):
        raise IntendedError(ValueError("singular matrix"))
    return f(x, n)


def rounding_each(f: Any, x: Any, n: Any) -> Any:
    """Each product is rounded to the dtype of the array."""
    if not 1 < n < 100:
        return f(x, n)
    out = x
    for _ in range(n - 1):
        out = xp.matmul(out, x)
    return out


def refusing_long(f: Any, x: Any, n: Any) -> Any:
    if abs(n) >= 2**63:
        raise IntendedError(OverflowError("n does not fit"))
    return f(x, n)


def itself(f: Any, x: Any, n: Any) -> Any:
    return x if n == 1 else f(x, n)


POWER = "linalg.matrix_power"
plant(POWER, "float", "takes a float or bool", with_exponent(to_int), lenient=True)
plant(POWER, "index", "takes no __index__", other_error(TypeError, ValueError), lenient=True)
plant(POWER, "abs", "negative powers are positive", with_exponent(abs))
plant(POWER, "once", "negative powers invert only", with_exponent(lambda n: max(n, -1)))
plant(POWER, "more", "one product too many", with_exponent(lambda n: n + 1 if n > 1 else n))
plant(POWER, "wraps", "n has 32 bits", with_exponent(lambda n: n & 0xFFFFFFFF if n > 0 else n))
plant(POWER, "long", "n of more than 64 bits is refused", refusing_long)
plant(POWER, "elements", "powers of elements", elementwise)
plant(POWER, "ones", "the power 0 is made of ones", ones_for_zero)
plant(POWER, "zero-nan", "the power 0 has NaN", nan_for_zero)
plant(POWER, "zero-singular", "the power 0 inverts", zero_of_singular)
plant(POWER, "rounds", "each product is rounded", when(of("float32", "float16"), rounding_each))
plant(POWER, "itself", "the power 1 is the array itself", itself)
plant(POWER, "transposed", "the result is transposed", then(copied_transpose))
plant(POWER, "adjoint", "complex: the result is the adjoint", when(complex_, then(adjoint)))
plant(POWER, "singular", "singular gives infinity", accepting(xp.inf), lenient=True)
