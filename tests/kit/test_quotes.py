"""Every requirement quotes its sentence, with a link that cannot change; no quote is invented."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

import refarray
from refarray.commands import explain
from refarray.conformance import requirements as registry
from refarray.conformance.requirements import Quote
from refarray.conformance.suite import load

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools" / "docs"))
import quotes  # noqa: E402

VERSION = re.compile(r"#define DLPACK_(?:MAJOR|MINOR)_VERSION (\d+)")


@pytest.mark.parametrize("name", registry.requirements())
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


@pytest.mark.parametrize(
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
