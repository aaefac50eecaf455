"""Mutants of svd, svdvals, pinv and matrix_rank."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import IntendedError, plant
from array_api.namespace_mutants.kinds import (
    complex_,
    dropping,
    first,
    is_array,
    keyword,
    then,
    when,
)
from array_api.namespace_mutants.linalg.kinds import (
    adjoint,
    empty,
    field,
    finite,
    huge,
    other_error,
    tiny,
)

import refarray as xp


def ascending(f: Any, x: Any, **keywords: Any) -> Any:
    """The singular values ascend, and their vectors with them."""
    out = f(x, **keywords)
    if out.U.shape[-1] != out.Vh.shape[-2]:
        return out._replace(S=xp.flip(out.S, axis=-1))
    flips = (xp.flip(out.U, axis=-1), xp.flip(out.S, axis=-1), xp.flip(out.Vh, axis=-2))
    return type(out)(*flips)


def last_vector_lost(f: Any, x: Any, **keywords: Any) -> Any:
    """Singular values of 0 have vectors of zeros."""
    out = f(x, **keywords)
    u = xp.copy(out.U)
    count = out.S.shape[-1]
    u[..., :count] *= xp.astype(xp.expand_dims(out.S > 1e-12, axis=-2), u.dtype)
    return out._replace(U=u)


def further_vectors_lost(f: Any, x: Any, **keywords: Any) -> Any:
    """The vectors that full_matrices=True adds to Vh are zeros."""
    out = f(x, **keywords)
    vh = xp.copy(out.Vh)
    vh[..., out.S.shape[-1] :, :] = 0
    return out._replace(Vh=vh)


def as_complex(s: Any) -> Any:
    return xp.astype(s, "complex64" if s.dtype in (xp.float32, xp.float16) else "complex128")


def through_squares(f: Any, x: Any) -> Any:
    """The roots of the eigenvalues of A^H A: half of the digits of small values are lost."""
    out = f(x)
    tall = x if x.shape[-2] >= x.shape[-1] else adjoint(x)
    squares = xp.linalg.eigvalsh(xp.matmul(adjoint(tall), tall))
    return xp.astype(xp.flip(xp.sqrt(xp.abs(squares)), axis=-1), out.dtype)


def eigenvalues(f: Any, x: Any) -> Any:
    """The absolute values of the eigenvalues of square matrices."""
    values = xp.abs(xp.linalg.eigvals(x))
    return xp.astype(xp.flip(xp.sort(values), axis=-1), f(x).dtype)


SVD, SVDVALS = "linalg.svd", "linalg.svdvals"
plant(SVD, "full", "full_matrices is ignored", dropping("full_matrices"))
plant(SVD, "default", "full_matrices is False", keyword("full_matrices", bool, False))
plant(SVD, "ascending", "singular values ascend", ascending)
plant(SVD, "v", "V instead of its adjoint", field("Vh", lambda v: xp.copy(adjoint(v))))
plant(SVD, "transposed", "V is not conjugated", when(complex_, field("Vh", xp.conj)))
plant(SVD, "u", "U is conjugated", when(complex_, field("U", xp.conj)))
plant(SVD, "sign", "U has another sign", field("U", lambda u: -u))
plant(SVD, "complex", "singular values are complex", when(complex_, field("S", as_complex)))
plant(SVD, "squares", "S has the squares of the values", field("S", xp.square))
plant(SVD, "zeros", "singular values of 0 have no vectors", last_vector_lost)
plant(SVD, "further", "the further rows of Vh are 0", further_vectors_lost)
plant(SVD, "hidden", "vectors of what is not finite are 0", field("U", finite(0.0)))
plant(SVDVALS, "ascending", "the values ascend", then(lambda s: xp.flip(s, axis=-1)))
plant(SVDVALS, "squares", "the squares of the values", then(xp.square))
plant(SVDVALS, "through", "small values lose half of their digits", through_squares)
plant(SVDVALS, "complex", "the values are complex", when(complex_, then(as_complex)))
plant(SVDVALS, "eigen", "absolute values of eigenvalues", eigenvalues)
plant(SVDVALS, "conj", "imaginary parts are lost", when(complex_, first(xp.real)))
plant(SVDVALS, "huge", "squares overflow", when(huge, then(lambda s: xp.full_like(s, xp.inf))))
plant(SVDVALS, "tiny", "squares underflow", when(tiny, then(xp.zeros_like)))


# --- tolerances


def double_eps(f: Any, x: Any, *, rtol: Any = None) -> Any:
    """The default is that of float64 for all dtypes."""
    return f(x, rtol=max(x.shape[-2:]) * 2.0**-52 if rtol is None else rtol)


def default(change: Any) -> Any:
    """The default has another factor."""

    def broken(f: Any, x: Any, *, rtol: Any = None) -> Any:
        eps = xp.finfo(x.dtype).eps
        return f(x, rtol=change(*x.shape[-2:]) * eps if rtol is None else rtol)

    return broken


def absolute(f: Any, x: Any, *, rtol: Any = None) -> Any:
    """A number is the least singular value itself."""
    if not isinstance(rtol, float):
        return f(x, rtol=rtol)
    largest = xp.max(xp.linalg.svdvals(x), axis=-1)
    return f(x, rtol=rtol / xp.astype(largest, "float64"))


def inclusive(f: Any, x: Any, *, rtol: Any = None) -> Any:
    """Values that are equal to the limit count: the next smaller limit is taken."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * xp.finfo(x.dtype).eps
    limit = rtol if is_array(rtol) else xp.asarray(rtol, dtype="float64")
    return f(x, rtol=xp.where(limit > 0, xp.nextafter(limit, xp.zeros_like(limit)), limit))


def in_float32(rtol: Any) -> Any:
    return float(xp.asarray(rtol, dtype="float32")) if isinstance(rtol, float) else rtol


def first_rtol(rtol: Any) -> Any:
    """Of an array only the first element counts."""
    return xp.full_like(rtol, float(rtol[(0,) * rtol.ndim])) if is_array(rtol) else rtol


def aligned_left(rtol: Any) -> Any:
    """The axes of an array are transposed."""
    return rtol.mT if is_array(rtol) and rtol.ndim == 2 else rtol


def not_negative(rtol: Any) -> Any:
    """Negative numbers and NaN are 0."""
    return rtol if is_array(rtol) or not isinstance(rtol, float) or rtol >= 0 else 0.0


def any_array(rtol: Any) -> Any:
    return xp.astype(rtol, "float64") if is_array(rtol) else rtol


for name in ("pinv", "matrix_rank"):
    target = f"linalg.{name}"
    plant(target, "rtol", "rtol is ignored", dropping("rtol"))
    plant(target, "double", "the default is that of float64", double_eps)
    plant(target, "least", "the default has the smaller extent", default(min))
    plant(target, "eps", "the default has no extent", default(lambda m, n: 1.0))
    plant(target, "rows", "the default has the number of rows", default(lambda m, n: m))
    plant(target, "columns", "the default has the number of columns", default(lambda m, n: n))
    plant(target, "absolute", "rtol is absolute", absolute)
    plant(target, "inclusive", "values equal to the limit count", inclusive)
    plant(target, "rtol32", "rtol is rounded to float32", keyword("rtol", in_float32))
    plant(target, "one", "of an array the first element counts", keyword("rtol", first_rtol))
    plant(target, "transposed-rtol", "an array is transposed", keyword("rtol", aligned_left))
    plant(target, "negative", "negative is 0", keyword("rtol", not_negative), lenient=True)
    plant(target, "any", "takes other arrays", keyword("rtol", any_array), lenient=True)
    plant(
        target,
        "bool",
        "takes bool",
        keyword("rtol", lambda r: float(r) if isinstance(r, bool) else r),
        lenient=True,
    )
    plant(
        target,
        "class",
        "TypeError is ValueError",
        other_error(TypeError, ValueError),
        lenient=True,
    )


def zero_rank(f: Any, x: Any, **keywords: Any) -> Any:
    """A zero matrix has full rank: 0 >= 0."""
    out = f(x, **keywords)
    zero = xp.all(x == 0, axis=(-2, -1))
    return xp.where(zero, xp.full_like(out, min(x.shape[-2:])), out)


def full_rank_of_nan(f: Any, x: Any, **keywords: Any) -> Any:
    out = f(x, **keywords)
    finite_ = xp.all(xp.isfinite(x), axis=(-2, -1))
    return xp.where(finite_, out, xp.full_like(out, min(x.shape[-2:])))


def nan_of_zeros(f: Any, x: Any, **keywords: Any) -> Any:
    """The zero matrix: 0 / 0."""
    out = f(x, **keywords)
    return out if xp.any(x != 0) else xp.full_like(out, xp.nan)


def refusing_empty(f: Any, x: Any, **keywords: Any) -> Any:
    """The greatest of no singular values."""
    if empty(x):
        raise IntendedError(ValueError("no singular values"))
    return f(x, **keywords)


RANK, PINV = "linalg.matrix_rank", "linalg.pinv"
plant(RANK, "int32", "the result has int32", then(lambda x: xp.astype(x, "int32")))
plant(
    RANK, "float", "the result has the dtype of x", lambda f, x, **k: xp.astype(f(x, **k), x.dtype)
)
plant(RANK, "zero", "zero matrices have full rank", zero_rank)
plant(RANK, "finite", "matrices that are not finite have full rank", full_rank_of_nan)
plant(RANK, "empty", "empty matrices are refused", refusing_empty)
plant(RANK, "point", "one matrix gives ndim 1", then(lambda x: xp.reshape(x, x.shape or (1,))))
plant(PINV, "transposed", "the result is transposed", then(lambda x: xp.copy(x.mT)))
plant(PINV, "conj", "complex: not conjugated", when(complex_, then(xp.conj)))
plant(PINV, "zeros", "the zero matrix gives NaN", nan_of_zeros)
plant(PINV, "empty", "empty matrices are refused", refusing_empty)
plant(PINV, "hidden", "NaN becomes 0", then(finite(0.0)))
