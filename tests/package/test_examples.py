"""docs/examples.toml: each public callable has an example, which prints what it shows."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.cases import run_each

import refarray
from refarray import fft, linalg

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
from docstrings import EXAMPLES, example

sys.path.pop(0)

pytestmark = pytest.mark.repository

OWNERS = {
    "refarray": (refarray, refarray.__all__),
    "refarray.fft": (fft, fft.__all__),
    "refarray.linalg": (linalg, linalg.__all__),
    "refarray.Array": (refarray.Array, [n for n in dir(refarray.Array) if not n.startswith("_")]),
}
NOT_INSTALLED = (
    "raises FileNotFoundError in a build that is not installed, returns a path otherwise"
)
EXEMPT = {
    "refarray.get_cmake_dir": NOT_INSTALLED,
    "refarray.get_include": NOT_INSTALLED,
    "refarray.get_pkgconfig_dir": NOT_INSTALLED,
    "refarray.register_numpy_dtypes": "needs NumPy 2.5, and changes NumPy for the whole process",
    "refarray.use_stream": "needs a stream, which only devices with a driver have",
}
SHOWN = {
    f"{owner}.{name}": text for owner, texts in EXAMPLES.items() for name, text in texts.items()
}


def public_callables() -> Iterator[str]:
    """The names; `linalg.matmul` is refarray's own `matmul`, which has the example."""
    for owner, (value, names) in OWNERS.items():
        for name in names:
            found = getattr(value, name)
            is_alias = owner == "refarray.linalg" and found is getattr(refarray, name, None)
            if callable(found) and not is_alias:
                yield f"{owner}.{name}"


def test_each_public_callable_has_an_example() -> None:
    names = set(public_callables())
    assert sorted(names - SHOWN.keys() - EXEMPT.keys()) == [], "add them to docs/examples.toml"
    assert sorted(SHOWN.keys() - names) == [], "not public, or no callables"
    assert sorted(EXEMPT.keys() - (names - SHOWN.keys())) == [], "not public, or with an example"


@run_each("name", SHOWN)
def test_example_prints_what_it_shows(name: str) -> None:
    assert name.rpartition(".")[2] in SHOWN[name], "the example does not show it"
    case = doctest.DocTestParser().get_doctest(SHOWN[name], {"ra": refarray}, name, None, 0)
    printed: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    failed, _ = runner.run(case, out=printed.append)
    assert any(each.want for each in case.examples), "the example prints nothing"
    assert failed == 0, "".join(printed)


def test_manual_shows_the_example_as_a_section() -> None:
    assert example("refarray.bitwise_xor")[:2] == [
        "Example:",
        "    >>> ra.bitwise_xor(ra.asarray([0b1100, 0b1010]), 0b0110)",
    ]
    assert example("refarray.shared") == []
