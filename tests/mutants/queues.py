"""Owns the animals whose C exchange table goes wrong with streams: refarray's own with a twist."""

from __future__ import annotations

from mutants.base import breaks
from mutants.devices import owned
from mutants.tables import Twisted
from refarray.conformance.subjects import devices

TWISTS = {"from-synchronises": "CAPI-12", "stream-legacy": "CAPI-25"}


def enter(twist: str, requirement: str) -> None:
    """An animal of one twist, with arrays on CUDA's devices."""
    name = "".join(word.title() for word in twist.split("-"))
    kind = type(name, (Twisted,), {"twist": twist, "__module__": __name__})
    on: dict[str, devices.OnDevice] = {"cuda": owned(kind, "cuda")}
    globals()[name] = breaks(requirement, devices=on)(kind)


for _twist, _requirement in TWISTS.items():
    enter(_twist, _requirement)
