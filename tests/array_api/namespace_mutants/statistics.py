"""Mutants of mean, var and std."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import Broken, plant
from array_api.namespace_mutants.kinds import (
    all_axes,
    dropping,
    first,
    first_axis_only,
    ignoring_strides,
    in_precision,
    instead,
    keyword,
    of,
    real,
    shifted_axis,
    then,
    when,
    without_nan,
)

import refarray as xp


def count(x: Any, axis: Any) -> int:
    """The number of elements that are combined."""
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    out = 1
    for each in axes:
        out *= x.shape[each]
    return out


def scaled(factor: Any) -> Broken:
    """The result is multiplied by a function of the count of elements and of all elements."""

    def broken(f: Any, x: Any, *, axis: Any = None, **kwargs: Any) -> Any:
        return f(x, axis=axis, **kwargs) * float(factor(count(x, axis), x.size))

    return broken


def one_pass(
    f: Any, x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Any:
    """mean(x * x) - mean(x) ** 2, which cancels."""
    n = count(x, axis)
    mean = xp.mean(x, axis=axis, keepdims=keepdims)
    squares = xp.mean(x * x, axis=axis, keepdims=keepdims)
    return (squares - mean * mean) * (n / (n - correction))


def sequential(f: Any, x: Any, *, axis: Any = None, **kwargs: Any) -> Any:
    """Adds one element after the other in float32."""
    if axis is not None or x.ndim != 1:
        return f(x, axis=axis, **kwargs)
    total = xp.cumulative_sum(x)[-1]
    return xp.reshape(total / x.size, f(x, axis=axis, **kwargs).shape)


def too_few(x: Any, *, axis: Any = None, correction: float = 0.0, **_: Any) -> bool:
    return count(x, axis) <= correction


plant("mean", "sample", "divides by n - 1", scaled(lambda n, size: n / (n - 1)))
plant(
    "mean",
    "size",
    "with an axis divides by the size of the array",
    scaled(lambda n, size: n / size),
)
plant("mean", "sum", "does not divide", scaled(lambda n, size: n))
plant("mean", "nan", "NaN counts as 0", when(real, first(without_nan(0.0))))
plant("mean", "keepdims", "keepdims is ignored", dropping("keepdims"))
plant("mean", "axis", "reduces the axis behind the one that is asked for", shifted_axis)
plant("mean", "axes", "of several axes only the first counts", first_axis_only)
plant("mean", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "mean",
    "empty",
    "no elements give 0",
    when(lambda x, **_: x.size == 0, then(lambda out: xp.zeros_like(out))),
)
plant(
    "mean",
    "sequential",
    "float32 is added one element after the other",
    when(of("float32"), sequential),
)
plant(
    "mean",
    "complex-dtype",
    "complex: the imaginary part is lost",
    when(lambda x, **_: not real(x), then(lambda out: xp.astype(xp.real(out), out.dtype))),
)
plant("var", "correction", "correction is ignored", dropping("correction"))
plant(
    "var",
    "integer",
    "correction is truncated to an integer",
    keyword("correction", lambda c: int(c), 0.0),
)
plant(
    "var",
    "sample",
    "correction is 1 by default",
    keyword("correction", lambda c: 1.0 if c is None else c),
)
plant("var", "one-pass", "mean of squares minus square of the mean, which cancels", one_pass)
plant("var", "std", "computes the standard deviation", then(lambda x: xp.sqrt(x)))
plant("var", "nan", "NaN counts as 0", first(without_nan(0.0)))
plant("var", "keepdims", "keepdims is ignored", dropping("keepdims"))
plant("var", "all-axes", "the variance of everything stands everywhere", all_axes)
plant("var", "strides", "reads strided operands as contiguous", ignoring_strides)
plant(
    "var",
    "few",
    "gives 0 if there are not more elements than the correction",
    when(too_few, then(lambda out: xp.zeros_like(out))),
)
plant("std", "var", "computes the variance", then(lambda x: x * x))
plant("std", "correction", "correction is ignored", dropping("correction"))
plant(
    "std",
    "abs",
    "the mean absolute deviation",
    instead(
        lambda x, *, axis=None, correction=0.0, keepdims=False: xp.mean(
            xp.abs(x - xp.mean(x, axis=axis, keepdims=True)), axis=axis, keepdims=keepdims
        )
    ),
)
plant("std", "axis", "reduces the axis behind the one that is asked for", shifted_axis)
plant("std", "axes", "of several axes only the first counts", first_axis_only)
plant(
    "std",
    "double-correction",
    "correction counts twice",
    keyword("correction", lambda c: 2 * c, 0.0),
)
plant(
    "std",
    "float32",
    "float64 is computed with float32 operands",
    when(of("float64"), in_precision("float32")),
)
plant("std", "keepdims", "always keeps the dimensions", keyword("keepdims", lambda _: True))
plant("std", "nan", "NaN gives 0", then(lambda x: xp.where(xp.isnan(x), 0.0, x)))
