"""Mutants of the transforms over several axes."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.fourier.sequences import (
    any_norm,
    complex_as_real,
    fortran,
    less_exact,
    of_single_precision,
    other_norm,
    real_as_complex,
    unscaled,
    wide,
    writing_back,
)
from array_api.namespace_mutants.kinds import (
    dropping,
    ignoring_strides,
    keyword,
    then,
    when,
    without_nan,
)

import refarray as xp

NAMES = ("fftn", "ifftn", "rfftn", "irfftn")


def last_axis_only(f: Any, x: Any, *, s: Any = None, axes: Any = None, **keywords: Any) -> Any:
    """Of several axes only the last one is transformed, where that keeps the shape."""
    if s is not None or axes is not None or x.ndim < 2:
        return f(x, s=s, axes=axes, **keywords)
    return f(x, axes=(-1,), **keywords)


def sorted_axes(axes: Any) -> Any:
    """The lengths belong to the axes in increasing order."""
    return axes if axes is None else sorted(axes)


def reversed_lengths(f: Any, x: Any, *, s: Any = None, **keywords: Any) -> Any:
    return f(x, s=s if s is None else list(s)[::-1], **keywords)


def one_for_minus_one(s: Any) -> Any:
    return s if s is None else [1 if n == -1 else n for n in s]


def off_by_one(axes: Any) -> Any:
    return axes if axes is None else [a - 1 if a < -1 else a for a in axes]


def unique(axes: Any) -> Any:
    return axes if axes is None else list(dict.fromkeys(axes))


def last_axes(f: Any, x: Any, *, s: Any = None, axes: Any = None, **keywords: Any) -> Any:
    """s without axes belongs to the last ones."""
    if s is not None and axes is None:
        axes = range(-len(s), 0)
    return f(x, s=s, axes=axes, **keywords)


def shorter(f: Any, x: Any, *, s: Any = None, axes: Any = None, **keywords: Any) -> Any:
    """Of s and axes with different numbers of entries the longer one is cut."""
    if s is not None and axes is not None:
        count = min(len(s), len(axes))
        s, axes = list(s)[:count], list(axes)[:count]
    return f(x, s=s, axes=axes, **keywords)


def all_for_none(f: Any, x: Any, *, axes: Any = None, **keywords: Any) -> Any:
    """No axes are all axes."""
    return f(x, axes=axes, **keywords) if axes is None or len(axes) else f(x)


def norm_of_one(f: Any, x: Any, *, norm: str = "backward", **keywords: Any) -> Any:
    """ortho takes the length of the last axis only."""
    if norm != "ortho" or keywords.get("axes") is not None or x.ndim < 2:
        return f(x, norm=norm, **keywords)
    return f(x, norm="ortho", **keywords) * x.shape[0] ** 0.5


for name in NAMES:
    target = f"fft.{name}"
    plant(
        target,
        "norm",
        "backward and forward change places",
        keyword("norm", other_norm, "backward"),
    )
    plant(target, "ortho", "ortho does as backward does", keyword("norm", unscaled, "backward"))
    plant(target, "one-norm", "ortho scales for one axis less", norm_of_one)
    plant(target, "last", "only the last axis is transformed", last_axis_only)
    plant(target, "axes", "axes are ignored", dropping("axes", "s"))
    plant(target, "s", "s is ignored", dropping("s"))
    plant(target, "sorted", "axes are sorted, s is not", keyword("axes", sorted_axes))
    plant(target, "backwards", "s is reversed", reversed_lengths)
    plant(target, "minus-one", "-1 is the length 1", keyword("s", one_for_minus_one))
    plant(target, "negative", "negative axes are off by one", keyword("axes", off_by_one))
    plant(target, "error", "the error is twice as large", then(less_exact))
    plant(target, "single", "double precision is single", of_single_precision)
    plant(target, "dtype", "the result is of double precision", then(wide))
    plant(target, "nan", "NaN becomes 0", then(without_nan(0.0)))
    plant(target, "strides", "reads strided arrays as contiguous", ignoring_strides)
    plant(target, "writes", "overwrites its argument", writing_back)
    plant(target, "order", "the result is column-major", then(fortran))
    accepts = complex_as_real if name == "rfftn" else real_as_complex
    plant(target, "accepts", "other dtypes are converted", accepts, lenient=True)
    plant(
        target,
        "any-norm",
        "an unknown norm is backward",
        keyword("norm", any_norm, "backward"),
        lenient=True,
    )
    plant(target, "twice", "an axis may be named twice", keyword("axes", unique), lenient=True)
    plant(target, "no-axes", "s without axes is for the last ones", last_axes, lenient=True)
    plant(target, "shorter", "the longer of s and axes is cut", shorter, lenient=True)
for name in ("fftn", "ifftn"):
    plant(f"fft.{name}", "empty", "no axes are all axes", all_for_none)
    plant(
        f"fft.{name}",
        "view",
        "no axes return the array itself",
        when(lambda x, **k: k.get("axes") in ((), []), lambda f, x, **k: x),
    )
for name in ("rfftn", "irfftn"):
    plant(
        f"fft.{name}",
        "empty",
        "no axes give the array",
        lambda f, x, **k: xp.copy(x) if k.get("axes") in ((), []) else f(x, **k),
        lenient=True,
    )


def first_halved(f: Any, x: Any, *, axes: Any = None, s: Any = None, **keywords: Any) -> Any:
    """The first of the axes is halved, not the last."""
    axes = list(range(x.ndim)) if axes is None else list(axes)
    s = s if s is None else [*s[1:], s[0]]
    return f(x, axes=[*axes[1:], *axes[:1]], s=s, **keywords)


def whole(f: Any, x: Any, **keywords: Any) -> Any:
    """The last axis is not halved."""
    return xp.fft.fftn(
        xp.astype(x, "complex64" if x.dtype == xp.float32 else "complex128"), **keywords
    )


plant("fft.rfftn", "first", "the first axis is halved", first_halved)
plant("fft.rfftn", "whole", "no axis is halved", whole)
plant("fft.rfftn", "conj", "the exponent has the other sign", then(xp.conj))
plant("fft.irfftn", "first", "the first axis is real", first_halved)
plant("fft.irfftn", "flip", "the result is reversed", then(lambda x: xp.copy(xp.flip(x, axis=-1))))
plant(
    "fft.fftn",
    "sign",
    "the exponent has the other sign",
    lambda f, x, *, norm="backward", **k: xp.fft.ifftn(x, norm=other_norm(norm), **k),
)
plant(
    "fft.ifftn",
    "sign",
    "the exponent has the other sign",
    lambda f, x, *, norm="backward", **k: xp.fft.fftn(x, norm=other_norm(norm), **k),
)
