"""Namespaces of earlier versions of the standard: their names, and results of their time."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.functions import TABLE

import refarray

pytestmark = pytest.mark.every_python

FUNCTIONS = TABLE["functions"]
#: Functions that a version added.
ADDED = {
    "2022.12": "conj imag isdtype real take fft.fft fft.rfftfreq",
    "2023.12": "__array_namespace_info__ clip copysign cumulative_sum hypot maximum minimum"
    " moveaxis repeat searchsorted signbit tile unstack",
    "2024.12": "count_nonzero cumulative_prod diff nextafter reciprocal take_along_axis",
    "2025.12": "broadcast_shapes isin linalg.eig linalg.eigvals",
}
VERSIONS = ("2021.12", *ADDED)


def namespace(version: str) -> Any:
    return refarray.zeros(1).__array_namespace__(api_version=version)


def has(space: Any, name: str) -> bool:
    extension, _, function = name.rpartition(".")
    return hasattr(getattr(space, extension, None) if extension else space, function)


@run_each("version", VERSIONS)
def test_a_version_has_its_functions_only(version: str) -> None:
    space = namespace(version)
    assert isinstance(space, ModuleType) and space.__array_api_version__ == version
    later = {name for year, names in ADDED.items() if year > version for name in names.split()}
    if version == "2021.12":
        assert not hasattr(space, "fft") and "fft" not in space.__all__
        later |= {name for name in FUNCTIONS if name.startswith("fft.")}
    for name in FUNCTIONS:
        assert has(space, name) == (name not in later), name
    assert set(space.__all__) <= set(dir(space)) | set(refarray.__all__)
    assert all(hasattr(space, name) for name in space.__all__)


@run_each("version", VERSIONS)
def test_a_version_is_one_object_with_the_same_arrays(version: str) -> None:
    space = namespace(version)
    assert namespace(version) is space
    assert (space is refarray) == (version == "2025.12")
    assert space.Array is refarray.Array and space.float32 is refarray.float32
    assert space.add is refarray.add
    assert version in repr(space) or space is refarray


@run_each("version", VERSIONS)
@pytest.mark.parametrize("name", ["meshgrid", "broadcast_arrays"])
def test_results_were_lists(version: str, name: str) -> None:
    made = getattr(namespace(version), name)(refarray.zeros(2), refarray.ones(2))
    assert type(made) is (tuple if version == "2025.12" else list)
    assert len(made) == 2 and all(isinstance(each, refarray.Array) for each in made)


@pytest.mark.parametrize("version", VERSIONS[2:])
def test_devices_were_a_list(version: str) -> None:
    info = namespace(version).__array_namespace_info__()
    assert type(info.devices()) is (tuple if version == "2025.12" else list)
    assert list(info.devices()) == [refarray.Device("cpu")]
    assert info.dtypes(kind="bool") == {"bool": refarray.bool}


@pytest.mark.parametrize("name", ["sum", "prod", "trace"])
@run_each("version", VERSIONS)
@run_each(
    ("dtype", "widened"),
    [
        ("float32", "float64"),
        ("float64", "float64"),
        ("complex64", "complex128"),
        ("int8", "int64"),
        ("uint8", "uint64"),
    ],
)
def test_sums_had_the_default_dtype(version: str, name: str, dtype: str, widened: str) -> None:
    space = namespace(version)
    function = getattr(space.linalg if name == "trace" else space, name)
    x = refarray.ones((2, 2), dtype=dtype)
    keeps = version >= "2023.12" and "int" not in dtype
    assert function(x).dtype.name == (dtype if keeps else widened)
    assert function(x, dtype=x.dtype).dtype.name == dtype
    if name != "trace":
        assert function(x, axis=0, keepdims=True).shape == (1, 2)


def test_errors_are_those_of_the_function() -> None:
    space = namespace("2022.12")
    for wrong in (None, 1, "x"):
        with pytest.raises(TypeError, match=r"sum\(\)"):
            space.sum(wrong)
