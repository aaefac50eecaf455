"""Mutants of the transforms along one axis."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    Change,
    dropping,
    first,
    ignoring_strides,
    keyword,
    longer,
    then,
    when,
    without_nan,
)

import refarray as xp

COMPLEX = ("fft", "ifft", "irfft", "hfft")
FROM_REAL = ("rfft", "ihfft")
TO_REAL = ("irfft", "hfft")
NAMES = (*COMPLEX, *FROM_REAL)
OTHER_NORM = {"backward": "forward", "forward": "backward"}


def other_norm(norm: str) -> str:
    return OTHER_NORM.get(norm, norm)


def unscaled(norm: str) -> str:
    return "backward" if norm == "ortho" else norm


def along_last(x: Any, axis: int, change: Change) -> Any:
    """Changes sequences that lie along the last axis."""
    return xp.copy(xp.moveaxis(change(xp.moveaxis(x, axis, -1)), -1, axis))


def argument(change: Change) -> Any:
    """The argument's sequences are changed: with those, and with the number of elements used."""

    def broken(name: str) -> Any:
        def call(f: Any, x: Any, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
            if n is None:
                n = x.shape[axis] if name not in TO_REAL else 2 * (x.shape[axis] - 1)
            used = int(n) // 2 + 1 if name in TO_REAL else int(n)
            changed = along_last(x, axis, lambda y: change(y, used))
            return f(changed, n=n, axis=axis, norm=norm)

        return call

    return broken


def result(change: Change) -> Any:
    """The sequences of the result are changed."""

    def broken(f: Any, x: Any, *, axis: int = -1, **keywords: Any) -> Any:
        return along_last(f(x, axis=axis, **keywords), axis, change)

    return broken


def last_elements(x: Any, n: int) -> Any:
    return x[..., -n:] if x.shape[-1] > n else x


def padding(x: Any, n: int) -> Any:
    return xp.zeros((*x.shape[:-1], n - x.shape[-1]), dtype=x.dtype)


def padded_in_front(x: Any, n: int) -> Any:
    return xp.concat([padding(x, n), x], axis=-1) if x.shape[-1] < n else x


def padded_with_last(x: Any, n: int) -> Any:
    if x.shape[-1] >= n or x.shape[-1] == 0:
        return x
    return xp.concat([x, xp.zeros_like(padding(x, n)) + x[..., -1:]], axis=-1)


def wrapped_around(x: Any, n: int) -> Any:
    """Elements behind n are added to the first ones."""
    if x.shape[-1] <= n or n == 0:
        return x
    out = xp.copy(x[..., :n])
    rest = x[..., n : 2 * n]
    out[..., : rest.shape[-1]] += rest
    return out


def without_last(x: Any, n: int) -> Any:
    """The last of more than 64 elements is left out."""
    if n <= 64 or x.shape[-1] < n:
        return x
    out = xp.copy(x)
    out[..., n - 1] = 0
    return out


def ninth_as_first(x: Any) -> Any:
    """The ninth of the sequences is a copy of the first."""
    rows = xp.reshape(xp.copy(x), (-1, x.shape[-1]))
    if rows.shape[0] > 8:
        rows[8, :] = rows[0, :]
    return xp.reshape(rows, x.shape)


def less_exact(x: Any) -> Any:
    """Twice the error that the shortest transforms may have."""
    return x * (1 + 2 * xp.finfo(x.dtype).eps)


def of_single_precision(f: Any, x: Any, **keywords: Any) -> Any:
    narrow = {"complex128": "complex64", "float64": "float32"}.get(x.dtype.name)
    out = f(x, **keywords)
    return xp.astype(f(xp.astype(x, narrow), **keywords), out.dtype) if narrow else out


def wide(x: Any) -> Any:
    return xp.astype(
        x, {"complex64": "complex128", "float32": "float64"}.get(x.dtype.name, x.dtype)
    )


def other_axis(f: Any, x: Any, *, axis: int = -1, **keywords: Any) -> Any:
    """The first and the last axis of cubes and squares change places."""
    if x.ndim < 2 or len(set(x.shape)) > 1 or axis % x.ndim not in (0, x.ndim - 1):
        return f(x, axis=axis, **keywords)
    return f(x, axis=-1 if axis % x.ndim == 0 else 0, **keywords)


def writing_back(f: Any, x: Any, **keywords: Any) -> Any:
    """The argument is work memory."""
    out = f(x, **keywords)
    if not x.readonly and x.is_contiguous():
        x[...] = 0
    return out


def fortran(x: Any) -> Any:
    """The result is in column-major order."""
    axes = tuple(range(x.ndim))[::-1]
    return xp.permute_dims(xp.copy(xp.permute_dims(x, axes)), axes)


def mirrored(x: Any) -> Any:
    return xp.roll(xp.flip(x, axis=-1), 1, axis=-1)


for name in NAMES:
    target = f"fft.{name}"
    plant(
        target,
        "norm",
        "backward and forward change places",
        keyword("norm", other_norm, "backward"),
    )
    plant(target, "ortho", "ortho does as backward does", keyword("norm", unscaled, "backward"))
    plant(target, "n", "n is ignored", dropping("n"))
    plant(target, "axis", "axis is ignored", dropping("axis"))
    plant(target, "other", "the first axis of squares is the last", other_axis)
    plant(target, "crop", "the last n elements are taken", argument(last_elements)(name))
    plant(target, "front", "zeros are added in front", argument(padded_in_front)(name))
    plant(target, "edge", "the last element is repeated", argument(padded_with_last)(name))
    plant(target, "wraps", "what is behind n is added to the start", argument(wrapped_around)(name))
    plant(target, "tail", "the last of more than 64 is left out", argument(without_last)(name))
    plant(
        target, "rolled", "the result is shifted by one", result(lambda x: xp.roll(x, 1, axis=-1))
    )
    plant(target, "ninth", "the ninth sequence is the first", result(ninth_as_first))
    plant(target, "error", "the error is twice as large", then(less_exact))
    plant(target, "single", "double precision is single", of_single_precision)
    plant(target, "dtype", "the result is of double precision", then(wide))
    plant(target, "nan", "NaN becomes 0", then(without_nan(0.0)))
    plant(target, "strides", "reads strided arrays as contiguous", ignoring_strides)
    plant(target, "writes", "overwrites its argument", writing_back)
    plant(target, "order", "the result is column-major", then(fortran))
    plant(target, "readonly", "the result is read-only", then(lambda x: x.as_readonly()))
for name in ("fft", "ifft", *TO_REAL):
    plant(f"fft.{name}", "sign", "the exponent has the other sign", result(mirrored))
for name in FROM_REAL:
    plant(f"fft.{name}", "sign", "the exponent has the other sign", then(xp.conj))
    plant(f"fft.{name}", "half", "the middle element is missing", result(lambda x: x[..., :-1]))


# --- what single functions do


def with_imaginary_start(x: Any) -> Any:
    """The imaginary part of element 0 counts as a real one."""
    if x.ndim == 0 or x.shape[-1] == 0:
        return x
    out = xp.copy(x)
    out[..., 0] = out[..., 0] + xp.astype(xp.imag(x[..., 0]), x.dtype)
    return out


def counting_start(f: Any, x: Any, *, axis: int = -1, **keywords: Any) -> Any:
    return f(along_last(x, axis, with_imaginary_start), axis=axis, **keywords)


def odd_default(f: Any, x: Any, *, n: Any = None, axis: int = -1, **keywords: Any) -> Any:
    """Without n the result has an odd number of elements."""
    return f(x, n=2 * x.shape[axis] - 1 if n is None else n, axis=axis, **keywords)


def even_lengths(f: Any, x: Any, *, n: Any = None, **keywords: Any) -> Any:
    """The middle element of an even length counts twice."""
    if n is None or n % 2 or x.ndim != 1 or x.shape[0] <= n // 2:
        return f(x, n=n, **keywords)
    y = xp.copy(x)
    y[n // 2] = y[n // 2] * 2
    return f(y, n=n, **keywords)


def fewer_needed(f: Any, x: Any, *, n: Any = None, axis: int = -1, **keywords: Any) -> Any:
    """Of an argument with fewer elements than n, n // 2 are used, not n // 2 + 1."""
    if n is None or n < 4:
        return f(x, n=n, axis=axis, **keywords)
    cut = along_last(x, axis, lambda y: y[..., : int(n) // 2])
    return f(cut, n=n, axis=axis, **keywords)


for name in TO_REAL:
    target = f"fft.{name}"
    plant(
        target,
        "start",
        "the imaginary part of element 0 counts",
        lambda f, x, *, axis=-1, **k: f(along_last(x, axis, with_imaginary_start), axis=axis, **k),
    )
    plant(target, "odd", "without n the length is odd", odd_default)
    plant(target, "middle", "the middle element counts twice", even_lengths)
    plant(target, "fewer", "n // 2 elements are used", fewer_needed)


def real_as_complex(f: Any, x: Any, **keywords: Any) -> Any:
    is_complex = xp.isdtype(x.dtype, "complex floating")
    return f(x if is_complex else xp.astype(x, "complex128"), **keywords)


def complex_as_real(f: Any, x: Any, **keywords: Any) -> Any:
    return f(xp.real(x) if xp.isdtype(x.dtype, "complex floating") else x, **keywords)


def any_norm(norm: Any) -> Any:
    return norm if norm in ("ortho", "forward") else "backward"


def at_least_one(n: Any) -> Any:
    return n if n is None or n > 0 else 1


for name in NAMES:
    target = f"fft.{name}"
    accepts = complex_as_real if name in FROM_REAL else real_as_complex
    plant(target, "accepts", "other dtypes are converted", accepts, lenient=True)
    plant(
        target,
        "any-norm",
        "an unknown norm is backward",
        keyword("norm", any_norm, "backward"),
        lenient=True,
    )
    plant(target, "zero", "n less than 1 is 1", keyword("n", at_least_one), lenient=True)
    plant(
        target,
        "point",
        "an array of ndim 0 has one element",
        when(lambda x, **k: x.ndim == 0, first(lambda x: xp.reshape(x, (1,)))),
        lenient=True,
    )
    plant(
        target,
        "long",
        "long results are shifted by one",
        when(longer(2000), result(lambda x: xp.roll(x, 1, axis=-1))),
    )
plant("fft.ifft", "scale", "does not divide by n", keyword("norm", lambda _: "forward"))
plant("fft.fft", "scale", "divides by n", keyword("norm", lambda _: "forward"))
plant(
    "fft.fft",
    "float",
    "a float is a length",
    keyword("n", lambda n: int(n) if isinstance(n, float) else n),
    lenient=True,
)
plant(
    "fft.fft",
    "view",
    "one element is returned itself",
    lambda f, x, **k: x if x.size == 1 and not k else f(x, **k),
)
plant(
    "fft.ihfft",
    "conj",
    "the result is that of rfft, divided by n",
    lambda f, x, **k: xp.conj(f(x, **k)),
)
