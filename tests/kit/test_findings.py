"""The register of confirmed deviations and the summaries of the last runs agree."""

from __future__ import annotations

import copy
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from refarray.conformance.requirements import Role, requirements

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "findings"))

import findings  # noqa: E402
import findings_page  # noqa: E402

pytestmark = pytest.mark.not_repeated


@pytest.fixture(scope="module")
def libraries() -> list[dict[str, Any]]:
    return findings_page.stored(findings_page.SUMMARIES)


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


def test_register_and_summaries_agree(
    libraries: list[dict[str, Any]], register: dict[str, Any]
) -> None:
    assert findings.compared(libraries, register) == []


def test_every_library_was_checked(
    libraries: list[dict[str, Any]], register: dict[str, Any]
) -> None:
    names = {library["name"] for library in libraries}
    assert names == {library.name for library in findings.LIBRARIES} == set(register)
    assert all(library["version"] and library["date"] for library in libraries)
    assert sum(len(entry.get("confirmed", {})) for entry in register.values()) >= 100


@pytest.mark.repository
def test_every_library_has_a_page_of_the_manual(libraries: list[dict[str, Any]]) -> None:
    for library in libraries:
        name = library["name"]
        page = ROOT / "docs" / "findings" / f"{name}.md"
        assert f"<!-- rendered: findings {name} -->" in page.read_text(encoding="utf-8")
        assert f"](findings/{name}.md)" in findings_page.rendered()
        shown = findings_page.rendered(name)
        assert shown.startswith(f"{name} {library['version']}")
        confirmed = findings_page.confirmed(library, findings.register())
        assert all(each["case"] in shown for each in confirmed)


def test_summaries_are_short_and_name_their_raw_results() -> None:
    for path in findings_page.SUMMARIES.glob("*.toml"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 60, path
        tables = ("matrix", "oldest_python")
        assert path.stem in tables or re.search(r'^raw = "[0-9a-f]{40}"$', text, re.MULTILINE)


RUN = {
    "id": "TENS-03",
    "role": "producer",
    "case": "empty",
    "outcome": "warn",
    "level": "SHOULD",
    "expected": "data is NULL where there are no elements",
    "observed": "data 0x1",
    "repro": "import numpy\nsys.exit(wrong)",
    "harm": "",
    "same_as": "",
    "inherited": "",
    "again": "expected: data is NULL where there are no elements; saw: data is 0x2",
}


def test_a_run_becomes_a_summary_and_the_summary_the_page() -> None:
    facts = {"name": "numpy", "version": "1", "newest": "2", "date": "2026-01-02", "python": "3"}
    facts["refarray"] = "0"
    cases = [RUN, {**RUN, "case": "empty2"}, {**RUN, "id": "TENS-01", "case": "offset8"}]
    cases[2] |= {"role": "consumer", "level": "MUST", "outcome": "crash", "harm": "crash"}
    further = {**RUN, "case": "empty3", "same_as": "TENS-03[producer-empty]"}
    run = {**facts, "counts": {"pass": 3}, "deviations": [*cases, further]}
    kept = findings_page.summary(run, "f" * 40)
    assert kept["warn"] == {
        "TENS-03 producer empty, empty2": {"observed": "data 0x1", "again": "saw: data is 0x2"}
    }
    back = list(findings_page.deviations(kept))
    assert [findings.key(each) for each in back] == [findings.key(cases[i]) for i in (2, 0, 1)]
    known = {"numpy": {"confirmed": {findings.key(each): each["outcome"] for each in cases}}}
    library = {**kept, "deviations": back}
    old = {"numpy": {"version": "0.9", "MUST": 1, "SHOULD": 0, "hazards": 2}}
    text = findings_page.page([library], known, ["| matrix |"], old)
    assert "**1 deviations from a MUST and 1 from a SHOULD**" in text and "| matrix |" in text
    row = "[numpy](findings/numpy.md) | 1, not 2 | 2026-01-02 | 1 | 1 | 0 | 3 |"
    assert f"{row} 0.9: 1 MUST, 0 SHOULD, 2 hazards |" in text
    line = "| warn | TENS-03 SHOULD | producer: empty2 | data is NULL where there are no elements |"
    shown = "\n".join(findings_page.section(library, findings_page.confirmed(library, known)))
    assert "**Broken: 1 MUST, 1 SHOULD; hazards: 0.** 3 cases passed." in shown
    assert f"{line} data 0x1 | saw: data is 0x2 |" in shown
    assert f"[The scripts that were run]({findings_page.SCRIPTS}/numpy.md)" in shown
    assert "```python\nimport numpy\nsys.exit(wrong)\n```" in findings_page.scripts(run)


@pytest.mark.parametrize(
    ("changed", "shows"),
    [
        ({}, True),
        ({"again": "as expected"}, False),
        ({"repro": "sys.exit(wrong)" + "\n" * 30}, False),
        ({"outcome": "crash", "repro": "print(1)", "again": "SIGSEGV, as reported"}, True),
        ({"outcome": "crash", "repro": "print(1)", "again": "1"}, False),
        ({"repro": "print(1)", "again": "1"}, True),
        ({"repro": "print(x)", "again": "NameError: x"}, False),
        ({"repro": "print(x)", "again": "DynamicLibNotFoundError: cuda"}, False),
        ({"repro": "print(x)", "again": "ValueError: refused"}, True),
        ({"repro": "", "again": ""}, False),
    ],
)
def test_a_repro_that_does_not_show_its_finding_is_reported(
    changed: dict[str, str], shows: bool
) -> None:
    library = {"name": "numpy", "deviations": [{**RUN, **changed}]}
    assert (findings.unshown(library) == []) == shows


def test_subjects_of_one_library_are_counted_as_one(libraries: list[dict[str, Any]]) -> None:
    names = [library["name"] for library in libraries]
    assert len(names) - len(set(map(findings_page.distribution, names))) == 2
    assert findings_page.distribution("pyarrow_tensor") == findings_page.distribution("pyarrow")


def test_no_deviation_of_a_library_is_counted_twice(
    libraries: list[dict[str, Any]], register: dict[str, Any]
) -> None:
    counted = [
        (findings_page.distribution(library["name"]), requirement_id)
        for library in libraries
        for requirement_id in findings_page.once(findings_page.confirmed(library, register))
    ]
    assert len(counted) == len(set(counted))


def test_text_in_a_table_is_not_markdown() -> None:
    assert findings_page.cell("__dlpack__(**{}) | `a<b`") == (
        r"\_\_dlpack\_\_(\*\*{}) \| \`a&lt;b\`"
    )


def test_new_missing_and_changed_findings_are_reported(
    libraries: list[dict[str, Any]], register: dict[str, Any]
) -> None:
    changed = copy.deepcopy(libraries)
    library = next(each for each in changed if len(each["deviations"]) > 5)
    first, second = library["deviations"][:2]
    missing = library["deviations"].pop()
    library["deviations"].append({**first, "case": "new"})
    second["outcome"] = "hang"
    text = "\n".join(findings.compared(changed, register))
    assert "not confirmed" in text and f"missing: {findings.key(missing)}" in text
    assert f"{findings.key(second)} was " in text and ", now hang" in text


def test_an_entry_in_both_lists_is_reported(
    libraries: list[dict[str, Any]], register: dict[str, Any]
) -> None:
    both = copy.deepcopy(register)
    name = libraries[0]["name"]
    each = next(iter(both[name]["confirmed"]))
    both[name].setdefault("dismissed", {})[each] = "as well"
    found = findings.compared(libraries, both)
    assert any("both confirmed and dismissed" in line for line in found)
