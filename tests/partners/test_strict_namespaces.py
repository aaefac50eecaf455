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
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
from modes import expressions

import refarray

pytestmark = pytest.mark.array_api_strict
SCIPY_CALLS = Path(__file__).parents[1] / "array_api" / "modes" / "scipy_calls.py"
OUR_NAMES = expressions.variables(refarray.namespace(strict=True))
Names = dict[str, Any]


@pytest.fixture(scope="module")
def their_names(array_api_strict: ModuleType) -> Names:
    return expressions.variables(array_api_strict)


#: array-api-strict gives a value, and a strict namespace raises.
STRICTER = {
    r"xp\.(less|greater|maximum|minimum)\w*\(.*2j.*\)|.* [<>]=? .*": (
        "the standard orders real-valued operands only; NumPy compares complex numbers by parts"
    ),
    r"xp\.(linalg\.)?(matmul|vecdot|tensordot|outer|cross|searchsorted)\(.*\)": (
        "integers and floats have no common dtype; NumPy promotes them"
    ),
    r"xp\.clip\([^,]+, (\w+), \1\)": "the standard leaves limits of another dtype open",
    r"xp\.(cumulative_sum|argsort)\(\w+s\)": "the standard needs one axis at least",
    r"xp\.(sum|prod)\(c64m, dtype=xp.float64\)": "the imaginary parts would be lost",
    r"xp\.full_like\(.*, 2\.5\)|xp\.full_like\(.*, 2j\)": "the dtype cannot hold the number",
    r"xp\.astype\(f64, xp.int8, copy=1\)": "copy is a bool",
    r"xp\.meshgrid\(f64m, f64\)": "the standard takes arrays of ndim 1",
    r"xp\.roll\(f64m, \(.*\)\)": "a tuple of shifts needs as many axes",
    r"xp\.permute_dims\(f64m, None\)": "axes is a tuple",
    r"xp\.linalg\.matrix_rank\([biu]\d+m\)": "the standard takes floating-point dtypes",
    r"xp\.flip\(\w+, axis=\[.*\]\)": "axis is an integer or a tuple",
    r"xp\.(expand_dims|roll|moveaxis)\(.*\[0\].*\)": "axis is an integer or a tuple",
}
#: array-api-strict raises, and a strict namespace gives a value.
MORE_OPEN = {
    r"xp\.astype\(c\d+, xp\.bool\)": (
        "the standard forbids complex to real-valued dtypes, to which bool does not belong"
    ),
    r"xp\.fft\.i?fftshift\(\w+s\)": "NumPy's error for ndim 0 is an accident of unpacking",
}


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


def reason(text: str, listed: dict[str, str]) -> str | None:
    return next((why for pattern, why in listed.items() if re.fullmatch(pattern, text)), None)


@pytest.mark.parametrize("part", expressions.PARTS, ids=lambda part: part.__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_difference_is_listed(part: Callable[[], Iterator[str]], their_names: Names) -> None:
    for text, a, b in differences(part, their_names):
        if isinstance(a, Exception):
            assert reason(text, STRICTER), f"{text}: {a!r}, array-api-strict: {b!r}"
        elif isinstance(b, Exception):
            assert reason(text, MORE_OPEN), f"{text}: {a!r}, array-api-strict: {b!r}"
        else:
            pytest.fail(f"{text}: {a!r}, array-api-strict: {b!r}")


@pytest.mark.filterwarnings("ignore")
def test_every_listed_difference_exists(their_names: Names) -> None:
    found = [each for part in expressions.PARTS for each in differences(part, their_names)]
    for listed, index in ((STRICTER, 1), (MORE_OPEN, 2)):
        for pattern in listed:
            assert any(
                isinstance(each[index], Exception) and re.fullmatch(pattern, each[0])
                for each in found
            ), pattern


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
