"""The conformance kit: the requirements of the standards as data, and checks of other libraries."""

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

_MODULES = {
    "Finding": "findings",
    "Outcome": "findings",
    "Report": "library",
    "Spy": "live_validator.spy",
    "Subject": "subjects.subject",
    "check": "library",
    "checks": "library",
    "give": "harness.consumer",
    "parametrize": "library",
    "spy": "live_validator.spy",
    "trace": "live_validator.trace",
}

if TYPE_CHECKING:
    from refarray.conformance.findings import Finding, Outcome
    from refarray.conformance.harness.consumer import give
    from refarray.conformance.library import Report, check, checks, parametrize
    from refarray.conformance.live_validator.spy import Spy, spy
    from refarray.conformance.live_validator.trace import trace
    from refarray.conformance.subjects.subject import Subject
else:

    def __getattr__(name: str) -> object:
        """Imports a public name on its first use."""
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value  # `checks` is a function here and a module below
        return value
