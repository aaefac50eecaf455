"""Mutants of cross, outer, diagonal and trace."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import IntendedError, plant
from array_api.namespace_mutants.kinds import (
    as_if_contiguous,
    complex_,
    dropping,
    first,
    instead,
    integer,
    keyword,
    of,
    rank,
    real,
    second,
    swapped,
    then,
    when,
    without_nan,
)
from array_api.namespace_mutants.linalg.kinds import column_major, other_error

import refarray as xp

CROSS, OUTER = "linalg.cross", "linalg.outer"
DIAGONAL, TRACE = "linalg.diagonal", "linalg.trace"


def through_floats(f: Any, x: Any, y: Any, **keywords: Any) -> Any:
    """Integers are multiplied as float64; what does not fit saturates."""
    out = f(x, y, **keywords)
    wide = f(xp.astype(x, "float64"), xp.astype(y, "float64"), **keywords)
    return xp.astype(wide, out.dtype)


def of_64_bits(f: Any, *args: Any, **keywords: Any) -> Any:
    """Integers give 64 bits."""
    out = f(*args, **keywords)
    return xp.astype(out, "uint64" if xp.isdtype(out.dtype, "unsigned integer") else "int64")


def taking_bool(f: Any, *args: Any, **keywords: Any) -> Any:
    """bool counts as int8."""
    small = (xp.astype(x, "int8") if x.dtype == xp.bool else x for x in args)
    return f(*small, **keywords)


def promoted(x: Any, y: Any, change: Any) -> Any:
    return change(x) if x.ndim else x, change(y) if y.ndim else y


def padded(x: Any, axis: int) -> Any:
    """A vector of two elements has a third one of 0."""
    if x.shape[axis] != 2:
        return x
    zero = xp.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 or x.ndim :]), dtype=x.dtype)
    return xp.concat([x, zero], axis=axis)


def of_plane(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """Vectors of two elements are taken."""
    return f(padded(x, axis), padded(y, axis), axis=axis)


def stretching(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """An extent of 1 along the axis is stretched."""
    if {x.shape[axis], y.shape[axis]} == {1, 3}:
        x, y = xp.broadcast_arrays(x, y)
    return f(x, y, axis=axis)


def from_the_front(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """Axes that count from the front are taken."""
    return f(x, y, axis=axis - min(x.ndim, y.ndim) if axis >= 0 else axis)


def first_axis_of_threes(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """The first axis with an extent of 3 is taken."""
    if axis == -1 and x.shape == y.shape:
        axis = x.shape.index(3) - x.ndim
    return f(x, y, axis=axis)


def shorter_broadcast(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """Operands of different ndim are refused."""
    if x.ndim != y.ndim:
        raise IntendedError(ValueError("ndim differs"))
    return f(x, y, axis=axis)


def sum_of_products(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """The sum in place of the difference."""
    out = f(x, y, axis=axis)
    return xp.abs(out) if real(out) else out


def infinite_products(f: Any, x: Any, y: Any, **keywords: Any) -> Any:
    """Infinities are large numbers."""
    top = xp.finfo(x.dtype).max
    return f(xp.clip(x, -top, top), y, **keywords)


plant(CROSS, "axis", "axis is ignored", dropping("axis"))
plant(CROSS, "threes", "the first axis of 3 is taken", first_axis_of_threes)
plant(CROSS, "swapped", "the operands change places", lambda f, x, y, **k: f(y, x, **k))
plant(CROSS, "conj", "complex: the first operand is conjugated", when(complex_, first(xp.conj)))
plant(CROSS, "abs", "all components are positive", sum_of_products)
plant(CROSS, "plane", "vectors of two elements are taken", of_plane, lenient=True)
plant(CROSS, "stretches", "an extent of 1 is stretched", stretching, lenient=True)
plant(CROSS, "front", "axes from the front are taken", from_the_front, lenient=True)
plant(CROSS, "ndim", "operands of different ndim are refused", shorter_broadcast)
plant(CROSS, "class", "IndexError is ValueError", other_error(IndexError, ValueError), lenient=True)
plant(CROSS, "infinity", "infinities are large numbers", when(real, infinite_products))
plant(OUTER, "swapped", "the operands change places", swapped)
plant(OUTER, "conj", "complex: the first operand is conjugated", when(complex_, first(xp.conj)))
plant(OUTER, "conj-second", "the second operand is conjugated", second(xp.conj))
plant(
    OUTER,
    "flat",
    "operands of other ndim are flattened",
    lambda f, x, y: f(xp.reshape(x, (-1,)), xp.reshape(y, (-1,))),
    lenient=True,
)
plant(OUTER, "adds", "adds", lambda f, x, y: xp.expand_dims(x, -1) + y)
plant(OUTER, "infinity", "infinities are large numbers", when(real, infinite_products))
for name in ("cross", "outer"):
    target = f"linalg.{name}"
    plant(target, "order", "the result is column-major", then(column_major))
    plant(target, "floats", "integers are multiplied as float64", when(integer, through_floats))
    plant(target, "wide", "integers give 64 bits", when(integer, of_64_bits))
    plant(target, "bool", "bool is taken", taking_bool, lenient=True)


def front_axes(f: Any, x: Any, **keywords: Any) -> Any:
    """Of more than two axes the first two are taken."""
    return f(xp.moveaxis(x, (0, 1), (-2, -1)), **keywords)


def minus_offset(offset: int) -> int:
    return -offset


def more_offset(offset: int) -> int:
    """Off by one below the main diagonal."""
    return offset - 1 if offset < 0 else offset


def within(f: Any, x: Any, *, offset: int = 0, **keywords: Any) -> Any:
    """An offset beyond the matrix is refused."""
    if not -x.shape[-2] < offset < x.shape[-1]:
        raise IntendedError(ValueError("no such diagonal"))
    return f(x, offset=offset, **keywords)


def clipped(f: Any, x: Any, *, offset: int = 0, **keywords: Any) -> Any:
    """An offset beyond the matrix is that of its corner."""
    return f(x, offset=max(1 - x.shape[-2], min(offset, x.shape[-1] - 1)), **keywords)


def square_part(f: Any, x: Any, **keywords: Any) -> Any:
    """Of a matrix that is not square the part that is."""
    count = min(x.shape[-2:])
    return f(x[..., :count, :count], **keywords)


def vector_too(f: Any, x: Any, *, offset: int = 0) -> Any:
    """A vector gives the matrix with this diagonal."""
    return xp.eye(x.size, dtype=x.dtype) * x if x.ndim == 1 else f(x, offset=offset)


def numbers_only(f: Any, x: Any, **keywords: Any) -> Any:
    if not xp.isdtype(x.dtype, "numeric"):
        raise IntendedError(TypeError("no numbers"))
    return f(x, **keywords)


plant(DIAGONAL, "copy", "returns a copy", then(xp.copy))
plant(DIAGONAL, "read-only", "the view is read-only", then(lambda x: x.as_readonly()))
plant(DIAGONAL, "vector", "a vector gives a matrix", vector_too, lenient=True)
plant(DIAGONAL, "dtype", "bool and other dtypes are refused", numbers_only)
plant(DIAGONAL, "anti", "the other diagonal", first(lambda x: xp.flip(x, axis=-1)))
plant(DIAGONAL, "backwards", "from the end to the start", then(lambda x: xp.flip(x, axis=-1)))
plant(DIAGONAL, "strides", "reads strided arrays as contiguous", first(as_if_contiguous))
for name in ("diagonal", "trace"):
    target = f"linalg.{name}"
    plant(target, "offset", "offset is ignored", dropping("offset"))
    plant(target, "sign", "offset counts downwards", keyword("offset", minus_offset, 0))
    plant(target, "below", "negative offsets are off by one", keyword("offset", more_offset, 0))
    plant(target, "front", "the first two axes are taken", when(rank(3), front_axes))
    plant(target, "within", "an offset beyond is refused", within)
    plant(target, "corner", "an offset beyond is that of the corner", clipped)
    plant(target, "part", "takes the square part", square_part)
    plant(
        target,
        "class",
        "ValueError is IndexError",
        other_error(ValueError, IndexError),
        lenient=True,
    )


def as_dtype_of_x(f: Any, x: Any, *, dtype: Any = None, **keywords: Any) -> Any:
    """The default dtype is that of the array."""
    return f(x, dtype=x.dtype if dtype is None else dtype, **keywords)


def converted_late(f: Any, x: Any, *, dtype: Any = None, **keywords: Any) -> Any:
    """The sum is converted, not the elements."""
    out = f(x, dtype=x.dtype, **keywords)
    return out if dtype is None and not integer(x) else xp.astype(out, dtype or "int64")


def in_float16(f: Any, x: Any, **keywords: Any) -> Any:
    """Every partial sum is rounded."""
    out = f(x, **keywords)
    total = xp.zeros_like(out)
    diagonal = xp.linalg.diagonal(x, offset=keywords.get("offset", 0))
    for i in range(diagonal.shape[-1]):
        total = total + diagonal[..., i]
    return xp.astype(total, out.dtype)


plant(TRACE, "dtype", "dtype is ignored", dropping("dtype"))
plant(TRACE, "default", "the default dtype is that of x", as_dtype_of_x)
plant(TRACE, "late", "the sum is converted, not the elements", converted_late)
plant(TRACE, "rounds", "every sum is rounded", when(of("float16", "bfloat16"), in_float16))
plant(TRACE, "bool", "bool is taken", taking_bool, lenient=True)
plant(TRACE, "conj", "complex: conjugated", when(complex_, then(xp.conj)))
plant(TRACE, "nan", "NaN becomes 0", then(without_nan(0.0)))
plant(TRACE, "point", "one matrix gives ndim 1", then(lambda x: xp.reshape(x, x.shape or (1,))))
plant(TRACE, "all", "the sum of all matrices", then(lambda x: xp.zeros_like(x) + xp.sum(x)))
plant(TRACE, "strides", "reads strided arrays as contiguous", first(as_if_contiguous))
plant(
    TRACE,
    "diagonal",
    "the diagonal is not summed up",
    instead(lambda x, *, offset=0, dtype=None: xp.linalg.diagonal(x, offset=offset)),
)
