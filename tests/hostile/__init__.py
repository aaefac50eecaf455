"""Hostile input: what is thrown at refarray, row by row, and what has to become of it."""

from importlib import import_module

from .case import CASES, Case

FAMILIES = (
    *("structs", "capsules", "protocol", "moments", "arguments", "tables", "buffers"),
    "interfaces",
)


def everything() -> list[Case]:
    """All cases, in the order of the catalogue."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")
    return CASES
