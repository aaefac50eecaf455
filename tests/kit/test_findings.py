"""The register of confirmed deviations, the data of the last run, and the page agree."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from refarray.conformance.repros import script
from refarray.conformance.requirements import Role, requirements

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "findings"))

import findings  # noqa: E402
import findings_page  # noqa: E402

SIGNALS = {"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"}


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(findings.DATA.read_text(encoding="utf-8"))
    return kept


@pytest.fixture(scope="module")
def register() -> dict[str, Any]:
    return findings.register()


def test_the_register_is_well_formed(register: dict[str, Any]) -> None:
    assert set(register) <= {library.name for library in findings.LIBRARIES}
    for entry in register.values():
        assert set(entry) <= {"confirmed", "dismissed"}
        for each in {**entry.get("confirmed", {}), **entry.get("dismissed", {})}:
            name, role, case = each.split(" ", 2)
            assert name in requirements() and role in set(Role) and case
        assert set(entry.get("confirmed", {}).values()) <= findings.DEVIATIONS
        assert all(len(reason) > 15 for reason in entry.get("dismissed", {}).values())


def test_register_and_data_agree(data: dict[str, Any], register: dict[str, Any]) -> None:
    assert findings.compared(data, register) == []


def test_every_library_was_checked(data: dict[str, Any], register: dict[str, Any]) -> None:
    names = [library["name"] for library in data["libraries"]]
    assert names == [library.name for library in findings.LIBRARIES]
    assert all(library["version"] and library["date"] for library in data["libraries"])
    assert sum(len(entry.get("confirmed", {})) for entry in register.values()) >= 100


def test_each_repro_was_run_again(data: dict[str, Any], register: dict[str, Any]) -> None:
    """Repros of crashes die of a signal again; no repro fails because its own code is wrong."""
    for library in data["libraries"]:
        for found in findings_page.confirmed(library, register):
            where = f"{library['name']} {findings.key(found)}: {found['again']}"
            assert found["repro"] and found["again"], where
            if findings.stands_alone(found):
                assert found["again"].startswith("expected: "), where
                assert len(found["repro"].splitlines()) <= script.LONGEST, where
            elif found["outcome"] == "crash":
                assert found["again"].partition(",")[0] in SIGNALS, where
            assert not found["again"].startswith(("NameError", "SyntaxError", "ImportError")), where


def test_the_page_is_up_to_date(data: dict[str, Any], register: dict[str, Any]) -> None:
    assert findings_page.PAGE.read_text(encoding="utf-8") == findings_page.text(data, register)


def test_subjects_of_one_library_are_counted_as_one(data: dict[str, Any]) -> None:
    names = [library["name"] for library in data["libraries"]]
    assert len(names) - len(set(map(findings_page.distribution, names))) == 2
    assert findings_page.distribution("pyarrow_tensor") == findings_page.distribution("pyarrow")


def test_no_deviation_of_a_library_is_counted_twice(
    data: dict[str, Any], register: dict[str, Any]
) -> None:
    counted = [
        (findings_page.distribution(library["name"]), requirement_id)
        for library in data["libraries"]
        for requirement_id in findings_page.once(findings_page.confirmed(library, register))
    ]
    assert len(counted) == len(set(counted))


def test_text_in_a_table_is_not_markdown() -> None:
    assert findings_page.cell("__dlpack__(**{}) | `a<b`") == (
        r"\_\_dlpack\_\_(\*\*{}) \| \`a&lt;b\`"
    )


def test_new_missing_and_changed_findings_are_reported(
    data: dict[str, Any], register: dict[str, Any]
) -> None:
    changed = copy.deepcopy(data)
    library = changed["libraries"][0]
    first, second = library["deviations"][:2]
    missing = library["deviations"].pop()
    library["deviations"].append({**first, "case": "new"})
    second["outcome"] = "hang"
    text = "\n".join(findings.compared(changed, register))
    assert "not confirmed" in text and f"missing: {findings.key(missing)}" in text
    assert f"{findings.key(second)} was " in text and ", now hang" in text


def test_an_entry_in_both_lists_is_reported(data: dict[str, Any], register: dict[str, Any]) -> None:
    both = copy.deepcopy(register)
    name = data["libraries"][0]["name"]
    each = next(iter(both[name]["confirmed"]))
    both[name].setdefault("dismissed", {})[each] = "as well"
    assert any("both confirmed and dismissed" in line for line in findings.compared(data, both))
