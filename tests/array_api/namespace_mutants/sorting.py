"""Mutants of sort, argsort and searchsorted."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    as_if_contiguous,
    dropping,
    first,
    ignoring_strides,
    keyword,
    last_as_first,
    longer,
    of,
    real,
    second,
    shifted_axis,
    then,
    when,
    without_nan,
)

import refarray as xp


def unstable(
    f: Any, x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """Equal elements come in reversed order."""
    out = f(xp.flip(x, axis=axis), axis=axis, descending=descending, stable=stable)
    return x.shape[axis] - 1 - out


def descending_unstable(
    f: Any, x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """Descending is ascending backwards: equal elements come in reversed order."""
    out = f(x, axis=axis, stable=stable)
    return xp.flip(out, axis=axis) if descending else out


def nan_first(f: Any, x: Any, **kwargs: Any) -> Any:
    """NaN comes first, as if it were the smallest number."""
    out = f(x, **kwargs)
    axis = kwargs.get("axis", -1)
    if kwargs.get("descending") or not bool(xp.any(xp.isnan(x))) or x.ndim != 1:
        return out
    return xp.roll(out, int(xp.count_nonzero(xp.isnan(x))), axis=axis)


def ranks(f: Any, x: Any, **kwargs: Any) -> Any:
    """The rank of each element: the inverse permutation."""
    axis = kwargs.get("axis", -1)
    return f(f(x, **kwargs), axis=axis)


def through_float(f: Any, x: Any, **kwargs: Any) -> Any:
    return f(xp.astype(x, "float64"), **kwargs)


def other_side(side: Any) -> str:
    return "left" if side == "right" else "right"


def halves(f: Any, x: Any, **kwargs: Any) -> Any:
    """Two halves are sorted and not merged."""
    n = x.size // 2
    return xp.concat([f(x[:n], **kwargs), f(x[n:], **kwargs)]) if x.ndim == 1 else f(x, **kwargs)


plant("sort", "descending", "descending is ignored", dropping("descending"))
plant("sort", "axis", "sorts along the axis behind the one that is asked for", shifted_axis)
plant(
    "sort",
    "first-axis",
    "along the first axis by default",
    keyword("axis", lambda a: 0 if a is None else a),
)
plant("sort", "nan", "NaN comes first", when(real, nan_first))
plant("sort", "nan-lost", "NaN becomes the largest number", when(real, first(without_nan(xp.inf))))
plant(
    "sort",
    "signed",
    "uint64 is compared as int64",
    when(of("uint64"), lambda f, x, **k: xp.astype(f(xp.astype(x, "int64"), **k), "uint64")),
)
plant(
    "sort", "halves", "two halves of more than 64 elements are not merged", when(longer(64), halves)
)
plant("sort", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "sort",
    "abs",
    "int8 is sorted by magnitude",
    when(
        of("int8"),
        lambda f, x, **k: xp.take_along_axis(
            x, xp.argsort(xp.abs(xp.astype(x, "int16")), **k), axis=k.get("axis", -1)
        ),
    ),
)
plant(
    "sort",
    "in-place",
    "the operand is sorted also",
    lambda f, x, **k: (x.__setitem__(..., f(x, **k)), f(x, **k))[1],
)
plant(
    "sort",
    "tail",
    "the last of more than 1000 elements repeats the first",
    when(longer(1000), then(last_as_first)),
)
plant("argsort", "descending", "descending is ignored", dropping("descending"))
plant("argsort", "unstable", "equal elements come in reversed order", unstable)
plant(
    "argsort",
    "descending-unstable",
    "descending: equal elements come in reversed order",
    descending_unstable,
)
plant("argsort", "axis", "along the axis behind the one that is asked for", shifted_axis)
plant("argsort", "ranks", "the inverse permutation", ranks)
plant("argsort", "nan", "NaN comes first", when(real, nan_first))
plant("argsort", "dtype", "the result is int32", then(lambda x: xp.astype(x, "int32")))
plant(
    "argsort",
    "through-float",
    "int64 is compared as float64",
    when(of("int64", "uint64"), through_float),
)
plant("argsort", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "argsort",
    "zeros",
    "-0 comes before +0",
    when(
        real,
        first(lambda x: xp.where((x == 0) & xp.signbit(x), -xp.finfo(x.dtype).smallest_normal, x)),
    ),
)
plant("searchsorted", "side", "side is ignored", dropping("side"))
plant(
    "searchsorted",
    "other-side",
    "left and right change places",
    keyword("side", other_side, "left"),
)
plant("searchsorted", "sorter", "sorter is ignored", dropping("sorter"))
plant(
    "searchsorted",
    "last",
    "no result is behind the last element",
    lambda f, x, *args, **k: xp.minimum(f(x, *args, **k), x.size - 1),
)
plant("searchsorted", "one-based", "counts from 1", then(lambda x: x + 1))
plant("searchsorted", "flat", "the result has one dimension", then(lambda x: xp.reshape(x, (-1,))))
plant("searchsorted", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "searchsorted", "second-strides", "reads strided values as contiguous", second(as_if_contiguous)
)
plant("searchsorted", "dtype", "the result is int32", then(lambda x: xp.astype(x, "int32")))
plant(
    "searchsorted",
    "nan",
    "NaN belongs before all elements",
    lambda f, x, y, **k: xp.where(xp.isnan(y), 0, f(x, y, **k)),
)
plant(
    "searchsorted",
    "truncates",
    "floating-point values are truncated",
    second(lambda y: xp.trunc(y)),
)
