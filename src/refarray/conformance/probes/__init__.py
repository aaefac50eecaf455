"""Owns the checks: each module enters its own when it is imported."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    *("versions", "dtypes", "layouts", "flags", "copies", "methods", "streams"),
    *("lifetime", "more", "corpus", "asking", "taking", "results", "exchange", "tables", "foreign"),
    *("ending", "edges", "manners", "couples"),
    *("values", "memories", "receiving"),
)


def load() -> None:
    """Enters every check."""
    for name in MODULES:
        import_module(f"{__name__}.{name}")
