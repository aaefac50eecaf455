"""What a script needs to know of the library under test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """The library under test, as its worker describes it."""

    name: str
    version: str
    imports: str
    """As Subject.imports, which the kit's repros begin with."""
    alone: str
    """As Subject.alone."""
    values: str
    """An expression with `{}` for an array: its values as the library reads them."""
