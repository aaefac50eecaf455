"""astype and copy: dtype conversion into new memory, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from hypothesis import given, settings
from test_indexing import assert_same
from test_manipulation import pairs

import refarray
from refarray import Array

WIDE = ["bool", "int8", "int32", "uint8", "uint64", "float32", "float64", "complex64", "complex128"]


@run_each("to", WIDE)
@run_each("dtype", WIDE)
def test_astype_between_numpys_dtypes(dtype: str, to: str) -> None:
    theirs = np.array([0, 1, 2, 3, 100, 120]).reshape(2, 3).astype(dtype)[:, ::-1]
    ours = refarray.from_dlpack(theirs)
    if dtype.startswith("complex") and not to.startswith(("complex", "bool")):
        for convert in (lambda: ours.astype(to), lambda: refarray.astype(ours, to, copy=False)):
            with pytest.raises(
                TypeError, match=f"cannot convert {dtype} to {to}: the imaginary part"
            ):
                convert()
        return
    for out in (ours.astype(to), refarray.astype(ours, getattr(refarray, to), device="cpu")):
        assert_same(out, theirs.astype(to, order="C"))
        assert out.dtype == to and not out.readonly and out.is_contiguous() and out is not ours
    kept = ours.astype(to, copy=False)
    assert (kept is ours) is (dtype == to) and kept.tolist() == theirs.astype(to).tolist()


def test_astype_takes_python_types() -> None:
    x = refarray.asarray([0, 1, 2])
    assert x.astype(bool).tolist() == [False, True, True]
    assert x.astype(float).dtype == "float64" and x.astype(complex).dtype == "complex128"
    assert x.astype(int, copy=False) is x


def test_vector_elements_convert_to_their_own_type_only() -> None:
    x = refarray.zeros((2,), dtype="int8x2")
    assert x.astype("int8x2").tolist() == [(0, 0), (0, 0)]
    assert x.astype("int8x2", copy=False) is x
    for to in ("int8", "int8x4", "int16x2"):
        with pytest.raises(TypeError, match=f"cannot convert int8x2 to {to}: vector elements"):
            x.astype(to)


@settings(deadline=None)
@given(pairs())
def test_copy(arrays: tuple[Array, Any]) -> None:
    ours, theirs = arrays
    for out in (ours.copy(), refarray.copy(ours), ours.as_readonly().copy()):
        assert_same(out, theirs.copy())
        assert not out.readonly and out.is_contiguous() and out.device == "cpu"
    if ours.size:
        out[...] = -1
        assert (theirs != -1).all()
