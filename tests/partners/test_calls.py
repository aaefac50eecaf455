"""Which call to use in which library: rows and record agree, and the harness can tell
outcomes apart. The calls themselves run in `make test-partners`."""

from __future__ import annotations

import copy
import importlib
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.numpy, pytest.mark.ml_dtypes]
TOOLS = [str(ROOT / "tools" / name) for name in ("gates/partners", "docs")]
FLOAT32 = {"shape": [3, 4], "dtype": "float32"}


@pytest.fixture(scope="module")
def gate() -> Iterator[Any]:
    """tools/gates/partners/partner_calls.py."""
    sys.path[:0] = TOOLS
    try:
        yield importlib.import_module("partner_calls")
    finally:
        del sys.path[: len(TOOLS)]


@pytest.fixture(scope="module")
def recorded(gate: Any) -> Any:
    return gate.calls_page.record()["libraries"]


def test_the_page_shows_every_row(gate: Any) -> None:
    page = gate.calls_page
    rows = [row for each in page.rows().values() for _, row in page.calls_of(each)]
    lines = [line for line in page.rendered("tables").splitlines() if line.startswith("|")]
    assert len(lines) == len(rows) + 2 * len(page.groups())
    assert f" libraries, {len(rows)} calls: " in page.rendered("counts")


def test_a_record_is_read_as_it_was_written(gate: Any, tmp_path: Path) -> None:
    page = gate.calls_page
    page.save(page.record(), tmp_path)
    assert page.record(tmp_path) == page.record()


def test_the_record_has_what_the_rows_say(gate: Any, recorded: Any) -> None:
    rows = gate.calls_page.rows()
    assert list(recorded) == list(rows)
    for name, library in rows.items():
        assert list(gate.calls_page.disagreements(library, recorded[name]["calls"])) == []


def test_the_record_was_made_with_the_required_versions(gate: Any, recorded: Any) -> None:
    for name, library in gate.calls_page.rows().items():
        requires = library.get("requires", [])
        for own in requires[:1]:
            assert recorded[name]["version"].partition("+")[0] == own.partition("==")[2], name
        assert all("==" in each for each in requires), name


def test_fifty_libraries_in_both_directions(gate: Any) -> None:
    rows = gate.calls_page.rows().values()
    both = {
        row["requires"][0]
        for row in rows
        if row.get("to") and row.get("from") and "requires" in row
    }
    assert len(both) >= 50


def test_every_row_has_an_outcome_and_a_reason(gate: Any) -> None:
    for library in gate.calls_page.rows().values():
        for _, row in gate.calls_page.calls_of(library):
            assert row["outcome"] in {"zero-copy", "copy", "refuses", "wrong"}
            assert row["reason"].endswith(".") and row["reason"].strip() == row["reason"]
            assert set(row.get("wrong", {})) or row["outcome"] != "wrong"


def test_a_changed_outcome_is_reported(gate: Any, recorded: Any) -> None:
    before = recorded["numpy"]
    assert list(gate.changes(before, before)) == []
    now = copy.deepcopy(before)
    now["calls"][0]["kinds"]["reversed"] = "copy"
    assert [line.partition(", recorded")[0] for line in gate.changes(now, before)] == [
        "to, np.asarray(x): reversed: copy"
    ]
    now = copy.deepcopy(before)
    now["version"] = "0"
    del now["calls"][0]
    assert len(list(gate.changes(now, before))) == 2
    assert list(gate.changes(now, None)) == ["is not recorded"]


def test_every_entry_equals_itself(gate: Any, recorded: Any) -> None:
    """Some libraries have two rows with the same call."""
    for entry in recorded.values():
        assert list(gate.changes(copy.deepcopy(entry), entry)) == []


def test_an_undeclared_hazard_is_reported(gate: Any, recorded: Any) -> None:
    library = gate.calls_page.rows()["torch"]
    declared = copy.deepcopy(library)
    del declared["to"][0]["wrong"]["reversed"]
    found = list(gate.calls_page.disagreements(declared, recorded["torch"]["calls"]))
    assert found == ["to, torch.from_dlpack(x): reversed: crash SIGABRT"]
    declared = copy.deepcopy(library)
    declared["to"][0]["wrong"]["sliced"] = "no"
    found = list(gate.calls_page.disagreements(declared, recorded["torch"]["calls"]))
    assert found == ["to, torch.from_dlpack(x): sliced is recorded as wrong, but zero-copy"]


def toml(library: dict[str, Any]) -> str:
    """One library as TOML; JSON's strings, numbers and lists are TOML's."""
    text = "[planted]\n"
    tables = {key: rows for key, rows in library.items() if key in ("to", "from")}
    text += "".join(f"{k} = {json.dumps(v)}\n" for k, v in library.items() if k not in tables)
    for key, rows in tables.items():
        for row in rows:
            text += f"[[planted.{key}]]\n"
            text += "".join(f"{k} = {json.dumps(v)}\n" for k, v in row.items())
    return text


PLANTED = {
    "setup": """
import ctypes, os
def writable(x, dtype='f4'):
    memory = (ctypes.c_ubyte * x.nbytes).from_address(ra.inspect(x).data)
    memory.owner = x
    return np.ndarray(x.shape, dtype, memory)
""",
    **FLOAT32,
    "to": [
        {"call": "np.asarray(x)", "write": "y[...] = 0"},
        {"call": "np.array(x)"},
        {"call": "np.asarray(x)[::-1]"},
        {"call": "np.asarray(x).astype('float64')"},
        {"call": "1 / 0"},
        {"call": "np.add(a, 1, out=np.asarray(x))", "into": True, "expect": "a + 1"},
        {"call": "np.array(x).fill(0)", "into": True},
        {"call": "os.abort() if x.readonly else np.array(x)"},
        # An address keeps nothing alive.
        {"call": "np.ctypeslib.as_array(ctypes.cast(ra.inspect(x).data,"
                 " ctypes.POINTER(ctypes.c_float)), x.shape)"},
        {"call": "writable(x)", "write": "y[...] = 0"},
    ],
    "from": [
        {"make": "a", "call": "ra.asarray(y)"},
        {"make": "a", "call": "ra.asarray(y, copy=True)"},
        {"make": "a", "call": "ra.flip(ra.asarray(y))"},
        {"make": "a", "call": "ra.asarray(object())"},
        {"make": "1 / 0", "call": "ra.asarray(y)"},
        {"make": "a.tobytes()", "read": "np.frombuffer(y, 'f4').reshape(3, 4)",
         "call": "ra.reshape(ra.from_buffer(y, dtype='float32'), (3, 4))"},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def planted(gate: Any, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What the harness observes of calls with known outcomes, in their order."""
    folder = tmp_path_factory.mktemp("planted")
    file = folder / "planted.toml"
    file.write_text(toml(PLANTED), encoding="utf-8")
    found = gate.observe(sys.executable, file, "planted", folder / "results.jsonl")
    entry = gate.outcomes(PLANTED, found)
    assert entry["version"] == platform.python_version()
    return [call["kinds"] for call in entry["calls"]]


@pytest.mark.parametrize(
    ("number", "kind", "expected"),
    [
        (0, "contiguous", "zero-copy"),
        (0, "sliced", "zero-copy"),
        (0, "read-only", "zero-copy"),
        (0, "empty", "empty"),
        (0, "bfloat16", "zero-copy"),
        (1, "contiguous", "copy"),
        (2, "contiguous", "wrong: values"),
        (2, "0-d", "refuses IndexError"),
        (3, "contiguous", "copy, as float64"),
        (4, "contiguous", "refuses ZeroDivisionError: division by zero"),
        (5, "contiguous", "zero-copy"),
        (5, "read-only", "refuses ValueError: output array is read-only"),
        (6, "contiguous", "copy"),
        (7, "contiguous", "copy"),
        (7, "read-only", "crash SIGABRT"),
        (7, "uint8", "copy"),
        (8, "contiguous", "wrong: the memory is freed before its user"),
        (9, "read-only", "zero-copy, writable"),
        (10, "contiguous", "zero-copy"),
        (10, "read-only", "zero-copy"),
        (11, "transposed", "copy"),
        (12, "contiguous", "wrong: values"),
        (13, "contiguous", "refuses TypeError"),
        (14, "contiguous", "none ZeroDivisionError: division by zero"),
        (15, "contiguous", "zero-copy, read-only"),
    ],
)  # fmt: skip
def test_the_harness_tells_outcomes_apart(
    planted: list[dict[str, str]], number: int, kind: str, expected: str
) -> None:
    found = planted[number][kind]
    assert found == expected or found.startswith(f"{expected}: ")


def test_a_row_whose_process_always_dies_is_an_error(gate: Any, tmp_path: Path) -> None:
    file = tmp_path / "planted.toml"
    file.write_text(toml({**PLANTED, "setup": "raise SystemExit(3)"}), encoding="utf-8")
    with pytest.raises(gate.Broken, match="exit status 3"):
        gate.observe(sys.executable, file, "planted", tmp_path / "results.jsonl")
