"""Owns what other libraries are measured by: the requirements of the standards, as data, and the
checks that hold a library against them."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "Finding",
    "Outcome",
    "Report",
    "Spy",
    "Subject",
    "check",
    "checks",
    "give",
    "parametrize",
    "spy",
    "trace",
]

_HOMES = {
    "Finding": "findings",
    "Outcome": "findings",
    "Report": "library",
    "Spy": "watching",
    "Subject": "subjects",
    "check": "library",
    "checks": "library",
    "give": "consumer",
    "parametrize": "library",
    "spy": "watching",
    "trace": "tracing",
}

if TYPE_CHECKING:
    from refarray.conformance.consumer import give
    from refarray.conformance.findings import Finding, Outcome
    from refarray.conformance.library import Report, check, checks, parametrize
    from refarray.conformance.subjects import Subject
    from refarray.conformance.tracing import trace
    from refarray.conformance.watching import Spy, spy
else:

    def __getattr__(name: str) -> object:
        """Loads a name when it is first asked for."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value  # `checks` is a function here and a module below
        return value
