"""The registry of requirements is complete and well-formed, and each requirement has a test or a
reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from helpers.cases import run_each
from helpers.processes import python
from helpers.requirements import (
    CASE,
    Explanations,
    collect_cpp,
    device_problems,
    problems,
    read_explanations,
)

import refarray
from refarray.commands import explain
from refarray.conformance import requirements as registry
from refarray.conformance.requirements import Quote
from refarray.conformance.suite import load

HERE = Path(__file__).resolve().parents[1]
SPEC = re.compile(r"DLPack \d\.\d\+|array API (?:20\d\d\.12\+|draft)|CPython 3\.\d+\+")


# --- the registry


def test_ids_are_numbered_without_gaps() -> None:
    """In the order of the families. An id is never removed, so a gap is a mistake."""
    found = registry.requirements()
    sizes = Counter(each.family for each in found.values())
    assert list(found) == [
        f"{family}-{number:02}"
        for family in registry.families()
        for number in range(1, sizes[family] + 1)
    ]
    assert all(registry.families().values()) and sizes.keys() == registry.families().keys()


@run_each("name", registry.requirements())
def test_a_requirement_is_well_formed(name: str) -> None:
    each = registry.requirement(name.lower())
    assert each.id == name and each is registry.requirements()[name]
    assert each.family in registry.families()
    assert isinstance(each.level, registry.Level)
    assert all(isinstance(role, registry.Role) for role in each.roles)
    assert each.roles == tuple(dict.fromkeys(each.roles)) != ()
    assert each.versions and all(SPEC.fullmatch(version) for version in each.versions)
    for text in (each.title, each.rationale):
        assert 10 < len(text) < 140 and text == text.strip() and not text.endswith(".")
    assert all(re.fullmatch(r"A-\d\d", policy) for policy in each.policy)
    assert (each.family == "CAPI") == (each.roles == ("exchange-api",))


def test_lines_of_the_header_are_in_it() -> None:
    """The links into dlpack.h point at lines that a header of 647 lines has, first to last."""
    for each in registry.requirements().values():
        if "/dlpack.h#L" in each.source:
            first, last = re.fullmatch(r".*#L(\d+)(?:-L(\d+))?", each.source).groups()
            assert 1 <= int(first) <= int(last or first) <= 647, each.id


def test_titles_are_distinct() -> None:
    titles = [each.title for each in registry.requirements().values()]
    assert len(set(titles)) == len(titles)


def test_the_registry_cannot_be_changed() -> None:
    each = registry.requirement("VERS-02")
    with pytest.raises(AttributeError):
        each.level = "MAY"  # type: ignore[misc]
    with pytest.raises(TypeError):
        registry.requirements()["VERS-02"] = each  # type: ignore[index]
    with pytest.raises(KeyError):
        registry.requirement("VERS-99")


GOOD = """
[sources]
page = { document = "A page", url = "https://example.org/page" }
[families]
ABI = "Layout"
[requirement.ABI-01]
title = "A title"
level = "MUST"
source = "page#L1"
quote = "A sentence."
versions = ["DLPack 1.0+"]
roles = ["producer"]
rationale = "A reason"
"""


def test_a_registry_is_parsed() -> None:
    families, found = registry.parse(GOOD)
    assert families == {"ABI": "Layout"}
    assert found["ABI-01"].source == "https://example.org/page#L1"
    assert (found["ABI-01"].gpu, found["ABI-01"].derived, found["ABI-01"].policy) == (
        False,
        False,
        (),
    )
    more = 'see = "issue:some/where#12"\nbeside = [{ source = "page#L2-L3", quote = "Another." }]\n'
    asked = registry.parse(GOOD + more)[1]["ABI-01"]
    assert asked.see == "https://github.com/some/where/issues/12"
    assert [(quote.text, quote.document, quote.link) for quote in asked.quotes] == [
        ("A sentence.", "A page", "https://example.org/page#L1"),
        ("Another.", "A page", "https://example.org/page#L2-L3"),
    ]


@run_each(
    ("old", "new", "words"),
    [
        ("ABI-01]", "ABI-1]", "ABI-1: an id is a family and two digits"),
        ("ABI-01]", "XYZ-01]", "XYZ-01: no family is called XYZ"),
        ('"MUST"', '"MUSTN\'T"', "ABI-01: no level is called"),
        ('"producer"', '"bystander"', "ABI-01: the roles are"),
        ('["producer"]', "[]", "ABI-01: the roles are"),
        ("page#L1", "book#L1", "ABI-01: 'book'"),
        ('quote = "A sentence."', "", "ABI-01: quotes no sentence"),
        ("title", "titel", "ABI-01: .*titel"),
        ('title = "A title"', "", "ABI-01: .*title"),
        ('source = "page#L1"', "", "ABI-01: 'source'"),
    ],
)
def test_a_wrong_registry_is_refused(old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(ValueError, match=words):
        registry.parse(GOOD.replace(old, new))


# --- tests of each requirement


@pytest.fixture(scope="module")
def report() -> subprocess.CompletedProcess[str]:
    """Collects every test of the repository."""
    return python(HERE / "helpers" / "requirements.py", "--markdown", seconds=600)


def test_every_requirement_is_shown_or_explained(
    report: subprocess.CompletedProcess[str],
) -> None:
    assert (report.returncode, report.stderr) == (0, ""), report.stdout + report.stderr
    count = len(registry.requirements())
    assert re.search(rf"^\| all \| +\| {count} ", report.stdout, re.MULTILINE), report.stdout


def test_the_table_of_the_manual_is_up_to_date(
    report: subprocess.CompletedProcess[str],
) -> None:
    page = (HERE.parent / "docs" / "requirements.md").read_text(encoding="utf-8")
    assert page.endswith(f"python tests/helpers/requirements.py --markdown -->\n{report.stdout}")


def test_policies_are_explained_in_the_manual() -> None:
    """Except those about devices that this build cannot reach."""
    page = (HERE.parent / "docs" / "exchange.md").read_text(encoding="utf-8")
    used = {policy for each in registry.requirements().values() for policy in each.policy}
    devices = {"A-12", "A-17", "A-44", "A-47"}
    assert used - set(re.findall(r"^\| (A-\d\d) \|", page, re.MULTILINE)) == devices


def test_reasons_about_devices_are_of_requirements_about_devices() -> None:
    explained = read_explanations(HERE / "kit" / "not_shown.toml")
    marked = {each.id for each in registry.requirements().values() if each.gpu}
    assert {name for name, kind in explained.parts.items() if kind == "gpu"} <= marked


def test_a_requirement_about_devices_needs_a_simulated_test() -> None:
    simulated = {"ABI-01": ["tests/devices/simulated/sim_order.py::test"]}
    assert device_problems(["ABI-01"], simulated, NONE) == []
    assert device_problems(["ABI-01"], {}, explained(parts={"ABI-01": "gpu"})) == []
    (found,) = device_problems(["ABI-01"], BOTH, NONE)
    assert found.startswith("ABI-01: no test on simulated devices shows it")


KNOWN = ["ABI-01", "ABI-02"]
BOTH = {"ABI-01": ["a.py::test"], "ABI-02": ["b.py::test"]}
NONE = Explanations({"gpu": "needs a GPU"})


def explained(**tables: dict[str, str]) -> Explanations:
    return Explanations(NONE.kinds, **tables)


@run_each(
    ("tests", "explanations", "words"),
    [
        ({**BOTH, "ABI-99": ["c.py::test"]}, NONE, "ABI-99: no such requirement, named by c.py"),
        ({"ABI-01": ["a.py::test"]}, NONE, "ABI-02: no test shows it"),
        (BOTH, explained(reasons={"ABI-02": "gpu"}), "ABI-02: b.py::test shows it"),
        (BOTH, explained(reasons={"ABI-77": "gpu"}), "ABI-77: no such requirement, in"),
        (BOTH, explained(parts={"ABI-77": "gpu"}), "ABI-77: no such requirement, in"),
        (BOTH, explained(parts={"ABI-01": "moon"}), "ABI-01: no kind of reason is called 'moon'"),
        (
            {"ABI-01": ["a.py::test"]},
            explained(reasons={"ABI-02": "gpu"}, parts={"ABI-02": "gpu"}),
            "ABI-02: not_shown.toml calls it shown in part",
        ),
    ],
)
def test_problems_are_reported(
    tests: dict[str, list[str]], explanations: Explanations, words: str
) -> None:
    assert any(line.startswith(words) for line in problems(KNOWN, tests, explanations))


def test_a_consistent_registry_has_no_problems() -> None:
    assert problems(KNOWN, BOTH, NONE) == []
    assert problems(KNOWN, BOTH, explained(parts={"ABI-01": "gpu"})) == []
    assert problems(KNOWN, {"ABI-01": ["a"]}, explained(reasons={"ABI-02": "gpu"})) == []


def test_tags_of_cpp_tests() -> None:
    text = '// req: ABI-01, ABI-02\n// More.\nconst Case sizes("the sizes", [] {});\n'
    assert CASE.findall(text) == [("ABI-01, ABI-02", "the sizes")]
    assert collect_cpp({"x.cpp": text}) == {
        "ABI-01": ["x.cpp::the sizes"],
        "ABI-02": ["x.cpp::the sizes"],
    }
    with pytest.raises(SystemExit, match=r"x.cpp has a `// req:` that is above no Case"):
        collect_cpp({"x.cpp": "// req: ABI-01\nint x;\n"})


# --- quotes

sys.path.append(str(HERE.parent / "tools" / "docs"))
import quotes  # noqa: E402

pytestmark = pytest.mark.repository

VERSION = re.compile(r"#define DLPACK_(?:MAJOR|MINOR)_VERSION (\d+)")


@run_each("name", registry.requirements())
def test_a_requirement_quotes_its_sentences(name: str) -> None:
    load()
    asked = registry.requirement(name)
    assert asked.quotes[0] == Quote(asked.quote, asked.document, asked.source)
    told = " ".join(explain.explanation(asked).split())
    for quote in asked.quotes:
        assert len(quote.text) > 5 and quote.text == " ".join(quote.text.split())
        assert quote.document
        assert quotes.LINK.fullmatch(quote.link), f"{quote.link} names no lines at a commit"
        assert " ".join(quote.text.split()) in told and quote.link in told


def header() -> Path:
    """dlpack.h as the build found it: in the installed package; for a development build, which
    installs no headers, in DLPACK_INCLUDE_DIR or tvm-ffi's package."""
    try:
        return Path(refarray.get_include()) / "dlpack" / "dlpack.h"
    except FileNotFoundError:
        folder = os.environ.get("DLPACK_INCLUDE_DIR")
        folder = folder or pytest.importorskip("tvm_ffi.libinfo").find_dlpack_include_path()
        return Path(folder) / "dlpack" / "dlpack.h"


def test_quotes_of_the_header_stand_in_the_header() -> None:
    """At the lines of the link in dlpack.h 1.3; anywhere in another version."""
    text = header().read_text(encoding="utf-8")
    of_header = [each for each in quotes.all_quotes() if "/dlpack.h#" in each[1].link]
    assert len(of_header) > 120
    if VERSION.findall(text) == ["1", "3"]:
        mistakes, compared = quotes.wrong(of_header, quotes.reader(header(), {}))
        assert (mistakes, compared) == ([], len(of_header))
    else:
        assert not [name for name, quote in of_header if not quotes.stands_in(quote.text, text)]


@run_each(
    ("text", "right"),
    [
        ("the consumer must call the deleter", True),
        ("If an obtained DLPack tensor […] the consumer must call the deleter", True),
        ("the consumer must call the deleter […] If an obtained DLPack tensor", False),
        ("the consumer should call the deleter", False),
        ("updates indicate the addition of enumeration values.", False),  # at other lines
    ],
)
def test_an_invented_quote_is_found(text: str, right: bool) -> None:
    link = registry.requirement("VERS-02").source
    mistakes, compared = quotes.wrong([("X", Quote(text, "", link))], quotes.reader(header(), {}))
    assert compared == 1 and bool(mistakes) is not right


def test_a_link_to_a_page_that_changes_is_found() -> None:
    for link in (
        "https://data-apis.org/array-api/latest/API_specification/array_object.html",
        "https://github.com/dmlc/dlpack/blob/main/include/dlpack/dlpack.h#L5",
    ):
        mistakes, _ = quotes.wrong([("X", Quote("text", "", link))], lambda _: None)
        assert mistakes == [f"X: {link} names no lines at a commit"]


def test_markup_is_no_part_of_a_sentence() -> None:
    rst = "the :c:type:`PyCapsule` of ``x`` (a *view*), see :func:`~array_api.from_dlpack`"
    assert quotes.stands_in("the PyCapsule of x (a view), see from_dlpack", rst)
    assert quotes.stands_in("It is\nnot  safe", " * It is not\n * safe")
