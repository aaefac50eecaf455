"""Finds rows without a test: tests/compute/properties has a model of each function, by name, and
one test that runs every model."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from rows import Row

TESTS = Path(__file__).parents[2] / "tests"


def modelled() -> list[str]:
    """The names of the functions that have a model."""
    sys.path[:0] = [str(TESTS / "compute"), str(TESTS)]
    from properties.models import MODELS

    names: list[str] = list(MODELS)
    return names


def untested(rows: Iterable[Row], models: Collection[str]) -> Iterator[str]:
    """What is wrong: rows without a model, and models without a row."""
    names = {row.full_name for row in rows}
    for name in sorted(names - set(models)):
        yield f"{name}() has a row, but no model in tests/compute/properties/models"
    for name in sorted(set(models) - names):
        yield f"{name}() has a model in tests/compute/properties/models, but no row"
