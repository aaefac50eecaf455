"""Reads the rows of the array API's functions from the built package: the last line of a docstring
has what is not in the signature. Finds rows without a test, and writes the page of the manual."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import refarray

TESTS = Path(__file__).parents[2] / "tests"
PAGE = Path(__file__).parents[2] / "docs/functions.md"
HEAD = """\
<!-- Written by tools/rows from the rows of the functions; do not edit. -->
# Functions of the array API standard

The {count} functions of the [standard](https://data-apis.org/array-api/2025.12/) that refarray has,
in the standard's categories. [Computing](array-api.md) says what is defined where the standard is
silent; [the reference](api/index.md) has parameters and errors.
"""
LAST_LINE = re.compile(r"Array API standard, ([A-Za-z ]+) functions, since (\d{4}\.12)\.$")


class Row(NamedTuple):
    """A public function that the standard defines. `module`: of the extension, or empty."""

    module: str
    name: str
    category: str
    since: str
    parameters: tuple[inspect.Parameter, ...]
    summary: str
    is_native: bool

    @property
    def full_name(self) -> str:
        return f"{self.module}.{self.name}" if self.module else self.name

    @property
    def signature(self) -> str:
        """As in Python, without annotations."""
        plain = [each.replace(annotation=each.empty) for each in self.parameters]
        return f"{self.full_name}{inspect.Signature(plain)}"


def row_of(module: str, name: str, function: object) -> Row | None:
    """The row of a function; None if the standard does not define it."""
    text = inspect.getdoc(function) or ""
    if not callable(function) or not (match := LAST_LINE.search(text)):
        return None
    paragraph = " ".join(text.split("\n\n")[0].split())
    return Row(
        module,
        name,
        match[1],
        match[2],
        tuple(inspect.signature(function).parameters.values()),
        re.split(r"(?<=\.) (?=[A-Z])", paragraph)[0],
        inspect.isbuiltin(function),
    )


def rows() -> list[Row]:
    """All of them, by name; those of an extension after the others."""
    places = [("", refarray)]
    places += [(name, getattr(refarray, name)) for name in refarray._EXTENSIONS]
    found = (
        row_of(module, name, getattr(place, name))
        for module, place in places
        for name in sorted(place.__all__)
    )
    return [row for row in found if row is not None]


def modelled() -> list[str]:
    """The names of the functions that have a model."""
    sys.path[:0] = [str(TESTS / "compute"), str(TESTS)]
    from properties.models import MODELS

    names: list[str] = list(MODELS)
    return names


def untested(rows: Iterable[Row], models: Collection[str]) -> Iterator[str]:
    """Rows without a model in tests/compute/properties, where one test runs every model, and models
    without a row."""
    names = {row.full_name for row in rows}
    for name in sorted(names - set(models)):
        yield f"{name}() has a row, but no model in tests/compute/properties/models"
    for name in sorted(set(models) - names):
        yield f"{name}() has a model in tests/compute/properties/models, but no row"


def page(rows: Iterable[Row]) -> str:
    """The page of the manual that lists the functions by the standard's categories."""
    categories: dict[str, list[Row]] = {}
    for row in rows:
        categories.setdefault(row.category, []).append(row)
    out = HEAD.format(count=sum(map(len, categories.values())))
    for category in sorted(categories, key=str.lower):
        out += f"\n## {category[0].upper()}{category[1:]} functions\n\n"
        out += "| function | since | |\n| --- | --- | --- |\n"
        for row in categories[category]:
            out += (
                f"| `{row.signature}` | {row.since} | {row.summary.replace('|', chr(92) + '|')} |\n"
            )
    return out
