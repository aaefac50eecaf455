"""Reads the rows of the array API's functions from the built package: the last line of a docstring
has what is not in the signature."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

import refarray

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
