"""Mutants of matrix_norm and vector_norm."""

from __future__ import annotations

import math
from typing import Any

from array_api.namespace_mutants.base import IntendedError, plant
from array_api.namespace_mutants.kinds import (
    complex_,
    dropping,
    first,
    keyword,
    of,
    rank,
    real,
    then,
    when,
)
from array_api.namespace_mutants.linalg.kinds import (
    empty,
    finite,
    huge,
    other_error,
    tiny,
)

import refarray as xp


def renamed(old: Any, new: Any) -> Any:
    """One order is taken for another."""
    return lambda order: new if type(order) is type(old) and order == old else order


def to_inf(x: Any) -> Any:
    return xp.full_like(x, xp.inf)


def as_complex(x: Any) -> Any:
    return xp.astype(x, "complex128" if x.dtype == xp.float64 else "complex64")


def without_imaginary(x: Any) -> Any:
    return xp.real(x)


def integral(order: Any) -> Any:
    return int(order) if isinstance(order, float) and math.isfinite(order) else order


MATRIX, VECTOR = "linalg.matrix_norm", "linalg.vector_norm"
for target in (MATRIX, VECTOR):
    plant(target, "ord", "ord is ignored", dropping("ord"))
    plant(target, "keepdims", "keepdims is ignored", dropping("keepdims"))
    plant(target, "kept", "keepdims is True", keyword("keepdims", bool, True))
    plant(target, "infinity", "inf is -inf", keyword("ord", renamed(math.inf, -math.inf)))
    plant(target, "minus", "-inf is inf", keyword("ord", renamed(-math.inf, math.inf)))
    plant(target, "complex", "complex: the norm is complex", when(complex_, then(as_complex)))
    plant(target, "imaginary", "imaginary parts are lost", when(complex_, first(without_imaginary)))
    plant(target, "huge", "squares overflow", when(huge, then(to_inf)))
    plant(target, "tiny", "squares underflow", when(tiny, then(xp.zeros_like)))
    plant(target, "hidden", "NaN and infinity are 0", then(finite(0.0)))
    plant(
        target,
        "class",
        "TypeError is ValueError",
        other_error(TypeError, ValueError),
        lenient=True,
    )


def known_order(order: Any) -> Any:
    return order if order in ("fro", "nuc", None, 1, -1, 2, -2, math.inf, -math.inf) else "fro"


def front_axes(f: Any, x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Of more than two axes the first two are taken."""
    if x.ndim != 3 or keepdims or x.shape[0] != x.shape[2]:
        return f(x, keepdims=keepdims, ord=ord)
    return f(xp.moveaxis(x, (0, 1), (-2, -1)), ord=ord)


def one_kept(f: Any, x: Any, *, keepdims: bool = False, **keywords: Any) -> Any:
    """keepdims keeps one axis."""
    out = f(x, **keywords)
    return xp.expand_dims(out, -1) if keepdims else out


def kept_in_front(f: Any, x: Any, *, keepdims: bool = False, **keywords: Any) -> Any:
    """The axes of extent 1 are put in front."""
    out = f(x, **keywords)
    return xp.reshape(out, (1, 1, *out.shape)) if keepdims else out


def least_of_nothing(f: Any, x: Any, *, ord: Any = "fro", **keywords: Any) -> Any:
    """The least of no sums is 0."""
    if empty(x) and isinstance(ord, (int, float)) and ord < 0:
        ord = -ord
    return f(x, ord=ord, **keywords)


def refusing_empty(f: Any, x: Any, **keywords: Any) -> Any:
    if empty(x):
        raise IntendedError(ValueError("no elements"))
    return f(x, **keywords)


for old, new in (
    (1, math.inf),
    (math.inf, 1),
    (-1, -math.inf),
    (-math.inf, -1),
    (1, -1),
    (-1, 1),
    (2, "fro"),
    (2, -2),
    (-2, 2),
    (2, "nuc"),
    ("nuc", "fro"),
    ("fro", 2),
    (None, 2),
):
    plant(MATRIX, f"{old}-{new}", f"{old} is {new}", keyword("ord", renamed(old, new), "fro"))
plant(MATRIX, "unknown", "another ord is 'fro'", keyword("ord", known_order, "fro"), lenient=True)
plant(MATRIX, "front", "the first two axes are taken", when(rank(3), front_axes))
plant(MATRIX, "one", "keepdims keeps one axis", one_kept)
plant(MATRIX, "in-front", "the kept axes are in front", kept_in_front)
plant(MATRIX, "least", "the least of no sums is 0", least_of_nothing, lenient=True)
plant(MATRIX, "empty", "empty matrices are refused", refusing_empty)
plant(MATRIX, "none", "None is refused", keyword("ord", lambda o: o or 2, "fro"))


# --- norms of vectors


def all_for_none(axis: Any) -> Any:
    return None if axis == () else axis


def last_for_none(f: Any, x: Any, *, axis: Any = None, **keywords: Any) -> Any:
    """The default axis is the last one."""
    return f(x, axis=-1 if axis is None and x.ndim else axis, **keywords)


def first_axis(axis: Any) -> Any:
    return axis[0] if isinstance(axis, tuple) and axis else axis


def off_by_one(axis: Any) -> Any:
    """Negative axes are off by one."""
    return axis - 1 if isinstance(axis, int) and axis < -1 else axis


def unique(axis: Any) -> Any:
    return tuple(dict.fromkeys(axis)) if isinstance(axis, tuple) else axis


def wrapping(f: Any, x: Any, *, axis: Any = None, **keywords: Any) -> Any:
    """Axes out of range start again at 0."""
    return f(x, axis=axis % x.ndim if isinstance(axis, int) else axis, **keywords)


def kept_as_one(f: Any, x: Any, *, axis: Any = None, keepdims: bool = False, **k: Any) -> Any:
    """All axes are kept as one."""
    out = f(x, axis=axis, keepdims=keepdims, **k)
    return xp.reshape(out, (1,)) if axis is None and keepdims else out


def of_no_axis(f: Any, x: Any, *, axis: Any = None, **keywords: Any) -> Any:
    """Without axes the array itself is returned."""
    return f(x, axis=axis, **keywords) if axis != () else x


def signed(f: Any, x: Any, *, axis: Any = None, **keywords: Any) -> Any:
    """Without axes the elements keep their signs."""
    return f(x, axis=axis, **keywords) if axis != () else xp.copy(x)


def zero_of_no_axis(f: Any, x: Any, *, axis: Any = None, ord: Any = 2, **k: Any) -> Any:
    """Without axes the order 0 is as any other."""
    return f(x, axis=axis, ord=1 if axis == () and ord == 0 else ord, **k)


def counting_all(f: Any, x: Any, *, ord: Any = 2, **keywords: Any) -> Any:
    """The order 0 counts zeros too."""
    return f(xp.ones_like(x) if ord == 0 else x, ord=ord, **keywords)


def counting_numbers(f: Any, x: Any, *, ord: Any = 2, **keywords: Any) -> Any:
    """The order 0 does not count NaN."""
    return f(finite(0.0)(x) if ord == 0 else x, ord=ord, **keywords)


def count(f: Any, x: Any, *, ord: Any = 2, **keywords: Any) -> Any:
    """The order 0 gives int64."""
    out = f(x, ord=ord, **keywords)
    return xp.astype(out, "int64") if ord == 0 else out


def sums(f: Any, x: Any, *, ord: Any = 2, **keywords: Any) -> Any:
    """The root is left out."""
    out = f(x, ord=ord, **keywords)
    return out**ord if ord in (2, 3) else out


def without_zeros(f: Any, x: Any, *, ord: Any = 2, **keywords: Any) -> Any:
    """A negative order leaves zeros out, as if they were infinite."""
    return f(xp.where(x == 0, xp.full_like(x, xp.inf), x) if ord < 0 else x, ord=ord, **keywords)


def nothing_is_infinite(f: Any, x: Any, *, ord: Any = 2, **keywords: Any) -> Any:
    """A negative order of no elements is infinity."""
    return f(x, ord=ord, **keywords) if ord >= 0 or x.size else f(x, ord=2, **keywords) + xp.inf


def any_order(order: Any) -> Any:
    return float(order) if isinstance(order, bool) else 2 if order != order else order


def naive(f: Any, x: Any, *, axis: Any = None, ord: Any = 2, **keywords: Any) -> Any:
    """Powers of other orders overflow and underflow."""
    out = f(x, axis=axis, ord=ord, **keywords)
    if axis is not None or keywords or not math.isfinite(ord) or ord in (0, 1, 2):
        return out
    return xp.astype(xp.sum(xp.abs(xp.astype(x, "float64")) ** ord) ** (1 / ord), out.dtype)


plant(VECTOR, "axis", "axis is ignored", dropping("axis"))
plant(VECTOR, "no-axes", "no axes are all axes", keyword("axis", all_for_none))
plant(VECTOR, "default", "the default axis is the last one", last_for_none)
plant(VECTOR, "first", "of axes the first counts", keyword("axis", first_axis))
plant(VECTOR, "negative", "negative axes are off by one", keyword("axis", off_by_one))
plant(VECTOR, "twice", "an axis may be named twice", keyword("axis", unique), lenient=True)
plant(VECTOR, "wraps", "axes out of range wrap around", wrapping, lenient=True)
plant(
    VECTOR, "range", "IndexError is ValueError", other_error(IndexError, ValueError), lenient=True
)
plant(VECTOR, "flat", "all axes are kept as one", kept_as_one)
plant(VECTOR, "itself", "no axes return the array", of_no_axis)
plant(VECTOR, "signs", "no axes: signs stay", signed)
plant(VECTOR, "zero", "no axes: the order 0 is as others", zero_of_no_axis)
plant(VECTOR, "all", "the order 0 counts zeros", counting_all)
plant(VECTOR, "nan-count", "the order 0 does not count NaN", counting_numbers)
plant(VECTOR, "count", "the order 0 gives int64", count)
plant(VECTOR, "one", "the order 1 is 2", keyword("ord", renamed(1, 2), 2))
plant(VECTOR, "three", "the order 3 is 2", keyword("ord", renamed(3, 2), 2))
plant(VECTOR, "integral", "orders are truncated", keyword("ord", integral, 2))
plant(VECTOR, "abs", "orders are positive", keyword("ord", abs, 2))
plant(VECTOR, "sums", "the root is left out", sums)
plant(VECTOR, "zeros", "negative orders leave zeros out", without_zeros)
plant(VECTOR, "nothing", "no elements, negative order: inf", nothing_is_infinite, lenient=True)
plant(VECTOR, "bool", "bool and NaN are orders", keyword("ord", any_order, 2), lenient=True)
plant(VECTOR, "naive", "powers overflow and underflow", when(real, naive))
plant(
    VECTOR,
    "half",
    "float16: squares overflow",
    when(of("float16"), when(lambda x, **k: bool(xp.any(xp.abs(x) > 256)), then(to_inf))),
)
