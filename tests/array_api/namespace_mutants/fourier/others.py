"""Mutants of frequencies and shifts."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    dropping,
    first,
    ignoring_strides,
    instead,
    keyword,
    next_up,
    same,
    strided,
    then,
    when,
)

import refarray as xp


def positive_middle(f: Any, n: Any, **keywords: Any) -> Any:
    """The middle frequency of an even number is positive, as in rfftfreq()."""
    out = f(n, **keywords)
    if n % 2 == 0:
        out[n // 2] = -out[n // 2]
    return out


def times(f: Any, n: Any, *, d: float = 1.0, **keywords: Any) -> Any:
    return f(n, d=1 / d, **keywords)


def absolute(d: Any) -> Any:
    return abs(d) if isinstance(d, (int, float)) else d


def not_zero(d: Any) -> Any:
    return d if d != 0 else 1.0


def at_least_one(f: Any, n: Any, **keywords: Any) -> Any:
    return f(1 if isinstance(n, int) and n < 1 else n, **keywords)


def as_int(f: Any, n: Any, **keywords: Any) -> Any:
    return f(int(n) if isinstance(n, float) else n, **keywords)


def any_dtype(f: Any, n: Any, *, dtype: Any = None, **keywords: Any) -> Any:
    try:
        return f(n, dtype=dtype, **keywords)
    except TypeError:
        return xp.astype(f(n, **keywords), dtype)


for name in ("fftfreq", "rfftfreq"):
    target = f"fft.{name}"
    plant(target, "d", "d is ignored", dropping("d"))
    plant(target, "times", "multiplies by d", times)
    plant(target, "negative", "takes the absolute value of d", keyword("d", absolute, 1.0))
    plant(target, "dtype", "dtype is ignored", dropping("dtype"))
    plant(
        target,
        "default",
        "the default dtype is float32",
        keyword("dtype", lambda dtype: dtype or "float32"),
    )
    plant(
        target,
        "n",
        "frequencies of one element more",
        lambda f, n, **k: f(n + 1, **k)[: f(n, **k).size],
    )
    plant(
        target,
        "cycles",
        "frequencies are those of a whole turn",
        then(lambda x: x * 6.283185307179586),
    )
    plant(target, "steps", "frequencies are not divided by n", lambda f, n, **k: f(n, **k) * n)
    plant(
        target,
        "up",
        "three units in the last place too large",
        then(lambda x: next_up(next_up(next_up(x)))),
    )
    plant(target, "roll", "shifted by one", then(lambda x: xp.roll(x, 1)))
    plant(target, "zero", "d == 0 is 1", keyword("d", not_zero, 1.0), lenient=True)
    plant(target, "one", "n less than 1 is 1", at_least_one, lenient=True)
    plant(target, "float", "a float is a number of elements", as_int, lenient=True)
    plant(target, "any-dtype", "takes any dtype", any_dtype, lenient=True)
plant("fft.fftfreq", "middle", "the middle frequency is positive", positive_middle)
plant("fft.fftfreq", "sorted", "frequencies are sorted", then(xp.sort))
plant("fft.fftfreq", "positive", "all frequencies are positive", then(xp.abs))
plant("fft.rfftfreq", "short", "the last frequency is missing", then(lambda x: x[:-1]))
plant(
    "fft.rfftfreq",
    "middle",
    "the middle frequency is negative",
    lambda f, n, **k: xp.concat([f(n, **k)[:-1], -f(n, **k)[-1:]]) if n % 2 == 0 else f(n, **k),
)
plant("fft.rfftfreq", "whole", "the frequencies of fftfreq()", instead(xp.fft.fftfreq))


def first_of(axes: Any) -> Any:
    return axes[0] if isinstance(axes, (tuple, list)) and axes else axes


def all_for_none(axes: Any) -> Any:
    return None if axes in ((), []) else axes


def last_for_all(f: Any, x: Any, *, axes: Any = None) -> Any:
    return f(x, axes=-1 if axes is None and x.ndim else axes)


def converting(x: Any) -> Any:
    return (
        x if xp.isdtype(x.dtype, ("real floating", "complex floating")) else xp.astype(x, "float64")
    )


def off_by_one(axes: Any) -> Any:
    return axes - 1 if isinstance(axes, int) and axes < -1 else axes


OPPOSITE = {"fftshift": "ifftshift", "ifftshift": "fftshift"}
for name, opposite in OPPOSITE.items():
    target = f"fft.{name}"
    plant(
        target,
        "half",
        "half of an odd extent is rounded to the other side",
        instead(getattr(xp.fft, opposite)),
    )
    plant(target, "axes", "axes are ignored", dropping("axes"))
    plant(target, "first", "only the first of several axes is shifted", keyword("axes", first_of))
    plant(target, "last", "without axes the last one is shifted", last_for_all)
    plant(target, "empty", "no axes are all axes", keyword("axes", all_for_none))
    plant(target, "negative", "negative axes are off by one", keyword("axes", off_by_one))
    plant(target, "twice", "shifts twice", lambda f, x, **k: f(f(x, **k), **k))
    plant(target, "one", "shifts by one too many", then(lambda x: xp.roll(x, 1)))
    plant(target, "nothing", "returns a copy", lambda f, x, **k: xp.copy(x))
    plant(
        target,
        "view",
        "one element is returned itself",
        when(lambda x, **k: x.size == 1, lambda f, x, **k: x),
    )
    plant(
        target,
        "dtype",
        "float32 becomes float64",
        when(lambda x, **k: x.dtype == xp.float32, then(lambda x: xp.astype(x, "float64"))),
    )
    plant(target, "strides", "reads strided arrays as contiguous", when(strided, ignoring_strides))
    plant(target, "accepts", "other dtypes are converted", first(converting), lenient=True)
    plant(target, "zeros", "the sign of zeros is lost", then(lambda x: same(x) + 0.0))
