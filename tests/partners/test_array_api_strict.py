"""array-api-strict, the reference namespace over NumPy, as producer and consumer."""

from __future__ import annotations

import gc
import inspect
import tomllib
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers.cases import run_each

import refarray as ra

from . import limits
from .grid import (
    DTYPES,
    LAYOUTS,
    MAX_VERSION,
    NARROW,
    address,
    assert_independent,
    assert_writes_seen,
    expected,
    info,
    ours,
    values,
)

pytestmark = pytest.mark.array_api_strict

HELD = [name for name in DTYPES if name != "float16"]
KEYWORDS = ({}, {"max_version": MAX_VERSION}, {"max_version": (0, 8)}, {"copy": False})


def theirs(xp: ModuleType, dtype: str, layout: str = "flat") -> Any:
    return LAYOUTS[layout].build(xp, xp.asarray(values(dtype), dtype=getattr(xp, dtype)))


def listed(array: Any) -> Any:
    return array._array.tolist()


@run_each("layout", LAYOUTS)
@run_each("dtype", DTYPES)
def test_the_strict_namespace_reads_ours(
    array_api_strict: ModuleType, dtype: str, layout: str
) -> None:
    source = ours(dtype, layout)
    facets = (f"dtype:{dtype}",)
    for take in (array_api_strict.from_dlpack, array_api_strict.asarray):
        result = limits.attempt("array_api_strict", "to", facets, lambda: take(source))  # noqa: B023
        if result is None:
            continue
        assert result.dtype == getattr(array_api_strict, dtype)
        assert result.shape == source.shape
        assert listed(result) == expected(dtype, layout)
    if result is not None and source.size:
        assert array_api_strict.from_dlpack(source)._array.ctypes.data == address(source)


@run_each("dtype", NARROW)
def test_narrow_dtypes_are_refused_by_numpy(array_api_strict: ModuleType, dtype: str) -> None:
    source = ours(dtype)
    take = array_api_strict.from_dlpack
    assert limits.attempt("numpy", "to", (f"dtype:{dtype}",), lambda: take(source)) is None


@run_each("layout", LAYOUTS)
@run_each("dtype", HELD)
def test_we_read_the_strict_namespace(
    array_api_strict: ModuleType, dtype: str, layout: str
) -> None:
    origin = theirs(array_api_strict, dtype, layout)
    for keywords in KEYWORDS:
        if not origin._array.flags.writeable and keywords.get("max_version") == (0, 8):
            continue  # NumPy's error, which test_numpy.py covers
        result = ra.from_dlpack(origin, **keywords)
        assert str(result.dtype) == dtype
        assert result.shape == origin.shape
        assert result.tolist() == expected(dtype, layout)
        assert result.readonly is not origin._array.flags.writeable
        if result.size:
            assert address(result) == origin._array.ctypes.data


def test_copies_and_aliases(array_api_strict: ModuleType) -> None:
    source, origin = ours("float64"), theirs(array_api_strict, "float64")
    assert_independent(source, array_api_strict.from_dlpack(source, copy=True)._array, "float64")
    assert_writes_seen(source, array_api_strict.from_dlpack(source, copy=False)._array, "float64")
    assert_independent(origin._array, ra.from_dlpack(origin, copy=True), "float64")
    assert_writes_seen(origin._array, ra.from_dlpack(origin, copy=False), "float64")


def test_read_only_round_trips(array_api_strict: ModuleType) -> None:
    result = array_api_strict.from_dlpack(ours("float32").as_readonly())
    assert not result._array.flags.writeable
    back = ra.from_dlpack(result)
    assert back.readonly
    assert info(back)["flags"] & 1


@pytest.mark.quirk("array-api-strict-device-is-a-label")
def test_simulated_devices_are_all_the_cpu(array_api_strict: ModuleType) -> None:
    device = array_api_strict.Device("device1")
    origin = array_api_strict.asarray([1.0], device=device)
    assert origin.__dlpack_device__() == (1, 0)
    assert ra.from_dlpack(origin).device == ra.Device("cpu")
    taken = array_api_strict.from_dlpack(ours("float32"), device=device)
    assert taken.device == device


@pytest.mark.quirk("array-api-strict-old-revision")
def test_an_old_revision_refuses_the_new_keywords(array_api_strict: ModuleType) -> None:
    origin = theirs(array_api_strict, "float32")
    with array_api_strict.ArrayAPIStrictFlags(api_version="2022.12"):
        with pytest.raises(ValueError, match="max_version"):
            ra.from_dlpack(origin)
        assert ra.from_capsule(origin.__dlpack__()).tolist() == values("float32")


def test_lifetimes(array_api_strict: ModuleType) -> None:
    theirs_now = array_api_strict.from_dlpack(ours("int64"))
    ours_now = ra.from_dlpack(theirs(array_api_strict, "int64"))
    gc.collect()
    scratch = [ra.zeros((24,), dtype="int64") for _ in range(64)]
    assert listed(theirs_now) == values("int64")
    assert ours_now.tolist() == values("int64")
    assert len(scratch) == 64


def kinds(function: Any) -> list[tuple[str, Any]]:
    """The names and kinds of the parameters after `self`."""
    found = inspect.signature(function).parameters.values()
    return [(each.name, each.kind) for each in found if each.name != "self"]


def test_our_table_of_the_standards_signatures(array_api_strict: ModuleType) -> None:
    """The table that tests/package generates from the stubs agrees with an independent reading."""
    table = Path(__file__).parents[1] / "package/array_api_signatures.toml"
    standard = tomllib.loads(table.read_text(encoding="utf-8"))
    assert len(standard["functions"]) > 130 and len(standard["methods"]) > 30
    for title, where in (
        ("functions", array_api_strict),
        ("methods", type(array_api_strict.zeros(1))),
    ):
        for name, text in standard[title].items():
            names: dict[str, Any] = {}
            exec(f"def f{text}: ...", names)
            if name != "to_device":  # its stream may be positional in array-api-strict 2.6
                assert kinds(attrgetter(name)(where)) == kinds(names["f"]), name
