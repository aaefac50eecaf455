"""The rows of the functions: their names, versions and categories are the standard's, and what
tools/rows makes of them."""

from __future__ import annotations

import importlib
import inspect
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers.processes import python
from oracles.direct_sums import NAMES
from oracles.functions import BINARY, UNARY

import refarray
from refarray import linalg

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "rows"
TABLE = ROOT / "tests/package/array_api_signatures.toml"
STANDARD = tomllib.loads(TABLE.read_text(encoding="utf-8"))["functions"]
#: Functions that are younger than version 2021.12.
LATER = {
    "2022.12": "conj fft.fft fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifftn"
    " fft.ifftshift fft.ihfft fft.irfft fft.irfftn fft.rfft fft.rfftfreq fft.rfftn imag isdtype"
    " real take",
    "2023.12": "__array_namespace_info__ clip copysign cumulative_sum hypot maximum minimum"
    " moveaxis repeat searchsorted signbit tile unstack",
    "2024.12": "count_nonzero cumulative_prod diff nextafter reciprocal take_along_axis",
    "2025.12": "broadcast_shapes isin linalg.eig linalg.eigvals",
}
CATEGORIES = {
    "creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid"
    " ones ones_like tril triu zeros zeros_like",
    "data type": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": " ".join((*UNARY, *BINARY, "clip")),
    "Fourier transform": " ".join(f"fft.{name}" for name in NAMES),
    "indexing": "take take_along_axis",
    "linear algebra": " ".join(
        ["matmul matrix_transpose tensordot vecdot", *(f"linalg.{each}" for each in linalg.__all__)]
    ),
    "inspection": "__array_namespace_info__",
    "manipulation": "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip"
    " moveaxis permute_dims repeat reshape roll squeeze stack tile unstack",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "set": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistical": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility": "all any diff",
}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(TOOL))
    names = ("rows", "stubs")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    found = {name: importlib.import_module(name) for name in names}
    for name in names:
        monkeypatch.delitem(sys.modules, name)
    return found


def test_rows_are_the_standards_functions(tool: dict[str, ModuleType]) -> None:
    rows = tool["rows"].rows()
    assert {row.full_name for row in rows} == set(STANDARD)
    later = {name: since for since, names in LATER.items() for name in names.split()}
    assert {row.full_name: row.since for row in rows if row.since != "2021.12"} == later
    categories = {name: each for each, names in CATEGORIES.items() for name in names.split()}
    assert {row.full_name: row.category for row in rows} == categories


def test_stubs_and_page_are_up_to_date_and_every_row_has_a_model() -> None:
    done = python(TOOL, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{len(STANDARD)} rows, 0 errors\n"


def invented(tool: dict[str, ModuleType], parameters: str = "x, /, *, axis=None") -> Any:
    """A row of a function that does not exist."""

    names: dict[str, Any] = {}
    exec(f"def invent({parameters}): ...", names)
    function = names["invent"]
    function.__doc__ = (
        "The invented number. It has a second sentence.\n\nA paragraph.\n\n"
        "Array API standard, set functions, since 2025.12."
    )
    return tool["rows"].row_of("", "invent", function)._replace(is_native=True)


def test_a_row_without_a_model_is_an_error(tool: dict[str, ModuleType]) -> None:
    row = invented(tool)
    models = {"sort": None}
    wrong = list(tool["rows"].untested([row], models))
    assert wrong == [
        "invent() has a row, but no model in tests/compute/properties/models",
        "sort() has a model in tests/compute/properties/models, but no row",
    ]
    assert not list(tool["rows"].untested([row], {"invent": None}))


def test_what_is_made_of_a_row(tool: dict[str, ModuleType]) -> None:
    row = invented(tool)
    assert row.signature == "invent(x, /, *, axis=None)"
    assert row.summary == "The invented number."
    assert "def invent(x: Array, /, *, axis: SupportsIndex | None = None) -> Array: ...\n" in tool[
        "stubs"
    ].text([row])
    assert "| `invent(x, /, *, axis=None)` | 2025.12 | The invented number. |" in tool["rows"].page(
        [row]
    )
    with pytest.raises(SystemExit, match="has no type for 'unheard'"):
        tool["stubs"].text([invented(tool, "unheard")])


def test_functions_of_refarray_alone_have_no_row(tool: dict[str, ModuleType]) -> None:
    own = {"copy", "to_device", "from_buffer", "to_capsule", "set_copy_threads"}
    assert all(tool["rows"].row_of("", name, getattr(refarray, name)) is None for name in own)
    assert inspect.isbuiltin(refarray.copy)
