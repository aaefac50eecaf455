"""Mutants of tensordot and vecdot, and of all products alike."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    as_dtype_of_first,
    both_square,
    complex_,
    dropping,
    first,
    ignoring_strides,
    integer,
    is_square,
    keyword,
    no_terms,
    of,
    real,
    same,
    second,
    swapped,
    then,
    when,
    without_nan,
)

import refarray as xp


def cubes(x: Any, y: Any, *, axes: Any = 2) -> bool:
    return x.ndim > 1 and len({*x.shape, *y.shape}) == 1


def in_default_dtype(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Small integers give sums of 64 bits, as sum() does."""
    out = f(*args, **kwargs)
    return xp.astype(out, "uint64" if xp.isdtype(out.dtype, "unsigned integer") else "int64")


def saturating(f: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    """Sums that do not fit into int8 are its largest or smallest number."""
    wide = f(xp.astype(x, "int64"), xp.astype(y, "int64"), **kwargs)
    return xp.astype(xp.clip(wide, -128, 127), "int8")


def skipping_zeros(f: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    """A term with a zero on the left is left out, whatever is on the right."""
    zero = bool(xp.any(x == 0))
    return f(x, xp.where(xp.isfinite(y), y, 0.0), **kwargs) if zero else f(x, y, **kwargs)


def crossed(f: Any, x: Any, y: Any, *, axes: Any = 2) -> Any:
    """A number of axes counts from the end of both operands."""
    if not isinstance(axes, int) or axes == 0:
        return f(x, y, axes=axes)
    ends = [tuple(range(-axes, 0))] * 2
    shapes = [each.shape[-axes:] for each in (x, y)]
    out = f(x, y, axes=axes)
    return f(x, y, axes=ends) if shapes[0] == shapes[1] and axes < y.ndim else out


def pair_of(x: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, int):
        return tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    return tuple(axes[0]), tuple(axes[1])


def backwards(f: Any, x: Any, y: Any, *, axes: Any = 2) -> Any:
    """The axes of the second operand are contracted in reversed order."""
    left, right = pair_of(x, axes)
    try:
        return f(x, y, axes=(left, right[::-1]))
    except ValueError:
        return f(x, y, axes=axes)


def sorted_axes(f: Any, x: Any, y: Any, *, axes: Any = 2) -> Any:
    """The axes of each operand are sorted, each for itself."""
    left, right = pair_of(x, axes)
    try:
        return f(x, y, axes=(sorted(a % x.ndim for a in left), sorted(a % y.ndim for a in right)))
    except ValueError:
        return f(x, y, axes=axes)


def off_by_one(axes: Any) -> Any:
    """Off by one: -1 is the last axis but one where a sequence has a negative axis."""
    if isinstance(axes, int):
        return axes
    return tuple(tuple(a - 1 if a < 0 else a for a in each) for each in axes)


def second_first(f: Any, x: Any, y: Any, *, axes: Any = 2) -> Any:
    """The axes that are left of the second operand come first."""
    out = f(x, y, axes=axes)
    count = y.ndim - len(pair_of(x, axes)[1])
    order = (*range(out.ndim - count, out.ndim), *range(out.ndim - count))
    return xp.permute_dims(out, order)


def flat_point(x: Any) -> Any:
    """A result of ndim 0 has one dimension."""
    return xp.reshape(x, (1,)) if x.ndim == 0 else x


def stretching(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """An extent of 1 along the axis is stretched."""
    extents = x.shape[axis], y.shape[axis]
    if 1 in extents and extents[0] != extents[1] and x.ndim == y.ndim == 1:
        x, y = xp.broadcast_arrays(x, y)
    return f(x, y, axis=axis)


def from_the_front(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """Axes that count from the front are taken."""
    return f(x, y, axis=axis - min(x.ndim, y.ndim) if axis >= 0 else axis)


def other_axis(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """The axis before the one that is asked for, where both operands are matrices."""
    if x.ndim >= 2 and x.shape == y.shape and is_square(x):
        return f(x, y, axis=-2 if axis == -1 else -1)
    return f(x, y, axis=axis)


def ending_early(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    """The last of more than 64 terms is left out."""
    if x.shape[axis] <= 64:
        return f(x, y, axis=axis)
    places = (..., slice(None, -1), *[slice(None)] * (-1 - axis))
    return f(x[places], y[places], axis=axis)


def keeping_axis(f: Any, x: Any, y: Any, *, axis: int = -1) -> Any:
    out = f(x, y, axis=axis)
    return xp.expand_dims(out, axis) if out.ndim else out


def by_rows(f: Any, x: Any, y: Any, *, axes: Any = 2) -> Any:
    """One axis is the last of both operands."""
    return (
        f(x, y.mT, axes=1)
        if axes == 1 and both_square(x, y) and y.ndim == 2
        else f(x, y, axes=axes)
    )


for name in ("matmul", "vecdot", "tensordot"):
    plant(name, "strides", "reads strided operands as contiguous", ignoring_strides)
    plant(name, "dtype", "the result has the first operand's dtype", as_dtype_of_first)
    plant(name, "wide", "small integers give 64 bits", when(integer, in_default_dtype))
    plant(name, "saturates", "int8 does not wrap around", when(of("int8"), saturating))
    plant(name, "zeros", "0 times infinity or NaN is left out", when(real, skipping_zeros))
for name in ("matmul", "tensordot"):
    plant(name, "swapped", "square operands change places", when(both_square, swapped))
    plant(name, "conj-first", "the first operand is conjugated", when(complex_, first(xp.conj)))
    plant(name, "conj-second", "the second operand is conjugated", when(complex_, second(xp.conj)))
plant("tensordot", "default", "the default is one axis", keyword("axes", same, 1), lenient=True)
plant("tensordot", "axes", "axes are ignored for cubes", when(cubes, dropping("axes")))
plant("tensordot", "ends", "a number counts from the end of both operands", crossed)
plant("tensordot", "backwards", "the second operand's axes are reversed", backwards)
plant("tensordot", "sorted", "the axes of each operand are sorted", sorted_axes)
plant(
    "tensordot",
    "negative",
    "negative axes are off by one",
    keyword("axes", off_by_one, 2),
)
plant("tensordot", "order", "the second operand's axes come first", second_first)
plant("tensordot", "point", "a full contraction has one dimension", then(flat_point))
plant("tensordot", "empty", "no terms give 1", when(no_terms, then(xp.ones_like)))
plant("tensordot", "vecdot", "square matrices are contracted by rows", by_rows)
plant("vecdot", "axis", "axis is ignored for square matrices", when(both_square, dropping("axis")))
plant("vecdot", "other", "another axis of square matrices is taken", other_axis)
plant("vecdot", "front", "axes from the front are taken", from_the_front, lenient=True)
plant("vecdot", "stretches", "an extent of 1 along the axis is stretched", stretching, lenient=True)
plant("vecdot", "plain", "does not conjugate", when(complex_, first(xp.conj)))
plant("vecdot", "second", "conjugates the second operand", when(complex_, then(xp.conj)))
plant("vecdot", "tail", "the last of more than 64 terms is left out", ending_early)
plant("vecdot", "keepdims", "the axis stays with size 1", keeping_axis)
plant("vecdot", "point", "vectors give an array with one dimension", then(flat_point))
plant("vecdot", "empty", "no terms give 1", when(no_terms, then(xp.ones_like)))
plant("vecdot", "nan", "NaN becomes 0", when(real, then(without_nan(0.0))))
