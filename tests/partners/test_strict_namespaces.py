"""Strict namespaces beside the released array-api-strict: the same expressions in both.

Each has to raise in both, or give equal values in both. What differs is listed with its reason.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
from helpers.cases import run_each
from modes import expressions

import refarray

pytestmark = pytest.mark.array_api_strict
MODES = Path(__file__).parents[1] / "compute" / "modes"
SCIPY_CALLS = MODES / "scipy_calls.py"
LISTED = tomllib.loads((MODES / "differences.toml").read_text(encoding="utf-8"))["difference"]
OUR_NAMES = expressions.variables(refarray.namespace(strict=True))
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
        names = expressions.variables(refarray.namespace(strict=True, **{flag: False}))
        open_names = expressions.variables(refarray.namespace(strict=True))
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
    done = subprocess.run(
        [sys.executable, str(SCIPY_CALLS)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"calls": 33, "differences": {}}
