"""The private copy functions that only the benchmarks call, and their argument checks."""

from __future__ import annotations

import pytest

import refarray
from refarray import _native


def test_copy_into_converts_and_checks_arguments() -> None:
    x = refarray.reshape(refarray.arange(6), (2, 3))
    out = refarray.zeros((3, 2), dtype="int64")
    _native._copy_into(out, x.T)
    assert out.tolist() == x.T.tolist()
    with pytest.raises(ValueError, match="dst is read-only"):
        _native._copy_into(out.as_readonly(), x.T)
    with pytest.raises(TypeError, match="takes 2 arguments, not 1"):
        _native._copy_into(out)


def test_memcpy_requires_equal_contiguous_arrays() -> None:
    x = refarray.arange(6)
    out = refarray.zeros((2, 3), dtype="int64")
    _native._memcpy(out, x)
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    for dst, src in ((out.as_readonly(), x), (out.T, x), (out, x[::-1]), (out, x[1:])):
        with pytest.raises(ValueError, match="row-major, of one size, and dst writable"):
            _native._memcpy(dst, src)
    with pytest.raises(TypeError, match="takes 2 arguments, not 3"):
        _native._memcpy(out, x, x)


def test_plan_copies_counts_axes() -> None:
    """_plan_copies returns the sum of the axes left in each plan."""
    x = refarray.reshape(refarray.arange(6), (2, 3))
    assert _native._plan_copies(refarray.empty((2, 3), dtype="int64"), x, 3) == 3
    assert _native._plan_copies(refarray.empty((3, 2), dtype="int64"), x.T, 1) == 2
    for dst in (refarray.empty((3, 2), dtype="int64"), refarray.empty((0,))):
        with pytest.raises(ValueError, match="at least one element, and convertible dtypes"):
            _native._plan_copies(dst, x, 1)
    with pytest.raises(TypeError, match="takes 3 arguments, not 2"):
        _native._plan_copies(x, x)
