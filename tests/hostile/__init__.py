"""Malformed and hostile input to refarray: the catalogue, one case per kind, and their runner."""

from importlib import import_module

from .case import CASES, Case

FAMILIES = (
    *("structs", "capsules", "protocol", "reentrancy", "arguments", "tables", "buffers"),
    "interfaces",
)


def all_cases() -> list[Case]:
    """Return all cases in catalogue order."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")
    return CASES
