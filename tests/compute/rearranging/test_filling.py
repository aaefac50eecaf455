"""eye, linspace, meshgrid, tril and triu, and the namespace's inspection functions."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype, flat
from oracles.formats import COMPLEX, KINDS, REAL_FLOATS, STANDARD
from oracles.nested import from_array

import refarray

xp: Any = refarray


def test_eye_has_defaults_and_refuses_bad_arguments() -> None:
    assert_dtype(xp.eye(3), "float64")
    assert xp.eye(2, k=10).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    for k in (2**62, -(2**62), -(2**63), 2**63 - 1, 2**63, -(2**63) - 1, 10**30, -(10**30)):
        assert not xp.any(xp.eye(3, k=k)).item()
    for bad in (-1, -(2**40)):
        with pytest.raises(ValueError, match=str(bad)):
            xp.eye(bad)
        with pytest.raises(ValueError, match=str(bad)):
            xp.eye(2, bad)
    for wrong in (1.5, "2", None):
        with pytest.raises(TypeError):
            xp.eye(wrong)
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        xp.eye(2**40)


def test_linspace_of_complex_numbers_and_defaults() -> None:
    assert_dtype(xp.linspace(0, 1, 5), "float64")
    assert_dtype(xp.linspace(0, 1j, 5), "complex128")
    out = xp.linspace(1 + 2j, 3 - 2j, 5)
    assert out.tolist() == [1 + 2j, 1.5 + 1j, 2 + 0j, 2.5 - 1j, 3 - 2j]
    assert_dtype(xp.linspace(0, 1, 3, dtype=xp.complex64), "complex64")
    half = xp.linspace(0, 1j, 4, endpoint=False)
    assert half.tolist() == [0j, 0.25j, 0.5j, 0.75j]
    assert xp.linspace(0, 1, num=3).tolist() == [0.0, 0.5, 1.0]


def test_linspace_refuses_bad_arguments() -> None:
    with pytest.raises(ValueError, match="-1"):
        xp.linspace(0, 1, -1)
    for wrong in (1.5, "3", None):
        with pytest.raises(TypeError):
            xp.linspace(0, 1, wrong)
    for wrong_end in ("0", None, [0]):
        with pytest.raises(TypeError):
            xp.linspace(wrong_end, 1, 3)
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        xp.linspace(0, 1, 2**62)
    with pytest.raises(TypeError, match="float64"):
        xp.linspace(0, 1j, 3, dtype=xp.float64)
    values = xp.linspace(-1e308, 1e308, 3).tolist()
    assert values == [-1e308, 0.0, 1e308]


def test_meshgrid_of_special_arguments() -> None:
    assert xp.meshgrid() == ()
    x = xp.asarray([1.0, 2.0])
    assert [g.shape for g in xp.meshgrid(x, xp.zeros(0))] == [(0, 2)] * 2
    with pytest.raises(ValueError, match="kl"):
        xp.meshgrid(x, x, indexing="kl")
    with pytest.raises(ValueError, match=r"ndim 2|\(1, 2\)"):
        xp.meshgrid(x.reshape((1, 2)), x)
    for wrong in (1.5, [1.0], None):
        with pytest.raises(TypeError):
            xp.meshgrid(x, wrong)


# --- The namespace ---


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
    assert info.default_device() == xp.zeros(1).device
    assert type(info.devices()) is tuple and info.default_device() in info.devices()
    for device in info.devices():
        assert xp.zeros(1, device=device).device == device
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
    real, complex_ = ("float32", "float64"), COMPLEX
    kinds: dict[Any, tuple[str, ...]] = {
        None: STANDARD,
        "bool": ("bool",),
        "signed integer": ("int8", "int16", "int32", "int64"),
        "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
        "integral": KINDS["integer"],
        "real floating": real,
        "complex floating": complex_,
        "numeric": (*KINDS["integer"], *real, *complex_),
        ("bool", "real floating"): ("bool", *real),
        ("integral", "unsigned integer"): KINDS["integer"],
        (): (),
    }
    for kind, names in kinds.items():
        found = info.dtypes(kind=kind)
        assert found == {name: getattr(xp, name) for name in names}, kind
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


@run_each("dtype", [*REAL_FLOATS, "complex64"])
def test_fills_of_floats_keep_their_bits(dtype: str) -> None:
    x = xp.full((2, 3), 1.5, dtype=getattr(xp, dtype))
    assert from_array(xp.tril(x, k=5)).values == flat(x)
