"""Mutants of the functions that change shapes, order and places of elements."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    as_if_contiguous,
    dropping,
    first,
    ignoring_strides,
    instead,
    is_array,
    keyword,
    rank,
    shifted_axis,
    then,
    values_of,
    when,
)

import refarray as xp


def inverse(axes: Any) -> tuple[int, ...]:
    return tuple(axes.index(i) for i in range(len(axes)))


def reverse_axes(x: Any) -> Any:
    return xp.permute_dims(x, tuple(range(x.ndim))[::-1])


def column_major(f: Any, x: Any, shape: Any, **kwargs: Any) -> Any:
    """Elements are read and placed in column-major order."""
    return reverse_axes(f(reverse_axes(x), tuple(shape)[::-1], **kwargs))


def backward(shift: Any) -> Any:
    return tuple(-s for s in shift) if isinstance(shift, tuple) else -shift


def first_shift(f: Any, x: Any, shift: Any, *, axis: Any = None) -> Any:
    """Of several shifts only the first counts."""
    return f(x, shift[0], axis=axis[0])


def falling_off(f: Any, x: Any, shift: Any, *, axis: Any = None) -> Any:
    """Elements that leave at the end do not come back; the last stays."""
    n = x.size if axis is None else x.shape[axis]
    return (
        f(x, max(-n, min(shift, n)), axis=axis)
        if isinstance(shift, int)
        else f(x, shift, axis=axis)
    )


def first_count(f: Any, x: Any, repeats: Any, *, axis: Any = None) -> Any:
    """Of an array of counts the first holds for all."""
    return f(x, int(repeats[0]) if is_array(repeats) else repeats, axis=axis)


def tiling_whole(f: Any, x: Any, repeats: Any, *, axis: Any = None) -> Any:
    """The whole array is repeated instead of each element."""
    if not isinstance(repeats, int):
        return f(x, repeats, axis=axis)
    if axis is None:
        return xp.tile(values_of(x), (repeats,))
    return xp.concat([x] * repeats, axis=axis) if repeats else f(x, repeats, axis=axis)


def left_aligned(f: Any, x: Any, repetitions: Any) -> Any:
    """Repetitions are aligned with the first axes."""
    return f(x, (*repetitions, *(1,) * (x.ndim - len(repetitions))))


def joined_dtype(f: Any, arrays: Any, **kwargs: Any) -> Any:
    return xp.astype(f(arrays, **kwargs), arrays[0].dtype)


def squeeze_all(f: Any, x: Any, axis: Any) -> Any:
    """Every dimension of size 1 is removed."""
    f(x, axis)
    return xp.reshape(x, tuple(n for n in x.shape if n != 1))


def one_behind(axis: Any) -> Any:
    return axis + 1 if axis >= 0 else axis - 1


plant(
    "broadcast_to",
    "left",
    "the shape is aligned at the left",
    lambda f, x, shape: f(xp.reshape(x, (*x.shape, *(1,) * (len(shape) - x.ndim))), shape),
)
plant(
    "broadcast_to",
    "first",
    "the first element stands everywhere",
    lambda f, x, shape: f(values_of(x)[0], shape),
)
plant(
    "broadcast_arrays",
    "unchanged",
    "returns the arrays unchanged",
    instead(lambda *arrays: list(arrays)),
)
plant(
    "broadcast_arrays",
    "two",
    "only the first two shapes count",
    lambda f, *arrays: [*f(*arrays[:2]), *arrays[2:]],
)
plant(
    "broadcast_arrays",
    "dtype",
    "promotes the arrays to one dtype",
    then(lambda out: [xp.astype(x, xp.result_type(*out)) for x in out]),
)
plant(
    "broadcast_shapes",
    "max",
    "ones do not stretch: the first shape",
    lambda f, *shapes: max(shapes, key=len),
)
plant(
    "broadcast_shapes",
    "zero",
    "0 counts as 1",
    lambda f, *shapes: tuple(n or 1 for n in f(*shapes)),
)
plant("concat", "reversed", "joins in reversed order", first(lambda arrays: list(arrays)[::-1]))
plant("concat", "dtype", "the result has the first array's dtype", joined_dtype)
plant(
    "concat",
    "flat",
    "axis=None counts as 0",
    keyword("axis", lambda axis: 0 if axis is None else axis),
)
plant(
    "concat",
    "axis",
    "joins along the axis behind the one that is asked for",
    lambda f, arrays, *, axis=0: f(arrays, axis=(axis + 1) % arrays[0].ndim),
)
plant(
    "concat", "two", "only the first two arrays are joined", first(lambda arrays: list(arrays)[:2])
)
plant(
    "concat",
    "strides",
    "reads strided arrays as contiguous",
    first(lambda arrays: [as_if_contiguous(x) for x in arrays]),
)
plant(
    "stack",
    "axis",
    "a negative axis counts from the arrays' dimensions",
    lambda f, arrays, *, axis=0: f(arrays, axis=axis - 1 if axis < 0 else axis),
)
plant("stack", "reversed", "stacks in reversed order", first(lambda arrays: list(arrays)[::-1]))
plant("stack", "dtype", "the result has the first array's dtype", joined_dtype)
plant("stack", "first-axis", "axis is ignored", dropping("axis"))
plant("unstack", "axis", "along the axis behind the one that is asked for", shifted_axis)
plant(
    "unstack",
    "keepdims",
    "the arrays keep the axis with size 1",
    lambda f, x, *, axis=0: tuple(xp.expand_dims(y, axis) for y in f(x, axis=axis)),
)
plant("unstack", "reversed", "the arrays come in reversed order", then(lambda out: out[::-1]))
plant(
    "expand_dims",
    "negative",
    "a negative axis counts from the operand's dimensions",
    lambda f, x, axis: f(x, axis - 1 if isinstance(axis, int) and axis < 0 else axis),
)
plant(
    "expand_dims",
    "behind",
    "the new axis is one place later",
    lambda f, x, axis: f(x, one_behind(axis)),
)
plant("squeeze", "all", "every dimension of size 1 is removed", squeeze_all)
plant(
    "squeeze",
    "any",
    "dimensions of other sizes are left without an error",
    lambda f, x, axis: f(x, axis) if isinstance(axis, tuple) or x.shape[axis] == 1 else x,
    lenient=True,
)
plant("flip", "all", "reverses every axis", dropping("axis"))
plant("flip", "axis", "reverses the axis behind the one that is asked for", shifted_axis)
plant(
    "flip",
    "first",
    "without axis only the first axis is reversed",
    keyword("axis", lambda axis: 0 if axis is None else axis),
)
plant(
    "moveaxis",
    "swaps",
    "the two axes change places",
    lambda f, x, a, b: xp.permute_dims(
        x, tuple({a % x.ndim: b % x.ndim, b % x.ndim: a % x.ndim}.get(i, i) for i in range(x.ndim))
    ),
)
plant("moveaxis", "backward", "source and destination change places", lambda f, x, a, b: f(x, b, a))
plant("permute_dims", "inverse", "the inverse permutation", lambda f, x, axes: f(x, inverse(axes)))
plant(
    "permute_dims",
    "reverses",
    "reverses the axes",
    lambda f, x, axes: reverse_axes(x),
)
plant("reshape", "column-major", "in column-major order", column_major)
plant(
    "reshape", "strides", "of strided operands takes the order of memory", first(as_if_contiguous)
)
plant(
    "reshape",
    "copy",
    "copy=True gives a view",
    keyword("copy", lambda copy: None if copy else copy),
)
plant(
    "reshape",
    "no-copy",
    "copy=False copies where a view is impossible",
    keyword("copy", lambda copy: None if copy is False else copy),
    lenient=True,
)
plant(
    "roll",
    "backward",
    "rolls in the other direction",
    lambda f, x, shift, **k: f(x, backward(shift), **k),
)
plant("roll", "once", "shifts beyond the size count as the size", falling_off)
plant("roll", "first", "of several shifts only the first counts", first_shift)
plant(
    "roll",
    "flat",
    "without axis rolls along the last axis",
    keyword("axis", lambda a: -1 if a is None else a),
)
plant("roll", "strides", "reads strided operands as contiguous", first(as_if_contiguous))
plant("repeat", "tiles", "the whole array is repeated", tiling_whole)
plant("repeat", "counts", "of an array of counts the first holds for all", first_count)
plant(
    "repeat",
    "axis",
    "without axis repeats along the first axis",
    keyword("axis", lambda a: 0 if a is None else a),
)
plant("repeat", "behind", "along the axis behind the one that is asked for", shifted_axis)
plant("repeat", "strides", "reads strided operands as contiguous", first(as_if_contiguous))
plant("tile", "left", "repetitions are aligned with the first axes", left_aligned)
plant(
    "tile",
    "repeats",
    "each element is repeated instead of the array",
    lambda f, x, n: xp.repeat(x, n[0]) if x.ndim == 1 and len(n) == 1 else f(x, n),
)
plant("tile", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("tril", "k", "k is ignored", dropping("k"))
plant("tril", "sign", "k has the other sign", keyword("k", lambda k: -k, 0))
plant("tril", "strict", "the diagonal is left out", keyword("k", lambda k: k - 1, 0))
plant(
    "tril",
    "batch",
    "of stacked matrices only the first is changed",
    when(rank(3), lambda f, x, **k: xp.concat([f(x[:1], **k), x[1:]])),
)
plant("triu", "k", "k is ignored", dropping("k"))
plant("triu", "tril", "returns the lower triangle", instead(lambda x, **k: xp.tril(x, **k)))
plant("triu", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "triu",
    "batch",
    "the triangle of the first two axes of stacked matrices",
    when(rank(3), lambda f, x, **k: reverse_axes(f(reverse_axes(x), **k))),
)
plant("meshgrid", "indexing", "indexing is ignored", dropping("indexing"))
plant("meshgrid", "default", "the default is ij", keyword("indexing", lambda i: i or "ij"))
plant(
    "meshgrid",
    "third",
    "with three arrays all axes are reversed",
    lambda f, *arrays, **k: (
        [reverse_axes(x) for x in f(*arrays, **k)] if len(arrays) == 3 else f(*arrays, **k)
    ),
)
plant("meshgrid", "order", "the arrays come in reversed order", then(lambda out: out[::-1]))
plant("copy", "same", "returns the array itself", instead(lambda x: x))
plant(
    "stack",
    "strides",
    "reads strided arrays as contiguous",
    first(lambda arrays: [as_if_contiguous(x) for x in arrays]),
)
