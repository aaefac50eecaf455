"""Mutants of the functions that create arrays of a shape."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    dropping,
    first,
    instead,
    keyword,
    real,
    strided,
    then,
    values_of,
    when,
)

import refarray as xp


def one_more(f: Any, start: Any, stop: Any = None, step: Any = 1, **kwargs: Any) -> Any:
    """The end is included."""
    return f(start, stop + step, step, **kwargs) if stop is not None else f(start + 1, **kwargs)


def from_one(f: Any, start: Any, stop: Any = None, step: Any = 1, **kwargs: Any) -> Any:
    """With one argument the range starts at 1."""
    return f(1, start + 1, **kwargs) if stop is None else f(start, stop, step, **kwargs)


def no_step(f: Any, start: Any, stop: Any = None, step: Any = 1, **kwargs: Any) -> Any:
    return f(start, stop, 1 if step > 0 else -1, **kwargs)


def accumulating(f: Any, start: Any, stop: Any = None, step: Any = 1, **kwargs: Any) -> Any:
    """Floating-point steps are added up, with their errors of rounding."""
    out = f(start, stop, step, **kwargs)
    if not real(out):
        return out
    steps = xp.full_like(out, float(step))
    steps[:1] = float(start)
    return xp.cumulative_sum(steps)


def no_end(f: Any, start: Any, stop: Any, num: int, **kwargs: Any) -> Any:
    return f(start, stop, num, **{**kwargs, "endpoint": False})


def near_end(f: Any, start: Any, stop: Any, num: int, **kwargs: Any) -> Any:
    """The last element is computed, not the end that was given."""
    out = f(start, stop, num, **kwargs)
    if real(out) and num > 1 and kwargs.get("endpoint", True):
        out[-1] = xp.nextafter(out[-1], xp.full_like(out[-1], xp.inf))
    return out


def accumulating_linspace(f: Any, start: Any, stop: Any, num: int, **kwargs: Any) -> Any:
    out = f(start, stop, num, **kwargs)
    if not real(out) or num < 3:
        return out
    steps = xp.full_like(out, float(out[1] - out[0]))
    steps[0] = out[0]
    return xp.cumulative_sum(steps)


def square(f: Any, rows: int, columns: Any = None, /, **kwargs: Any) -> Any:
    """The number of columns is the number of rows."""
    return f(rows, rows, **kwargs)


def last_column(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The diagonal goes around at the end of the rows."""
    out = f(*args, **kwargs)
    n = min(out.shape)
    out[n:, : out.shape[0] - n] = 1
    return out


def no_default(f: Any, shape: Any, value: Any, **kwargs: Any) -> Any:
    """Without dtype the result is float64."""
    return f(shape, value, **{"dtype": xp.float64, **kwargs})


def float32_default(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Without dtype the result is float32."""
    return f(*args, **{**kwargs, "dtype": kwargs.get("dtype") or xp.float32})


plant("arange", "includes", "the end is included", one_more)
plant("arange", "from-one", "with one argument starts at 1", from_one)
plant("arange", "step", "the step is 1 or -1", no_step)
plant("arange", "dtype", "dtype= is ignored", dropping("dtype"))
plant("arange", "accumulates", "floating-point steps are added up", accumulating)
plant(
    "arange",
    "float",
    "integers give float64",
    lambda f, *args, **k: f(*args, **{**k, "dtype": k.get("dtype") or xp.float64}),
)
plant(
    "arange",
    "negative",
    "negative steps give nothing",
    lambda f, a, b=None, c=1, **k: f(a, b, c, **k)[:0] if c < 0 else f(a, b, c, **k),
)
plant("linspace", "endpoint", "endpoint is ignored", dropping("endpoint"))
plant("linspace", "no-endpoint", "the end is never included", no_end)
plant("linspace", "near", "the last element is not exactly the end", near_end)
plant("linspace", "accumulates", "steps are added up", accumulating_linspace)
plant("linspace", "dtype", "dtype= is ignored", dropping("dtype"))
plant(
    "linspace",
    "one",
    "one element is the end",
    lambda f, a, b, num, **k: f(b, a, num, **k) if num == 1 else f(a, b, num, **k),
)
plant("linspace", "float32", "float32 without dtype", float32_default)
plant("eye", "square", "the number of columns is ignored", square)
plant("eye", "k", "k is ignored", dropping("k"))
plant("eye", "sign", "k has the other sign", keyword("k", lambda k: -k, 0))
plant("eye", "wraps", "rows behind the last column have ones also", last_column)
plant("eye", "dtype", "dtype= is ignored", dropping("dtype"))
plant("full", "dtype", "dtype= is ignored", dropping("dtype"))
plant("full", "default", "without dtype the result is float64", no_default)
plant("full", "zero", "the value is 0", lambda f, shape, value, **k: f(shape, type(value)(0), **k))
plant("full_like", "shape", "the result has one dimension", then(values_of))
plant("full_like", "dtype", "dtype= is ignored", dropping("dtype"))
plant(
    "full_like",
    "first",
    "only the first row is filled",
    lambda f, x, value, **k: xp.concat([f(x[:1], value, **k), f(x[1:], type(value)(0), **k)]),
)
plant("zeros", "ones", "filled with 1", instead(lambda *a, **k: xp.ones(*a, **k)))
plant("zeros", "dtype", "float32 without dtype", float32_default)
plant("zeros_like", "dtype", "dtype= is ignored", dropping("dtype"))
plant(
    "zeros_like",
    "copy",
    "the elements are those of the operand",
    lambda f, x, **k: xp.astype(xp.copy(x), f(x, **k).dtype),
)
plant(
    "zeros_like",
    "transposed",
    "of transposed operands the shape is reversed",
    when(strided, then(lambda out: out.T)),
)
plant("ones", "dtype", "dtype= is ignored", dropping("dtype"))
plant("ones", "zeros", "filled with 0", instead(lambda *a, **k: xp.zeros(*a, **k)))
plant(
    "ones_like",
    "dtype",
    "float64 without dtype",
    lambda f, x, **k: f(x, **{**k, "dtype": k.get("dtype") or xp.float64}),
)
plant(
    "ones_like",
    "writes",
    "the operand is filled also",
    lambda f, x, **k: (x.__setitem__(..., 1), f(x, **k))[1],
)
plant(
    "empty",
    "shape",
    "the shape is reversed",
    first(lambda shape: shape if isinstance(shape, int) else tuple(shape)[::-1]),
)
plant("empty", "dtype", "dtype= is ignored", dropping("dtype"))
plant("empty_like", "shape", "the result has one dimension", then(values_of))
plant("empty_like", "dtype", "dtype= is ignored", dropping("dtype"))
plant(
    "empty_like",
    "view",
    "the result shares the operand's memory",
    lambda f, x, **k: x if f(x, **k).dtype == x.dtype else f(x, **k),
)
plant(
    "linspace",
    "integers",
    "integers as bounds give integers",
    lambda f, a, b, num, **k: (
        xp.astype(f(a, b, num, **k), xp.int64)
        if isinstance(a, int) and isinstance(b, int) and k.get("dtype") is None
        else f(a, b, num, **k)
    ),
)
plant(
    "full",
    "second",
    "the value is truncated",
    lambda f, shape, value, **k: f(
        shape, float(int(value)) if isinstance(value, float) else value, **k
    ),
)
plant(
    "zeros",
    "shape",
    "the shape is reversed",
    first(lambda shape: shape if isinstance(shape, int) else tuple(shape)[::-1]),
)
plant("ones", "shape", "one dimension of all sizes", lambda f, shape, **k: values_of(f(shape, **k)))
plant(
    "full",
    "shape",
    "integers as shape give shape (1,)",
    first(lambda n: 1 if isinstance(n, int) else n),
)
