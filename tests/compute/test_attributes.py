"""Attributes of arrays and of the namespace, and conversion to Python numbers, as the standard has
them."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import ALL, COMPLEX, COMPONENT, INTEGERS, REAL_FLOATS, STANDARD
from properties.models.dtypes import KINDS

import refarray
from refarray import Array, Device

pytestmark = pytest.mark.every_python

xp: Any = refarray
SHAPES = [(), (0,), (5,), (2, 3), (3, 3), (0, 4), (2, 0, 3), (2, 3, 4), (3, 3, 3), (2, 3, 4, 5)]


def counted(shape: tuple[int, ...]) -> Array:
    return xp.reshape(xp.arange(math.prod(shape)), shape)


@run_each("shape", SHAPES)
def test_attributes_have_the_types_of_the_standard(shape: tuple[int, ...]) -> None:
    for dtype in ALL:
        x = xp.zeros(shape, dtype=dtype)
        assert type(x.shape) is tuple and x.shape == shape
        assert type(x.ndim) is int and x.ndim == len(shape)
        assert type(x.size) is int and x.size == math.prod(shape)
        assert x.dtype == getattr(xp, dtype) and type(x.dtype) is type(xp.int8)
        assert type(x.device) is Device and x.device == xp.empty(0).device


@run_each("shape", [shape for shape in SHAPES if len(shape) >= 2])
def test_transposed_matrices(shape: tuple[int, ...]) -> None:
    x = counted(shape)
    y = x.mT
    assert y.shape == (*shape[:-2], shape[-1], shape[-2])
    for index in itertools.product(*map(range, shape)):
        assert int(y[*index[:-2], index[-1], index[-2]]) == int(x[index])
    if len(shape) == 2:
        assert x.T.shape == shape[::-1] and x.T.tolist() == y.tolist()


@pytest.mark.parametrize("shape", [(), (5,)])
def test_only_matrices_are_transposed(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        _ = counted(shape).mT


NUMBERS = [0.0, -0.0, 0.1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.75, 1e300, 2.0**60 + 2.0**10, 1e-320]


@run_each("value", NUMBERS)
def test_conversion_of_float64(value: float) -> None:
    x = xp.asarray(value)
    assert type(float(x)) is float and repr(float(x)) == repr(value)
    assert type(int(x)) is int and int(x) == int(value)
    assert complex(x) == complex(value, 0.0)
    assert bool(x) is bool(value)


def test_conversion_of_special_numbers() -> None:
    for dtype in REAL_FLOATS:
        nan, infinite = xp.asarray(math.nan, dtype=dtype), xp.asarray(-math.inf, dtype=dtype)
        assert math.isnan(float(nan)) and float(infinite) == -math.inf
        assert bool(nan) is True and bool(infinite) is True
        assert math.isnan(complex(nan).real) and complex(infinite) == complex(-math.inf, 0)
        with pytest.raises(ValueError):
            int(nan)
        with pytest.raises(OverflowError):
            int(infinite)


def test_conversion_of_complex_numbers() -> None:
    for dtype in COMPLEX:
        for value in (1.5 - 2j, -0.25j, complex(math.inf, -1.0), 0j):
            x = xp.asarray(value, dtype=dtype)
            assert type(complex(x)) is complex and complex(x) == value
            assert bool(x) is bool(value)
            for convert in (int, float):
                with pytest.raises(TypeError):
                    convert(x)


def test_only_integers_are_indices() -> None:
    for dtype in ALL:
        x = xp.ones((), dtype=dtype)
        if dtype in INTEGERS:
            assert operator.index(x) == 1 and [10, 20][x] == 20
            continue
        with pytest.raises(TypeError):
            operator.index(x)
    assert operator.index(xp.asarray(-7)) == -7


def test_to_device_keeps_the_elements() -> None:
    for shape in SHAPES:
        x = counted(shape)
        for view in (x, x.T if len(shape) == 2 else x):
            there = view.to_device(view.device)
            assert there.shape == view.shape and there.dtype == view.dtype
            assert there.tolist() == view.tolist() and there.device == view.device


def test_dlpack_device_of_the_cpu() -> None:
    kind, number = counted((2, 3)).__dlpack_device__()
    assert (int(kind), number) == (1, 0)


def test_exported_memory_is_shared() -> None:
    x = xp.asarray([1, 2, 3])
    for keywords in ({}, {"copy": None}, {"copy": False}, {"max_version": (1, 3)}):
        y = xp.from_capsule(x.__dlpack__(**keywords))
        x[0] = int(x[0]) + 1
        assert y.tolist() == x.tolist()


@pytest.mark.parametrize("dtype", COMPLEX)
def test_limits_of_complex_dtypes_are_those_of_the_components(dtype: str) -> None:
    component = getattr(xp, COMPONENT[dtype])
    for given in (getattr(xp, dtype), xp.zeros(2, dtype=dtype)):
        info, wanted = xp.finfo(given), xp.finfo(component)
        assert info.bits == wanted.bits == 8 * xp.zeros(1, dtype=component).itemsize
        assert info.dtype == component
        assert (info.eps, info.min, info.max) == (wanted.eps, wanted.min, wanted.max)
        assert info.smallest_normal == wanted.smallest_normal


# --- The namespace.


def test_version_and_namespace() -> None:
    assert xp.__array_api_version__ == "2025.12"
    x = xp.ones(3)
    assert x.__array_namespace__() is xp
    for version in (None, "2025.12", "2024.12", "2023.12", "2022.12", "2021.12"):
        space = x.__array_namespace__(api_version=version)
        assert space.asarray([1]).shape == (1,)
    for bad in ("2019.10", "2025.13", ""):
        with pytest.raises(ValueError, match=repr(bad)):
            x.__array_namespace__(api_version=bad)
    for wrong in (2025, 2025.12):
        with pytest.raises(TypeError):
            x.__array_namespace__(api_version=wrong)
    names = list(inspect.signature(refarray.Array.__array_namespace__).parameters.values())
    assert names[1].kind is names[1].KEYWORD_ONLY and names[1].default is None


def test_capabilities_and_defaults() -> None:
    info = xp.__array_namespace_info__()
    abilities = info.capabilities()
    assert abilities["boolean indexing"] is True
    assert abilities["data-dependent shapes"] is True
    assert abilities["max dimensions"] == 64
    xp.zeros((1,) * 64)
    assert info.default_device() == xp.zeros(1).device == info.devices()[0]
    assert type(info.devices()) is tuple
    for device in info.devices():
        assert type(device) is Device and xp.zeros(1, device=device).device == device
    for defaults in (info.default_dtypes(), info.default_dtypes(device=info.default_device())):
        assert defaults == {
            "real floating": xp.float64,
            "complex floating": xp.complex128,
            "integral": xp.int64,
            "indexing": xp.int64,
        }
    assert xp.zeros(1).dtype == info.default_dtypes()["real floating"]
    assert xp.arange(3).dtype == info.default_dtypes()["integral"]


def test_dtypes_of_each_kind() -> None:
    info = xp.__array_namespace_info__()
    names: tuple[str, ...]
    for kind, names in {None: ALL, (): (), **KINDS}.items():
        found = info.dtypes(kind=kind)
        assert found == {name: getattr(xp, name) for name in STANDARD if name in names}, kind
        assert info.dtypes(kind=kind, device=info.default_device()) == found
    for bad in ("float", "Bool", ("bool", "any")):
        with pytest.raises(ValueError):
            info.dtypes(kind=bad)
    with pytest.raises(TypeError):
        info.dtypes(kind=3)
    with pytest.raises(TypeError):
        info.dtypes("bool")


def test_constants() -> None:
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)
