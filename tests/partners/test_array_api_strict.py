"""array-api-strict, the reference namespace over NumPy: as producer and consumer, and the same
expressions in it and in strict namespaces."""

from __future__ import annotations

import inspect
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
from helpers.cases import run_each
from helpers.processes import python
from modes import expressions

import refarray as ra

from . import grid, limits
from .grid import expected, values

pytestmark = pytest.mark.array_api_strict

HELD = [name for name in grid.DTYPES if name != "float16"]
KEYWORDS = ({}, {"max_version": grid.MAX_VERSION}, {"max_version": (0, 8)}, {"copy": False})


def theirs(xp: ModuleType, dtype: str, layout: str = "flat") -> Any:
    return grid.LAYOUTS[layout].build(xp, xp.asarray(values(dtype), dtype=getattr(xp, dtype)))


def listed(array: Any) -> Any:
    return array._array.tolist()


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", grid.DTYPES)
def test_the_strict_namespace_reads_ours(
    array_api_strict: ModuleType, dtype: str, layout: str
) -> None:
    source = grid.ours(dtype, layout)
    facets = (f"dtype:{dtype}",)
    for take in (array_api_strict.from_dlpack, array_api_strict.asarray):
        result = limits.attempt("array_api_strict", "to", facets, lambda: take(source))  # noqa: B023
        if result is None:
            continue
        assert result.dtype == getattr(array_api_strict, dtype)
        assert result.shape == source.shape
        assert listed(result) == expected(dtype, layout)
    if result is not None and source.size:
        assert array_api_strict.from_dlpack(source)._array.ctypes.data == grid.address(source)


@run_each("dtype", grid.NARROW)
def test_narrow_dtypes_are_refused_by_numpy(array_api_strict: ModuleType, dtype: str) -> None:
    source = grid.ours(dtype)
    take = array_api_strict.from_dlpack
    assert limits.attempt("numpy", "to", (f"dtype:{dtype}",), lambda: take(source)) is None


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", HELD)
def test_we_read_the_strict_namespace(
    array_api_strict: ModuleType, dtype: str, layout: str
) -> None:
    origin = theirs(array_api_strict, dtype, layout)
    for keywords in KEYWORDS:
        if not origin._array.flags.writeable and keywords.get("max_version") == (0, 8):
            continue  # NumPy's error, which test_numpy.py covers
        result = ra.from_dlpack(origin, **keywords)
        grid.check_import(result, dtype, layout, origin._array.ctypes.data)
        assert result.readonly is not origin._array.flags.writeable


def test_copies_and_aliases(array_api_strict: ModuleType) -> None:
    source, origin = grid.ours("float64"), theirs(array_api_strict, "float64")
    grid.assert_independent(
        source, array_api_strict.from_dlpack(source, copy=True)._array, "float64"
    )
    grid.assert_writes_seen(
        source, array_api_strict.from_dlpack(source, copy=False)._array, "float64"
    )
    grid.assert_independent(origin._array, ra.from_dlpack(origin, copy=True), "float64")
    grid.assert_writes_seen(origin._array, ra.from_dlpack(origin, copy=False), "float64")


def test_read_only_round_trips(array_api_strict: ModuleType) -> None:
    result = array_api_strict.from_dlpack(grid.ours("float32").as_readonly())
    assert not result._array.flags.writeable
    back = ra.from_dlpack(result)
    assert back.readonly
    assert grid.info(back)["flags"] & 1


@pytest.mark.quirk("array-api-strict-device-is-a-label")
def test_simulated_devices_are_all_the_cpu(array_api_strict: ModuleType) -> None:
    device = array_api_strict.Device("device1")
    origin = array_api_strict.asarray([1.0], device=device)
    assert origin.__dlpack_device__() == (1, 0)
    assert ra.from_dlpack(origin).device == ra.Device("cpu")
    taken = array_api_strict.from_dlpack(grid.ours("float32"), device=device)
    assert taken.device == device


@pytest.mark.quirk("array-api-strict-old-revision")
def test_an_old_revision_refuses_the_new_keywords(array_api_strict: ModuleType) -> None:
    origin = theirs(array_api_strict, "float32")
    with array_api_strict.ArrayAPIStrictFlags(api_version="2022.12"):
        with pytest.raises(ValueError, match="max_version"):
            ra.from_dlpack(origin)
        assert ra.from_capsule(origin.__dlpack__()).tolist() == values("float32")


def test_lifetimes(array_api_strict: ModuleType) -> None:
    theirs_now = array_api_strict.from_dlpack(grid.ours("int64"))
    ours_now = ra.from_dlpack(theirs(array_api_strict, "int64"))
    grid.check_outlives(lambda: listed(theirs_now))
    grid.check_outlives(ours_now.tolist)


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


# --- the same expressions in strict namespaces: each raises in both, or gives equal values in both;
# what differs is listed with its reason


MODES = Path(__file__).parents[1] / "compute" / "modes"
SCIPY_CALLS = MODES / "scipy_calls.py"
LISTED = tomllib.loads((MODES / "differences.toml").read_text(encoding="utf-8"))["difference"]
OUR_NAMES = expressions.variables(ra.namespace(strict=True))
Names = dict[str, Any]


@pytest.fixture(scope="module")
def their_names(array_api_strict: ModuleType) -> Names:
    return expressions.variables(array_api_strict)


#: Pages of the standard, and issues: what explains a difference.
LINK = re.compile(
    r"https://(data-apis\.org/array-api/(latest|\d{4}\.12)/[\w/.]+\.html(#[\w-]+)?"
    r"|github\.com/data-apis/[\w-]+/(issues|pull)/\d+)"
)


def differences(
    part: Callable[[], Iterator[str]], their_names: Names
) -> Iterator[tuple[str, Any, Any]]:
    for text in part():
        a, b = expressions.value(text, OUR_NAMES), expressions.value(text, their_names)
        raised = isinstance(a, Exception), isinstance(b, Exception)
        if raised != (True, True) and (any(raised) or not are_equal(a, b)):
            yield text, a, b


def are_equal(a: Any, b: Any) -> bool:
    if hasattr(a, "__array_namespace__"):
        same = last_word(a.dtype) == last_word(b.dtype) and a.shape == b.shape
        return same and numpy.allclose(
            numpy.asarray(a), numpy.asarray(b), rtol=1e-4, atol=1e-5, equal_nan=True
        )
    if isinstance(a, tuple | list):
        same = isinstance(b, tuple | list) and len(a) == len(b)
        return same and all(map(are_equal, a, b))
    if isinstance(a, float):
        return isinstance(b, float) and (math.isclose(a, b, rel_tol=1e-6) or a != a != b != b)
    if isinstance(a, bool | int | complex | str | None):
        return type(a) is type(b) and a == b
    return last_word(a) == last_word(b) or type(a).__name__ == type(b).__name__


def last_word(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def raising(a: Any, b: Any) -> str | None:
    """The side that raises; None if both values are there."""
    if isinstance(a, Exception):
        return "refarray"
    return "array-api-strict" if isinstance(b, Exception) else None


def explains(row: dict[str, Any], text: str, side: str | None) -> bool:
    return row["raises"] == side and any(re.fullmatch(each, text) for each in row["matches"])


@pytest.mark.parametrize("part", expressions.PARTS, ids=lambda part: part.__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_difference_is_listed(part: Callable[[], Iterator[str]], their_names: Names) -> None:
    for text, a, b in differences(part, their_names):
        side = raising(a, b)
        is_listed = any(explains(row, text, side) for row in LISTED)
        assert is_listed, f"{text}: {a!r}, array-api-strict: {b!r}"


@pytest.mark.filterwarnings("ignore")
def test_every_listed_difference_exists(their_names: Names) -> None:
    found = [each for part in expressions.PARTS for each in differences(part, their_names)]
    for row in LISTED:
        for pattern in row["matches"]:
            only = {**row, "matches": [pattern]}
            assert any(explains(only, text, raising(a, b)) for text, a, b in found), pattern


@run_each("row", LISTED, ids=lambda row: row["matches"][0])
def test_a_listed_difference_has_a_reason(row: dict[str, Any]) -> None:
    assert set(row) == {"raises", "matches", "reason", "says", "link"}
    assert row["raises"] in ("refarray", "array-api-strict")
    assert LINK.fullmatch(row["link"]), row["link"]
    assert len(row["reason"]) > 10 and len(row["says"]) > 8


def test_the_expressions_are_not_all_errors() -> None:
    for part in expressions.PARTS:
        values = [expressions.value(text, OUR_NAMES) for text in part()]
        worked = sum(not isinstance(each, Exception) for each in values)
        assert worked > 100 and worked < len(values), part.__name__


@pytest.mark.filterwarnings("ignore")
def test_the_flags_are_those_of_array_api_strict(
    array_api_strict: ModuleType, their_names: Names
) -> None:
    """What their flags refuse beyond strictness, these modes refuse too, and nothing else."""
    for flag in ("boolean_indexing", "data_dependent_shapes"):
        names = expressions.variables(ra.namespace(strict=True, **{flag: False}))
        open_names = expressions.variables(ra.namespace(strict=True))
        refused = 0
        for part in (expressions.reductions, expressions.indexing, expressions.manipulation):
            for text in part():
                if isinstance(expressions.value(text, open_names), Exception):
                    continue
                mine = expressions.value(text, names)
                with array_api_strict.ArrayAPIStrictFlags(**{flag: False}):
                    expected = expressions.value(text, their_names)
                assert isinstance(mine, RuntimeError) == isinstance(expected, RuntimeError), text
                refused += isinstance(mine, NotImplementedError)
        assert refused > (60 if flag == "data_dependent_shapes" else 4)


def test_scipy_works_with_strict_arrays() -> None:
    """Its functions return some too, with the same values."""
    done = python(SCIPY_CALLS, seconds=300, SCIPY_ARRAY_API=1)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"calls": 33, "differences": {}}
