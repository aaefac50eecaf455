"""finfo and iinfo report the limits of ml_dtypes, NumPy and refarray's own conversions."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.cases import run_each
from helpers.dtype_names import INTEGERS, REAL

import refarray as ra


def partner_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


@run_each("name", REAL)
def test_finfo_agrees_with_ml_dtypes(name: str) -> None:
    theirs, ours = ml_dtypes.finfo(partner_dtype(name)), ra.finfo(getattr(ra, name))
    for field in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(ours, field) == float(getattr(theirs, field)), field
        assert type(getattr(ours, field)) is (int if field == "bits" else float)
    assert ours.dtype == name


@run_each("name", REAL)
def test_the_limits_are_values_of_the_dtype(name: str) -> None:
    info = ra.finfo(name)
    for value in (info.max, info.min, info.smallest_normal):
        assert ra.asarray(value, dtype=name).item() == value
    if math.log2(info.max) >= 1:  # 1 + eps must be a value
        assert ra.asarray(1.0 + info.eps, dtype=name).item() == 1.0 + info.eps


@pytest.mark.parametrize(
    ("name", "component"),
    [("complex128", "float64"), ("complex64", "float32"), ("complex32", "float16")],
)
def test_complex_dtypes_have_the_limits_of_their_components(name: str, component: str) -> None:
    assert ra.finfo(name) == ra.finfo(component)
    assert ra.finfo(name).dtype == component


@run_each("name", INTEGERS)
def test_iinfo_agrees_with_numpy(name: str) -> None:
    theirs, ours = np.iinfo(name), ra.iinfo(name)
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, int(theirs.min), int(theirs.max))
    assert ours.dtype == getattr(ra, name)
    assert ra.asarray([ours.min, ours.max], dtype=name).tolist() == [ours.min, ours.max]
    with pytest.raises(OverflowError):
        ra.asarray(ours.max + 1, dtype=name)


@pytest.mark.parametrize("kind", [ra.float16, "float16", ra.zeros(2, dtype="float16")])
def test_finfo_accepts_dtype_name_or_array(kind: Any) -> None:
    assert ra.finfo(kind) == ra.finfo(ra.float16)


@pytest.mark.parametrize("kind", [ra.int16, "int16", ra.zeros(2, dtype="int16")])
def test_iinfo_accepts_dtype_name_or_array(kind: Any) -> None:
    assert ra.iinfo(kind).max == 32767


def test_python_types_are_accepted() -> None:
    assert ra.finfo(float) == ra.finfo(ra.float64)
    assert ra.iinfo(int) == ra.iinfo(ra.int64)


def test_lanes_and_padding_do_not_change_the_limits() -> None:
    assert ra.finfo(ra.DType("float32x4")) == ra.finfo(ra.float32)
    assert ra.finfo(ra.DType("float4_e2m1fn_padded")) == ra.finfo(ra.float4_e2m1fn)
    assert ra.iinfo(ra.DType("int8x2")) == ra.iinfo(ra.int8)


@run_each("kind", [ra.int8, "uint64", ra.bool, bool, int, 1.0, None, [1.0]])
def test_finfo_rejects_other_types(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"finfo\(\) takes"):
        ra.finfo(kind)


@run_each("kind", [ra.float32, ra.bool, "complex64", "bfloat16", float, 1, None])
def test_iinfo_rejects_other_types(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"iinfo\(\) takes"):
        ra.iinfo(kind)


def test_unknown_name_raises() -> None:
    with pytest.raises(ValueError, match="float7"):
        ra.finfo("float7")


def test_limits_are_immutable_and_have_a_repr() -> None:
    info: Any = ra.finfo("float32")
    with pytest.raises(AttributeError):
        info.max = 0
    assert repr(info).startswith("finfo(dtype=float32, bits=32, eps=1.19209e-07, ")
    assert repr(ra.iinfo("int8")) == "iinfo(dtype=int8, bits=8, min=-128, max=127)"
