"""Mutants of sum, prod, min, max, argmin, argmax, all, any and count_nonzero."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    all_axes,
    as_if_contiguous,
    complex_,
    dropping,
    first,
    first_axis_only,
    ignoring_strides,
    in_precision,
    instead,
    integer,
    longer,
    of,
    real,
    shifted_axis,
    then,
    values_of,
    when,
    without_nan,
)

import refarray as xp


def kept_first(f: Any, x: Any, *, keepdims: bool, **kwargs: Any) -> Any:
    """keepdims puts its dimensions of size 1 in front."""
    out = f(x, keepdims=keepdims, **kwargs)
    return xp.reshape(out, tuple(sorted(out.shape))) if keepdims else out


def in_own_dtype(f: Any, x: Any, **kwargs: Any) -> Any:
    """The reduction is computed in the operand's dtype and then converted."""
    return xp.astype(f(x, **{**kwargs, "dtype": x.dtype}), f(x, **kwargs).dtype)


def keeping_dtype(f: Any, x: Any, **kwargs: Any) -> Any:
    return f(x, **{**kwargs, "dtype": x.dtype})


def whole(x: Any, *, axis: Any = None, **_: Any) -> bool:
    return axis is None


def no_axes(x: Any, *, axis: Any = None, **_: Any) -> bool:
    return isinstance(axis, tuple) and not axis


def empty(x: Any, **_: Any) -> bool:
    return bool(x.size == 0)


def filled(value: Any) -> Any:
    return then(lambda out: xp.full_like(out, value))


def without_last(f: Any, x: Any, **kwargs: Any) -> Any:
    """The last of more than 32 elements is left out."""
    return f(values_of(x)[:-1], **kwargs)


def without_block(f: Any, x: Any, **kwargs: Any) -> Any:
    """What is behind the last whole block of 4096 elements is left out."""
    return f(values_of(x)[: x.size // 4096 * 4096], **kwargs)


def last_of_equal(f: Any, x: Any, *, axis: Any = None, **kwargs: Any) -> Any:
    """Of equal elements the last counts."""
    if axis is None:
        return x.size - 1 - f(xp.flip(values_of(x)), **kwargs)
    return x.shape[axis] - 1 - f(xp.flip(x, axis=axis), axis=axis, **kwargs)


NAMES = ("sum", "prod", "min", "max", "all", "any", "count_nonzero")
for name in NAMES:
    plant(name, "axis", "reduces the axis behind the one that is asked for", shifted_axis)
for name in ("sum", "max", "any", "argmin", "count_nonzero"):
    plant(name, "keepdims", "keepdims is ignored", dropping("keepdims"))
for name in ("prod", "min", "all"):
    plant(name, "keepdims-first", "keepdims puts the dimensions of size 1 in front", kept_first)
for name in ("sum", "prod", "max", "all", "count_nonzero"):
    plant(name, "axes", "of several axes only the first counts", first_axis_only)
for name in ("sum", "min", "any", "argmax"):
    plant(name, "strides", "reads strided operands as contiguous", ignoring_strides)
for name in ("sum", "max", "all"):
    plant(name, "no-axes", "axis=() reduces all axes", when(no_axes, dropping("axis")))

plant("sum", "all-axes", "the sum of everything stands everywhere", all_axes)
plant(
    "sum",
    "tail",
    "the last of more than 32 elements is left out",
    when(lambda x, **k: whole(x, **k) and longer(32)(x), without_last),
)
plant(
    "sum",
    "blocks",
    "what is behind the last 4096 elements is left out",
    when(lambda x, **k: whole(x, **k) and longer(4096)(x), without_block),
)
plant("sum", "narrow", "small integers are added in their own dtype", when(integer, in_own_dtype))
plant(
    "sum",
    "upcast",
    "small integers give a result of their own dtype",
    when(lambda x, *, dtype=None, **_: integer(x) and dtype is None, keeping_dtype),
)
plant("sum", "dtype", "dtype= is ignored", dropping("dtype"))
plant(
    "sum",
    "signed",
    "unsigned integers give int64",
    when(of("uint8", "uint16", "uint32"), then(lambda x: xp.astype(x, "int64"))),
)
plant("sum", "nan", "NaN is skipped", when(real, first(without_nan(0.0))))
plant(
    "sum",
    "float16",
    "float32 is added with float16 operands",
    when(of("float32"), in_precision("float16")),
)
plant("sum", "empty", "no elements give 1", when(empty, filled(1)))
plant("sum", "complex", "complex: the result is conjugated", when(complex_, then(xp.conj)))
plant("prod", "empty", "no elements give 0", when(empty, filled(0)))
plant("prod", "zeros", "zeros are skipped", first(lambda x: xp.where(x == 0, 1, x)))
plant("prod", "dtype", "dtype= is ignored", dropping("dtype"))
plant(
    "prod",
    "narrow",
    "small integers are multiplied in their own dtype",
    when(integer, in_own_dtype),
)
plant("prod", "nan", "NaN is skipped", when(real, first(without_nan(1.0))))
plant("prod", "sum", "computes the sum", instead(lambda x, **k: xp.sum(x, **k)))
plant("prod", "sign", "the sign of the result is lost", then(lambda x: xp.abs(x)))
plant("min", "nan", "NaN is skipped", when(real, first(without_nan(xp.inf))))
plant("min", "max", "computes the maximum", instead(lambda x, **k: xp.max(x, **k)))
plant("min", "zero", "starts with 0", then(lambda x: xp.minimum(x, 0)))
plant("min", "bfloat16", "bfloat16 is compared by magnitude", when(of("bfloat16"), first(xp.abs)))
plant("max", "nan", "NaN is skipped", when(real, first(without_nan(-xp.inf))))
plant(
    "max",
    "nan-first",
    "NaN counts only as the first element",
    when(
        real,
        lambda f, x, **k: f(xp.where(xp.isnan(x) & ~xp.isnan(values_of(x)[0]), -xp.inf, x), **k),
    ),
)
plant("max", "zero", "starts with 0", then(lambda x: xp.maximum(x, 0)))
plant(
    "max",
    "signed",
    "uint64 is compared as int64",
    when(of("uint64"), lambda f, x, **k: xp.astype(f(xp.astype(x, "int64"), **k), "uint64")),
)
plant(
    "max",
    "tail",
    "the last of more than 32 elements is left out",
    when(lambda x, **k: whole(x, **k) and longer(32)(x), without_last),
)
plant("argmax", "last", "of equal elements the last counts", last_of_equal)
plant("argmax", "nan", "NaN is skipped", when(real, first(without_nan(-xp.inf))))
plant("argmax", "axis", "searches along the axis behind the one that is asked for", shifted_axis)
plant(
    "argmax",
    "argmin",
    "computes the index of the minimum",
    instead(lambda x, **k: xp.argmin(x, **k)),
)
plant("argmax", "dtype", "the result is int32", then(lambda x: xp.astype(x, "int32")))
plant("argmin", "last", "of equal elements the last counts", last_of_equal)
plant("argmin", "nan", "NaN is skipped", when(real, first(without_nan(xp.inf))))
plant("argmin", "one-based", "counts from 1", then(lambda x: x + 1))
plant(
    "argmin",
    "row-major",
    "without axis counts in column-major order",
    when(whole, lambda f, x, **k: f(x.T, **k) if x.ndim == 2 else f(x, **k)),
)
plant("all", "empty", "False without elements", when(empty, filled(False)))
plant("all", "nan", "NaN counts as False", when(real, first(without_nan(0.0))))
plant("all", "any", "computes any()", instead(lambda x, **k: xp.any(x, **k)))
plant("all", "strides", "reads strided operands as contiguous", first(as_if_contiguous))
plant("any", "empty", "True without elements", when(empty, filled(True)))
plant("any", "complex", "complex: only the real part counts", when(complex_, first(xp.real)))
plant(
    "any",
    "minus-zero",
    "-0 counts as True",
    when(real, first(lambda x: xp.where(xp.signbit(x), 1.0, x))),
)
plant("any", "all", "computes all()", instead(lambda x, **k: xp.all(x, **k)))
plant(
    "any",
    "tail",
    "the last of more than 32 elements is left out",
    when(lambda x, **k: whole(x, **k) and longer(32)(x), without_last),
)
plant(
    "count_nonzero",
    "minus-zero",
    "-0 is counted",
    when(real, first(lambda x: xp.where(xp.signbit(x), 1.0, x))),
)
plant("count_nonzero", "nan", "NaN is not counted", when(real, first(without_nan(0.0))))
plant("count_nonzero", "zeros", "counts the zeros", first(lambda x: x == 0))
plant("count_nonzero", "dtype", "the result is int32", then(lambda x: xp.astype(x, "int32")))
plant(
    "count_nonzero", "complex", "complex: only the real part counts", when(complex_, first(xp.real))
)
plant(
    "count_nonzero",
    "sums",
    "adds the elements of integers",
    when(integer, lambda f, x, **k: xp.astype(xp.sum(x, **k), "int64")),
)
