"""The dtypes of strict namespaces: == and hash() only."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy
import pytest
from helpers.cases import run_each

import refarray
import refarray.strict

pytestmark = pytest.mark.every_python

SPACES: list[Any] = [
    refarray.namespace(strict=True),
    refarray.namespace(strict=True, immutable=True, api_version="2022.12"),
    refarray.namespace(strict=True, devices=[refarray.VirtualDevice("gpu")]),
    refarray.namespace(strict=True, lazy=True, boolean_indexing=True, data_dependent_shapes=True),
    refarray.strict,
]
spaces = run_each("xp", SPACES, ids=lambda xp: xp.__name__)
NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)


@spaces
@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_equals_itself_only(xp: Any, name: str) -> None:
    dtype = getattr(xp, name)
    x = xp.zeros(3, dtype=dtype)
    assert x.dtype is dtype and x.dtype == dtype and hash(x.dtype) == hash(dtype)
    for other in (name, numpy.dtype(name), getattr(numpy, name), getattr(refarray, name), float):
        assert (dtype == other) is False and (other == dtype) is False
        assert (dtype != other) is True and dtype not in [other]
    assert {dtype: 1}.get(name) is None
    assert sum(dtype == getattr(xp, each) for each in NAMES) == 1
    assert not {"kind", "name", "bits", "itemsize", "code", "lanes"} & set(dir(dtype))
    with pytest.raises(AttributeError):
        _ = dtype.kind
    with pytest.raises(AttributeError):
        dtype.x = 1
    with pytest.raises(TypeError):
        _ = dtype < dtype


def test_strict_namespaces_have_the_same_dtypes() -> None:
    for name in NAMES:
        assert len({id(getattr(xp, name)) for xp in SPACES}) == 1
        assert repr(getattr(SPACES[0], name)) == f"refarray_strict.{name}"


@spaces
def test_a_dtype_is_pickled_by_name(xp: Any) -> None:
    for name in NAMES:
        dtype = getattr(xp, name)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype
        assert copy.copy(dtype) is dtype and copy.deepcopy(dtype) is dtype
    kind = type(xp.bool)
    assert pickle.loads(pickle.dumps(kind)) is kind
    with pytest.raises(TypeError):
        kind("float64")


@spaces
def test_functions_take_their_own_dtypes_only(xp: Any) -> None:
    x = xp.ones(2)
    of_python = (float, int, bool, complex, type(None))
    for wrong in (refarray.float32, numpy.float32, numpy.dtype("f4"), "float32", "f4", *of_python):
        for use in (
            lambda wrong=wrong: xp.zeros(2, dtype=wrong),
            lambda wrong=wrong: xp.asarray([1, 2], dtype=wrong),
            lambda wrong=wrong: xp.arange(3, dtype=wrong),
            lambda wrong=wrong: xp.astype(x, wrong),
            lambda wrong=wrong: xp.sum(x, dtype=wrong),
            lambda wrong=wrong: xp.can_cast(x, wrong),
            lambda wrong=wrong: xp.isdtype(wrong, "real floating"),
            lambda wrong=wrong: xp.finfo(wrong),
            lambda wrong=wrong: xp.result_type(x, wrong),
        ):
            with pytest.raises(TypeError):
                use()
        with pytest.raises((TypeError, ValueError)):
            xp.isdtype(xp.float32, wrong)


@spaces
def test_everything_that_returns_a_dtype_returns_one_of_the_namespace(xp: Any) -> None:
    assert xp.result_type(xp.ones(1), xp.float32) is xp.float64
    assert (
        xp.finfo(xp.float32).dtype is xp.float32 and xp.iinfo(xp.ones(1, dtype=xp.int8)).max == 127
    )
    assert xp.sum(xp.ones(2, dtype=xp.int8)).dtype is xp.int64
    assert xp.isdtype(xp.float32, (xp.bool, "real floating")) and xp.can_cast(xp.int8, xp.int16)
    if hasattr(xp, "__array_namespace_info__"):
        info = xp.__array_namespace_info__()
        assert info.dtypes() == {name: getattr(xp, name) for name in NAMES}
        assert info.dtypes(kind="bool")["bool"] is xp.bool
        assert info.default_dtypes()["real floating"] is xp.float64


def test_the_default_namespace_takes_them() -> None:
    """As it takes those of NumPy."""
    strict = SPACES[0].float32
    assert refarray.zeros(1, dtype=strict).dtype is refarray.float32
    assert refarray.DType(strict) is refarray.float32
    device = refarray.VirtualDevice(
        "narrow", dtypes=[strict, SPACES[0].int32], default_dtypes={"integral": SPACES[0].int32}
    )
    xp: Any = refarray.namespace(strict=True, devices=[device])
    assert xp.arange(3, device=device).dtype is xp.int32
    with pytest.raises(ValueError, match=r"has no float64; it has int32, float32"):
        xp.zeros(1, dtype=xp.float64, device=device)
