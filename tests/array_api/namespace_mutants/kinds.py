"""Common kinds of breaks: each returns a function that takes the original and the arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from array_api.namespace_mutants.base import Broken

import refarray as xp

Change = Callable[..., Any]


def then(change: Change) -> Broken:
    """The result is changed."""
    return lambda f, *args, **kwargs: change(f(*args, **kwargs))


def first(change: Change) -> Broken:
    """The first argument is changed before the call."""
    return lambda f, x, *args, **kwargs: f(change(x), *args, **kwargs)


def second(change: Change) -> Broken:
    """The second argument is changed before the call."""
    return lambda f, x, y, *args, **kwargs: f(x, change(y), *args, **kwargs)


def instead(function: Change) -> Broken:
    """Another function is called with the same arguments."""
    return lambda f, *args, **kwargs: function(*args, **kwargs)


def swapped(f: Change, x: Any, y: Any, *args: Any) -> Any:
    """The operands change places."""
    return f(y, x, *args)


def dropping(*names: str) -> Broken:
    """Keyword arguments are ignored."""

    def broken(f: Change, *args: Any, **kwargs: Any) -> Any:
        return f(*args, **{key: kwargs[key] for key in kwargs if key not in names})

    return broken


def keyword(name: str, change: Change, default: Any = None) -> Broken:
    """A keyword argument, or its default, is changed before the call."""

    def broken(f: Change, *args: Any, **kwargs: Any) -> Any:
        return f(*args, **{**kwargs, name: change(kwargs.get(name, default))})

    return broken


def when(condition: Change, broken: Broken) -> Broken:
    """The break applies only to calls whose arguments meet the condition."""

    def choose(f: Change, *args: Any, **kwargs: Any) -> Any:
        return (broken if condition(*args, **kwargs) else then(same))(f, *args, **kwargs)

    return choose


def same(x: Any) -> Any:
    return x


def as_dtype_of_first(f: Change, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The result has the dtype of the first operand instead of the promoted one."""
    return xp.astype(f(x, *args, **kwargs), x.dtype)


def next_axis(axis: Any) -> Any:
    """Off by one: the following axis, after the last the first."""
    return axis + 1 if axis != -1 else 0


def shifted_axis(f: Change, x: Any, *args: Any, axis: Any, **kwargs: Any) -> Any:
    """Another axis is taken: the one behind, after the last the first."""
    return f(x, *args, axis=(axis + 1) % x.ndim, **kwargs)


def first_axis_only(f: Change, x: Any, *, axis: Any, **kwargs: Any) -> Any:
    """Of several axes only the first counts."""
    return f(x, axis=axis[0], **kwargs)


def all_axes(f: Change, x: Any, *, axis: Any, **kwargs: Any) -> Any:
    """axis is ignored; the shape of the result is right."""
    return xp.broadcast_to(f(x), f(x, axis=axis, **kwargs).shape)


def values_of(x: Any) -> Any:
    """A C-contiguous copy with one dimension."""
    return xp.reshape(xp.copy(x), (-1,))


def reshaped(values: Any, like: Any) -> Any:
    return xp.reshape(values, like.shape)


def without_nan(value: Any) -> Change:
    """NaN is replaced."""
    return lambda x: xp.where(xp.isnan(x), value, x)


def without_negative_zero(x: Any) -> Any:
    return xp.where(x == 0, xp.abs(x), x)


def last_as_first(x: Any) -> Any:
    """The last of several elements is the first one, as if a loop ended too early."""
    out = values_of(x)
    if out.size > 1:
        out[-1] = out[0]
    return reshaped(out, x)


def next_up(x: Any) -> Any:
    """One unit in the last place too large, where finite and not 0."""
    there = xp.isfinite(x) & (x != 0)
    return xp.where(there, xp.nextafter(x, xp.full_like(x, xp.inf)), x)


def is_array(x: Any) -> bool:
    return isinstance(x, xp.Array)


def real(x: Any, *_: Any, **__: Any) -> bool:
    return is_array(x) and xp.isdtype(x.dtype, "real floating")


def complex_(x: Any, *_: Any, **__: Any) -> bool:
    return is_array(x) and xp.isdtype(x.dtype, "complex floating")


def integer(x: Any, *_: Any, **__: Any) -> bool:
    return is_array(x) and xp.isdtype(x.dtype, "integral")


def signed(x: Any, *_: Any, **__: Any) -> bool:
    return is_array(x) and xp.isdtype(x.dtype, "signed integer")


def boolean(x: Any, *_: Any, **__: Any) -> bool:
    return is_array(x) and x.dtype == xp.bool


def of(*names: str) -> Change:
    """The first argument has one of these dtypes."""
    return lambda x, *args, **kwargs: is_array(x) and x.dtype.name in names


def strided(x: Any, *_: Any, **__: Any) -> bool:
    """The first argument is not C-contiguous."""
    return is_array(x) and not x.is_contiguous()


def longer(count: int) -> Change:
    """The first argument has more elements than `count`."""
    return lambda x, *args, **kwargs: is_array(x) and x.size > count


def rank(count: int) -> Change:
    """The first argument has at least `count` dimensions."""
    return lambda x, *args, **kwargs: is_array(x) and x.ndim >= count


def with_scalar(x: Any, y: Any) -> bool:
    """One operand is a Python number."""
    return not (is_array(x) and is_array(y))


def as_if_contiguous(x: Any) -> Any:
    """The elements in memory from the lowest address on, whatever the strides are."""
    if not strided(x) or x.size == 0:
        return x
    steps = [(n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)]
    low = x.__array_interface__["data"][0] + x.itemsize * sum(min(0, step) for step in steps)
    count = min(x.size, 1 + sum(abs(step) for step in steps))
    memory = (ctypes.c_char * (count * x.itemsize)).from_address(low)
    values = xp.from_buffer(bytes(memory), dtype=x.dtype)
    times = -(-x.size // count)
    return xp.reshape(xp.tile(values, (times,))[: x.size], x.shape)


def ignoring_strides(f: Change, *args: Any, **kwargs: Any) -> Any:
    """All operands are read as if they were C-contiguous."""
    return f(*(as_if_contiguous(x) if is_array(x) else x for x in args), **kwargs)


def in_precision(name: str) -> Broken:
    """Real floating-point operands are rounded to a smaller dtype."""

    def rounded(x: Any) -> Any:
        return xp.astype(xp.astype(x, name), x.dtype) if real(x) else x

    return lambda f, *args, **kwargs: f(*(rounded(x) for x in args), **kwargs)


def is_square(x: Any) -> bool:
    return bool(x.ndim >= 2 and x.shape[-1] == x.shape[-2])


def both_square(x: Any, y: Any, **_: Any) -> bool:
    return is_square(x) and is_square(y)


def no_terms(x: Any, *_: Any, **__: Any) -> bool:
    return bool(x.ndim and x.shape[-1] == 0)
