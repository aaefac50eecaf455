"""Mutants of asarray, from_dlpack and astype."""

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
    is_array,
    keyword,
    real,
    then,
    when,
)

import refarray as xp


def same_memory(f: Any, obj: Any, *, copy: Any = None, **kwargs: Any) -> Any:
    """copy=True does not copy arrays."""
    return f(obj, copy=None if copy and is_array(obj) else copy, **kwargs)


def failing_if_equal(f: Any, x: Any, dtype: Any, *, copy: bool = True, **kwargs: Any) -> Any:
    """copy=False raises if a copy is needed."""
    if not copy and x.dtype != dtype:
        raise IntendedError(ValueError("a copy is needed"))
    return f(x, dtype, copy=copy, **kwargs)


def to_integers(x: Any, dtype: Any, **_: Any) -> bool:
    return real(x) and xp.isdtype(xp.empty(0, dtype=dtype).dtype, "integral")


def through_float32(f: Any, x: Any, dtype: Any, **kwargs: Any) -> Any:
    return f(xp.astype(x, "float32"), dtype, **kwargs)


def through_float64(f: Any, x: Any, dtype: Any, **kwargs: Any) -> Any:
    return f(xp.astype(x, "float64"), dtype, **kwargs)


def between_integers(x: Any, dtype: Any, **_: Any) -> bool:
    return integer(x) and xp.isdtype(xp.empty(0, dtype=dtype).dtype, "integral")


def saturating(f: Any, x: Any, dtype: Any, **kwargs: Any) -> Any:
    info = xp.iinfo(dtype)
    return f(
        xp.clip(xp.astype(x, "int64"), max(info.min, -(2**63)), min(info.max, 2**63 - 1)),
        dtype,
        **kwargs,
    )


def to_bool(x: Any, dtype: Any, **_: Any) -> bool:
    return bool(xp.empty(0, dtype=dtype).dtype == xp.bool)


plant("asarray", "dtype", "dtype= is ignored", dropping("dtype"))
plant("asarray", "copy", "copy=True does not copy arrays", same_memory)
plant(
    "asarray",
    "copies",
    "copy=None copies arrays",
    lambda f, obj, **k: (
        f(obj, **{**k, "copy": True if k.get("copy") is None else k["copy"]})
        if is_array(obj)
        else f(obj, **k)
    ),
)
plant(
    "asarray",
    "transposed",
    "nested lists of equal sizes are transposed",
    lambda f, obj, **k: (
        f(obj, **k).T
        if isinstance(obj, list) and f(obj, **k).ndim == 2 and len(set(f(obj, **k).shape)) == 1
        else f(obj, **k)
    ),
)
plant(
    "asarray",
    "float32",
    "Python floats give float32",
    lambda f, obj, **k: (
        xp.astype(f(obj, **k), xp.float32) if isinstance(obj, float) else f(obj, **k)
    ),
)
plant(
    "asarray",
    "bool",
    "lists of bool give int64",
    lambda f, obj, **k: (
        xp.astype(f(obj, **k), xp.int64)
        if isinstance(obj, list) and f(obj, **k).dtype == xp.bool and k.get("dtype") is None
        else f(obj, **k)
    ),
)
plant(
    "from_dlpack",
    "copies",
    "copies unless told otherwise",
    lambda f, obj, **k: f(obj, **{**k, "copy": True if k.get("copy") is None else k["copy"]}),
)
plant(
    "from_dlpack",
    "copy",
    "copy=True gives a view",
    keyword("copy", lambda copy: None if copy else copy),
)
plant(
    "from_dlpack",
    "strides",
    "of strided producers takes the order of memory",
    then(as_if_contiguous),
)
plant(
    "astype",
    "rounds",
    "rounds instead of truncating",
    when(to_integers, first(lambda x: xp.round(x))),
)
plant(
    "astype",
    "floors",
    "rounds negative numbers down",
    when(to_integers, first(lambda x: xp.floor(x))),
)
plant(
    "astype",
    "through-float64",
    "integers go through float64",
    when(between_integers, through_float64),
)
plant(
    "astype",
    "through-float32",
    "floating-point numbers go through float32",
    when(real, through_float32),
)
plant(
    "astype",
    "saturates",
    "integers saturate instead of wrapping",
    when(between_integers, saturating),
)
plant(
    "astype",
    "bool",
    "to bool: only numbers above 0 are True",
    when(to_bool, lambda f, x, dtype, **k: f(x > 0, dtype, **k)),
)
plant(
    "astype",
    "nan",
    "to bool: NaN is False",
    when(to_bool, lambda f, x, dtype, **k: f(xp.where(xp.isnan(x), 0.0, x), dtype, **k)),
)
plant(
    "astype",
    "complex",
    "complex: the imaginary part is lost",
    when(complex_, first(lambda x: xp.astype(xp.real(x), x.dtype))),
)
plant("astype", "no-copy", "copy=True gives the same array", keyword("copy", lambda copy: False))
plant("astype", "copies", "copy=False copies", keyword("copy", lambda copy: True))
plant("astype", "copy-raises", "copy=False raises where a copy is needed", failing_if_equal)
plant("astype", "strides", "reads strided operands as contiguous", first(as_if_contiguous))
plant(
    "astype",
    "ignored",
    "returns a copy of the same dtype",
    instead(lambda x, dtype, **k: xp.copy(x)),
)
plant(
    "astype",
    "minus-zero",
    "the sign of zero is lost",
    when(real, then(lambda x: xp.where(x == 0, 0.0, x))),
)
plant(
    "asarray",
    "array-dtype",
    "arrays keep their dtype although dtype= differs",
    lambda f, obj, **k: f(obj) if is_array(obj) and "dtype" in k else f(obj, **k),
)
