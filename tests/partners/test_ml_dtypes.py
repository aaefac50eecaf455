"""Narrow dtypes compared with ml_dtypes: the value of every bit pattern, rounding and finfo."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray as ra

from .grid import NARROW, raw_bytes

# NumPy warns about overflows and NaNs in the conversions by ml_dtypes.
pytestmark = [pytest.mark.ml_dtypes, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

# ml_dtypes stores one element per byte, like refarray's dtypes with the suffix "_padded".
SUB_BYTE = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")
BYTE = tuple(name for name in NARROW if name.startswith("float8"))
KNOWN = (*BYTE, *SUB_BYTE, "bfloat16")


def our_name(name: str) -> str:
    return f"{name}_padded" if name in SUB_BYTE else name


def patterns(name: str) -> Any:
    """Every bit pattern of the dtype, as unsigned integers of its storage size."""
    if name == "bfloat16":
        return np.arange(2**16, dtype=np.uint16)
    bits = int(name.removeprefix("float")[0]) if name in SUB_BYTE else 8
    return np.arange(2**bits, dtype=np.uint8)


def same(left: list[float], right: list[float]) -> bool:
    """Whether all elements are equal; NaN equals NaN, and zeros must have the same sign."""
    return len(left) == len(right) and all(
        (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
        for a, b in zip(left, right, strict=True)
    )


@run_each("name", KNOWN)
def test_every_bit_pattern_has_the_value_of_ml_dtypes(ml_dtypes: ModuleType, name: str) -> None:
    bits = patterns(name)
    oracle = bits.view(getattr(ml_dtypes, name)).astype(np.float64).tolist()
    array = ra.from_buffer(bits, dtype=our_name(name))
    assert same(array.tolist(), oracle)
    assert same(ra.astype(array, ra.float64).tolist(), oracle)
    assert same(ra.astype(array, ra.float32).tolist(), oracle)


def inputs(name: str, ml_dtypes: ModuleType) -> Any:
    """Every value of the dtype, and the midpoints of neighbours with the float64 values next to
    them."""
    values = patterns(name).view(getattr(ml_dtypes, name)).astype(np.float64)
    finite = np.unique(values[np.isfinite(values)])
    middle = (finite[:-1] + finite[1:]) / 2
    adjacent = [np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)]
    top = finite[-1]
    edges = np.array(
        [0.0, -0.0, np.nan, np.inf, -np.inf, top * 2, -top * 2, 1e-300, -1e-300, 1e300]
    )
    return np.concatenate([finite, middle, *adjacent, edges])


@run_each("name", KNOWN)
def test_rounding_equals_that_of_ml_dtypes(ml_dtypes: ModuleType, name: str) -> None:
    """Converts from float32, because ml_dtypes converts float64 through float32."""
    source = inputs(name, ml_dtypes).astype(np.float32)
    oracle = source.astype(getattr(ml_dtypes, name))
    result = ra.astype(ra.from_dlpack(source), our_name(name))
    numbers = oracle.astype(np.float64)
    wrong = [
        (float(value), mine, float(theirs))
        for value, mine, theirs in zip(source, result.tolist(), numbers, strict=True)
        if not same([mine], [float(theirs)])
    ]
    assert wrong == []


@run_each("name", KNOWN)
def test_the_bytes_equal_those_of_ml_dtypes(ml_dtypes: ModuleType, name: str) -> None:
    values = patterns(name).view(getattr(ml_dtypes, name)).astype(np.float64)
    finite = [float(value) for value in values if math.isfinite(value)]
    oracle = np.array(finite).astype(getattr(ml_dtypes, name)).tobytes()
    assert raw_bytes(ra.asarray(finite, dtype=our_name(name))) == oracle


@run_each("name", KNOWN)
def test_finfo_equals_that_of_ml_dtypes(ml_dtypes: ModuleType, name: str) -> None:
    oracle, mine = ml_dtypes.finfo(getattr(ml_dtypes, name)), ra.finfo(our_name(name))
    assert mine.bits == oracle.bits
    assert mine.max == float(oracle.max)
    assert mine.min == float(oracle.min)
    assert mine.eps == float(oracle.eps)
    assert mine.smallest_normal == float(oracle.smallest_normal)


@pytest.mark.parametrize("name", SUB_BYTE)
def test_packed_elements_hold_the_same_values(ml_dtypes: ModuleType, name: str) -> None:
    values = patterns(name).view(getattr(ml_dtypes, name)).astype(np.float64).tolist()
    packed = ra.asarray(values, dtype=name)
    bits = int(name.removeprefix("float")[0])
    assert packed.nbytes == math.ceil(len(values) * bits / 8)
    assert same(packed.tolist(), values)
    joined = sum(index << (bits * index) for index in range(len(values)))
    assert int.from_bytes(raw_bytes(packed), "little") == joined


@run_each("name", KNOWN)
def test_numpys_dlpack_rejects_ml_dtypes(ml_dtypes: ModuleType, name: str) -> None:
    """NumPy 2.4 cannot export them; NumPy's own error is passed on."""
    array = np.zeros(4, dtype=getattr(ml_dtypes, name))
    with pytest.raises(BufferError):
        ra.from_dlpack(array)
