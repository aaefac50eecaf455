"""Reads the rows of the array API's functions from the built package: the last line of a docstring
has what is not in the signature."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

import refarray

LAST_LINE = re.compile(r"Array API standard, ([a-z ]+) functions, since (\d{4}\.12)\.$")


class Row(NamedTuple):
    """A public function that the standard defines."""

    name: str
    category: str
    since: str
    parameters: tuple[inspect.Parameter, ...]
    summary: str
    is_native: bool

    @property
    def signature(self) -> str:
        """As in Python, without annotations."""
        plain = [each.replace(annotation=each.empty) for each in self.parameters]
        return f"{self.name}{inspect.Signature(plain)}"


def row_of(name: str, function: object) -> Row | None:
    """The row of a function; None if the standard does not define it."""
    text = inspect.getdoc(function) or ""
    if not callable(function) or not (match := LAST_LINE.search(text)):
        return None
    paragraph = " ".join(text.split("\n\n")[0].split())
    return Row(
        name,
        match[1],
        match[2],
        tuple(inspect.signature(function).parameters.values()),
        re.split(r"(?<=\.) (?=[A-Z])", paragraph)[0],
        inspect.isbuiltin(function),
    )


def rows() -> list[Row]:
    """All of them, by name."""
    found = (row_of(name, getattr(refarray, name)) for name in sorted(refarray.__all__))
    return [row for row in found if row is not None]
