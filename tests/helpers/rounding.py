"""The dtypes of ml_dtypes, which converts every number to float32 first, and values that it rounds
only once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt


def numpy_dtype(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def round_to_odd(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As float32, rounded toward zero, with the last bit set if that is inexact: rounding the
    result to a type of at most 22 bits gives the same as rounding `values`."""
    exact = np.atleast_1d(values).astype(np.longdouble)
    out = exact.astype(np.float32)
    above = np.abs(out.astype(np.longdouble)) > np.abs(exact)
    out[above] = np.nextafter(out[above], np.float32(0))
    inexact = np.isfinite(exact) & (out.astype(np.longdouble) != exact)
    out.view(np.uint32)[inexact] |= 1
    return out
