"""Mutants of cumulative_sum, cumulative_prod and diff."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    dropping,
    first,
    ignoring_strides,
    instead,
    integer,
    keyword,
    of,
    real,
    shifted_axis,
    then,
    when,
    without_nan,
)

import refarray as xp


def where_axis(x: Any, axis: Any) -> int:
    return 0 if axis is None else int(axis)


def exclusive(
    f: Any, x: Any, *, axis: Any = None, include_initial: bool = False, **kwargs: Any
) -> Any:
    """Each result lacks the element at its place."""
    if include_initial:
        return f(x, axis=axis, include_initial=True, **kwargs)
    axis = where_axis(x, axis)
    out = f(x, axis=axis, include_initial=True, **kwargs)
    return xp.take(out, xp.arange(x.shape[axis]), axis=axis)


def initial_last(
    f: Any, x: Any, *, axis: Any = None, include_initial: bool = False, **kwargs: Any
) -> Any:
    """The initial value stands behind the results."""
    out = f(x, axis=axis, include_initial=include_initial, **kwargs)
    return xp.roll(out, -1, axis=where_axis(x, axis)) if include_initial else out


def other_initial(value: int) -> Any:
    """The initial value is another one."""

    def broken(
        f: Any, x: Any, *, axis: Any = None, include_initial: bool = False, **kwargs: Any
    ) -> Any:
        out = f(x, axis=axis, include_initial=include_initial, **kwargs)
        if include_initial:
            index: list[Any] = [slice(None)] * out.ndim
            index[where_axis(x, axis)] = 0
            out[tuple(index)] = value
        return out

    return broken


def backwards(f: Any, x: Any, *, axis: Any = None, **kwargs: Any) -> Any:
    """The scan goes from the end to the start."""
    axis = where_axis(x, axis)
    return xp.flip(f(xp.flip(x, axis=axis), axis=axis, **kwargs), axis=axis)


def restarting(f: Any, x: Any, **kwargs: Any) -> Any:
    """Starts again after 4096 elements."""
    if x.ndim != 1 or kwargs.get("include_initial"):
        return f(x, **kwargs)
    return xp.concat([f(x[i : i + 4096], **kwargs) for i in range(0, x.size, 4096)])


def in_own_dtype(f: Any, x: Any, **kwargs: Any) -> Any:
    return xp.astype(f(x, **{**kwargs, "dtype": x.dtype}), f(x, **kwargs).dtype)


def once(f: Any, x: Any, *, n: int = 1, **kwargs: Any) -> Any:
    return f(x, n=min(n, 1), **kwargs)


def ends_swapped(f: Any, x: Any, *, prepend: Any = None, append: Any = None, **kwargs: Any) -> Any:
    return f(x, prepend=append, append=prepend, **kwargs)


plant("cumulative_sum", "initial", "include_initial is ignored", dropping("include_initial"))
plant("cumulative_sum", "initial-last", "the initial value stands behind the results", initial_last)
plant("cumulative_sum", "initial-one", "the initial value is 1", other_initial(1))
plant("cumulative_sum", "exclusive", "each sum lacks the element at its place", exclusive)
plant("cumulative_sum", "backwards", "adds from the end", backwards)
plant(
    "cumulative_sum", "axis", "adds along the axis behind the one that is asked for", shifted_axis
)
plant("cumulative_sum", "dtype", "dtype= is ignored", dropping("dtype"))
plant(
    "cumulative_sum",
    "narrow",
    "small integers are added in their own dtype",
    when(integer, in_own_dtype),
)
plant("cumulative_sum", "restarts", "starts again after 4096 elements", restarting)
plant("cumulative_sum", "nan", "NaN counts as 0", when(real, first(without_nan(0.0))))
plant("cumulative_sum", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("cumulative_prod", "initial-zero", "the initial value is 0", other_initial(0))
plant("cumulative_prod", "initial", "include_initial is ignored", dropping("include_initial"))
plant("cumulative_prod", "sums", "computes sums", instead(lambda x, **k: xp.cumulative_sum(x, **k)))
plant("cumulative_prod", "exclusive", "each product lacks the element at its place", exclusive)
plant(
    "cumulative_prod",
    "axis",
    "multiplies along the axis behind the one that is asked for",
    shifted_axis,
)
plant("cumulative_prod", "zeros", "zeros are skipped", first(lambda x: xp.where(x == 0, 1, x)))
plant("cumulative_prod", "dtype", "dtype= is ignored", dropping("dtype"))
plant(
    "cumulative_prod",
    "unsigned",
    "unsigned integers give int64",
    when(of("uint8", "uint16", "uint32"), then(lambda x: xp.astype(x, "int64"))),
)
plant("cumulative_prod", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("diff", "negated", "subtracts the following element", when(real, then(lambda x: -x)))
plant("diff", "once", "n above 1 counts as 1", once)
plant("diff", "zero", "n = 0 counts as 1", keyword("n", lambda n: n or 1, 1))
plant("diff", "prepend", "prepend is ignored", dropping("prepend"))
plant("diff", "append", "append is ignored", dropping("append"))
plant("diff", "ends", "prepend and append change places", ends_swapped)
plant("diff", "axis", "along the axis behind the one that is asked for", shifted_axis)
plant(
    "diff",
    "first-axis",
    "along the first axis by default",
    keyword("axis", lambda axis: 0 if axis is None else axis),
)
plant(
    "diff",
    "unsigned",
    "unsigned differences are absolute",
    when(
        of("uint8", "uint16", "uint32", "uint64"),
        lambda f, x, **k: xp.minimum(f(x, **k), 0 - f(x, **k)),
    ),
)
plant("diff", "strides", "reads strided operands as contiguous", ignoring_strides)
plant("diff", "abs", "loses the sign", then(lambda x: xp.abs(x)))
