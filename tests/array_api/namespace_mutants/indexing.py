"""Mutants of reading and writing by index, take, take_along_axis and nonzero."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import Broken, plant
from array_api.namespace_mutants.kinds import (
    as_if_contiguous,
    first,
    ignoring_strides,
    instead,
    is_array,
    keyword,
    rank,
    real,
    second,
    shifted_axis,
    then,
    when,
    without_nan,
)

import refarray as xp


def keys(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def each_key(condition: Any, change: Any) -> Broken:
    """Changes the parts of an index that meet a condition."""

    def broken(f: Any, x: Any, key: Any, *value: Any) -> Any:
        parts = tuple(change(part) if condition(part) else part for part in keys(key))
        return f(x, parts if isinstance(key, tuple) else parts[0], *value)

    return broken


def is_mask(key: Any) -> bool:
    return is_array(key) and key.dtype == xp.bool


def is_index_array(key: Any) -> bool:
    return is_array(key) and xp.isdtype(key.dtype, "integral")


def is_slice(key: Any) -> bool:
    return isinstance(key, slice)


def is_integer(key: Any) -> bool:
    return isinstance(key, int) and not isinstance(key, bool)


def with_mask(x: Any, key: Any, *_: Any) -> bool:
    return is_mask(key)


def with_arrays(x: Any, key: Any, *_: Any) -> bool:
    return any(is_index_array(part) for part in keys(key))


def ellipsis_last(f: Any, x: Any, key: Any, *value: Any) -> Any:
    """The ellipsis counts as if it stood at the end."""
    parts = tuple(part for part in keys(key) if part is not ...)
    return f(x, (*parts, ...), *value)


def new_axis_last(f: Any, x: Any, key: Any) -> Any:
    """New axes are put at the end."""
    count = sum(part is None for part in keys(key))
    out = f(x, tuple(part for part in keys(key) if part is not None))
    return xp.reshape(out, (*out.shape, *(1,) * count))


def stopping_early(key: slice) -> slice:
    """Slices with an end stop one element before it."""
    return slice(key.start, key.stop - 1 if key.stop and key.stop > 1 else key.stop, key.step)


def mask_column_major(f: Any, x: Any, key: Any) -> Any:
    """The elements that a mask selects come in column-major order."""
    return f(x.T, key.T) if key.ndim == x.ndim == 2 else f(x, key)


def arrays_broadcast(f: Any, x: Any, key: Any) -> Any:
    """Several index arrays select a grid, as if they were orthogonal."""
    parts = keys(key)
    if len(parts) != 2 or not all(is_index_array(part) and part.ndim == 1 for part in parts):
        return f(x, key)
    out = f(x, (parts[0][:, None], parts[1][None, :]))
    return out[:, 0] if parts[0].size == parts[1].size else out


def repeating_value(f: Any, x: Any, key: Any, value: Any) -> Any:
    """Of an array of values the first is written everywhere."""
    return f(x, key, xp.reshape(value, (-1,))[0] if is_array(value) else value)


def transposed_value(f: Any, x: Any, key: Any, value: Any) -> Any:
    """Square values are written transposed."""
    square = is_array(value) and value.ndim == 2 and value.shape[0] == value.shape[1]
    return f(x, key, value.T if square else value)


def overlapping(f: Any, x: Any, key: Any, value: Any) -> Any:
    """Values that share memory with the array are read while it is written."""
    target = x[key]
    if not is_array(value) or value.shape != target.shape or target.ndim == 0:
        return f(x, key, value)
    for i in range(target.shape[0]):
        f(target, i, value[i])
    return None


def nothing(f: Any, x: Any, key: Any, value: Any) -> Any:
    """Nothing is written."""


def masked_order(f: Any, x: Any, key: Any, value: Any) -> Any:
    """Values of a mask are written in reversed order."""
    return f(x, key, xp.flip(value) if is_array(value) and value.ndim == 1 else value)


def flipped_later(f: Any, x: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
    return f(x, xp.sort(indices), *args, **kwargs)


GET, SET = "Array.__getitem__", "Array.__setitem__"
plant(
    GET,
    "negative",
    "negative integers count from the last but one",
    each_key(lambda k: is_integer(k) and k < -1, lambda k: k + 1),
)
plant(
    GET,
    "step",
    "steps of slices are ignored",
    each_key(lambda k: is_slice(k) and (k.step or 1) > 1, lambda k: slice(k.start, k.stop)),
)
plant(
    GET,
    "negative-step",
    "slices with a negative step are not reversed",
    lambda f, x, key: (
        xp.flip(f(x, key), axis=0) if is_slice(key) and (key.step or 1) < 0 else f(x, key)
    ),
)
plant(GET, "stop", "slices end one element early", each_key(is_slice, stopping_early))
plant(GET, "ellipsis", "an ellipsis counts as if it stood at the end", ellipsis_last)
plant(GET, "new-axis", "new axes are put at the end", new_axis_last)
plant(GET, "mask-order", "a mask selects in column-major order", when(with_mask, mask_column_major))
plant(GET, "mask-inverted", "a mask selects what is False", when(with_mask, second(lambda k: ~k)))
plant(
    GET,
    "mask-strides",
    "reads a strided mask as contiguous",
    when(with_mask, second(as_if_contiguous)),
)
plant(
    GET,
    "masked-strides",
    "of a strided array a mask selects from contiguous memory",
    when(with_mask, first(as_if_contiguous)),
)
plant(
    GET,
    "index-negative",
    "negative numbers in index arrays count as 0",
    each_key(is_index_array, lambda k: xp.where(k < 0, 0, k)),
)
plant(
    GET,
    "index-strides",
    "index arrays select from contiguous memory",
    when(with_arrays, first(as_if_contiguous)),
)
plant(
    GET,
    "index-array-strides",
    "reads strided index arrays as contiguous",
    each_key(is_index_array, as_if_contiguous),
)
plant(GET, "orthogonal", "two index arrays select the first column of a grid", arrays_broadcast)
plant(
    GET,
    "index-copy",
    "one index array gives its sorted elements",
    each_key(is_index_array, xp.sort),
)
plant(
    GET,
    "out-of-range",
    "integers out of range are clipped",
    lambda f, x, key: (
        f(x, max(-x.shape[0], min(key, x.shape[0] - 1))) if is_integer(key) else f(x, key)
    ),
    lenient=True,
)
plant(SET, "nothing", "nothing is written", nothing)
plant(
    SET,
    "step",
    "steps of slices are ignored",
    each_key(lambda k: is_slice(k) and (k.step or 1) > 1, lambda k: slice(k.start, k.stop)),
)
plant(SET, "first-value", "of an array of values the first is written everywhere", repeating_value)
plant(SET, "transposed", "square values are written transposed", transposed_value)
plant(SET, "overlap", "overlapping values see what is written", overlapping)
plant(SET, "mask-inverted", "a mask selects what is False", when(with_mask, second(lambda k: ~k)))
plant(
    SET,
    "mask-order",
    "values of a mask are written in reversed order",
    when(with_mask, masked_order),
)
plant(
    SET,
    "mask-copy",
    "with a mask of fewer dimensions nothing is written",
    when(lambda x, key, value: is_mask(key) and key.ndim < x.ndim, nothing),
)
plant(
    SET,
    "negative",
    "negative integers count from the last but one",
    each_key(lambda k: is_integer(k) and k < -1, lambda k: k + 1),
)
plant(
    SET,
    "strided",
    "what is written to a strided array is lost",
    when(lambda x, key, value: not x.is_contiguous(), nothing),
)
plant(
    SET,
    "value-strides",
    "reads strided values as contiguous",
    lambda f, x, key, value: f(x, key, as_if_contiguous(value)),
)
plant(
    SET,
    "index-negative",
    "negative numbers in index arrays count as 0",
    each_key(is_index_array, lambda k: xp.where(k < 0, 0, k)),
)
plant(
    SET,
    "truncates",
    "Python floats are truncated",
    lambda f, x, key, value: f(x, key, float(int(value))),
)
plant(SET, "ellipsis", "an ellipsis counts as if it stood at the end", ellipsis_last)

plant("take", "sorted", "the elements come in the order of the array", flipped_later)
plant("take", "axis", "takes along the axis behind the one that is asked for", shifted_axis)
plant("take", "negative", "negative indices count as 0", second(lambda i: xp.where(i < 0, 0, i)))
plant("take", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "take",
    "unsigned",
    "indices are taken as int8",
    second(lambda i: xp.astype(xp.astype(i, "int8"), "int64")),
)
plant("take_along_axis", "axis", "along the axis behind the one that is asked for", shifted_axis)
plant(
    "take_along_axis",
    "first-axis",
    "along the first axis by default",
    keyword("axis", lambda axis: 0 if axis is None else axis),
)
plant(
    "take_along_axis",
    "first-row",
    "the first row of indices counts for all rows",
    when(rank(2), lambda f, x, i, **k: f(x, xp.broadcast_to(i[:1], i.shape), **k)),
)
plant("take_along_axis", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "take_along_axis",
    "negative",
    "negative indices count as 0",
    second(lambda i: xp.where(i < 0, 0, i)),
)
plant(
    "nonzero",
    "reversed",
    "the arrays of indices come in reversed order",
    then(lambda out: out[::-1]),
)
plant(
    "nonzero",
    "column-major",
    "the elements come in column-major order",
    when(rank(2), lambda f, x: f(x.T)[::-1]),
)
plant(
    "nonzero",
    "minus-zero",
    "-0 is not zero",
    when(real, first(lambda x: xp.where(xp.signbit(x), 1.0, x))),
)
plant("nonzero", "nan", "NaN is zero", when(real, first(without_nan(0.0))))
plant("nonzero", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "nonzero",
    "dtype",
    "the indices are int32",
    then(lambda out: tuple(xp.astype(i, "int32") for i in out)),
)
plant("nonzero", "list", "returns one array of rows", instead(lambda x: xp.stack(xp.nonzero(x))))
