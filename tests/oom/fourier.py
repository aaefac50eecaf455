"""Out-of-memory recipes for the functions of the extension fft."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import refarray
from refarray import fft

from .recipe import recipe, refused

#: Tables are kept for the last 16 lengths: no call uses one that the 16 before it have used.
LENGTHS = tuple(range(20, 60))
#: Prime factors that are no pass of their own: the transform becomes a convolution.
PRIMES = (521, 523, 541, 547, 557, 563, 569, 571, 577, 587, 593, 599, 601, 607, 613, 617, 619, 631)
#: Work memory of several blocks, for lengths that no small cache holds.
LONG = tuple(4096 + 8 * i for i in range(18))
COMPLEX = ("fft", "ifft", "irfft", "hfft")
REAL = ("rfft", "ihfft")


def points(dtype: str, shape: tuple[int, ...] = (2, 3)) -> Any:
    return refarray.ones(shape, dtype=getattr(refarray, dtype))


def frequencies(name: str, dtype: str, _: Any) -> Any:
    return getattr(fft, name)(9, d=0.5, dtype=getattr(refarray, dtype))


def taking_turns(function: Any, lengths: tuple[int, ...], **keywords: Any) -> Callable[[Any], Any]:
    """Calls with one length after the other, so that each call makes its tables."""
    turns: Iterator[int] = itertools.cycle(lengths)
    return lambda x: function(x, n=next(turns), **keywords)


for _names, _dtypes in ((COMPLEX, ("complex128", "complex64")), (REAL, ("float64", "float32"))):
    for _name in _names:
        for _dtype in _dtypes:
            for _label, _lengths in (("passes", LENGTHS), ("convolution", PRIMES)):
                recipe(f"fft.{_name}", taking_turns(getattr(fft, _name), _lengths),
                       partial(points, _dtype), f"{_label} {_dtype}")  # fmt: skip
        recipe(f"fft.{_name}", taking_turns(getattr(fft, _name), LONG, axis=0),
               partial(points, _dtypes[0], (5, 9)), "columns")  # fmt: skip
        recipe(f"fft.{_name}", getattr(fft, _name), partial(points, _dtypes[1]), "kept")
        recipe(f"fft.{_name}", lambda x, f=_name: getattr(fft, f)(x.T, axis=0, norm="ortho"),
               partial(points, _dtypes[0], (9, 8)), "strided")  # fmt: skip
        refused(f"fft.{_name}", ValueError, lambda x, f=_name: getattr(fft, f)(x, norm="none"),
                label="norm", make=partial(points, _dtypes[0]))  # fmt: skip
        refused(f"fft.{_name}", ValueError, lambda x, f=_name: getattr(fft, f)(x, n=0),
                label="empty", make=partial(points, _dtypes[0]))  # fmt: skip
        refused(f"fft.{_name}", IndexError, lambda x, f=_name: getattr(fft, f)(x, axis=7),
                label="far", make=partial(points, _dtypes[0]))  # fmt: skip
        refused(f"fft.{_name}", TypeError, getattr(fft, _name), label="int8",
                make=partial(points, "int8"))  # fmt: skip
for _name, _dtype in (
    ("fftn", "complex64"),
    ("ifftn", "complex128"),
    ("rfftn", "float64"),
    ("irfftn", "complex128"),
):
    _pairs = itertools.cycle(zip(LENGTHS[:19], LENGTHS[19:38], strict=True))
    recipe(
        f"fft.{_name}",
        lambda x, f=_name, pairs=_pairs: getattr(fft, f)(x, s=next(pairs), axes=(0, 2)),
        partial(points, _dtype, (3, 2, 4)),
    )
    recipe(f"fft.{_name}", getattr(fft, _name), partial(points, _dtype, (4, 3, 5)), "all")
    recipe(f"fft.{_name}", lambda x, f=_name: getattr(fft, f)(x, s=[-1, 4], axes=[1, 0]),
           partial(points, _dtype), "lists")  # fmt: skip
    refused(f"fft.{_name}", ValueError, lambda x, f=_name: getattr(fft, f)(x, s=(3,)),
            label="no axes", make=partial(points, _dtype))  # fmt: skip
    refused(f"fft.{_name}", ValueError, lambda x, f=_name: getattr(fft, f)(x, s=(3,), axes=(0, 1)),
            label="mismatch", make=partial(points, _dtype))  # fmt: skip
    refused(f"fft.{_name}", ValueError, lambda x, f=_name: getattr(fft, f)(x, axes=(0, 0)),
            label="twice", make=partial(points, _dtype))  # fmt: skip
for _name in ("fftshift", "ifftshift"):
    for _axes in (None, 1, (0, 1)):
        recipe(f"fft.{_name}", lambda x, f=_name, a=_axes: getattr(fft, f)(x, axes=a),
               partial(points, "float32"), f"axes {_axes}")  # fmt: skip
    refused(f"fft.{_name}", IndexError, lambda x, f=_name: getattr(fft, f)(x, axes=(0, 9)),
            label="far", make=partial(points, "float32"))  # fmt: skip
for _name in ("fftfreq", "rfftfreq"):
    for _dtype in ("float64", "float32", "bfloat16"):
        recipe(f"fft.{_name}", partial(frequencies, _name, _dtype), label=_dtype)
    refused(f"fft.{_name}", ValueError, lambda _, f=_name: getattr(fft, f)(9, d=0), label="d")
    refused(f"fft.{_name}", TypeError, lambda _, f=_name: getattr(fft, f)(9, dtype=refarray.int8),
            label="int8")  # fmt: skip
