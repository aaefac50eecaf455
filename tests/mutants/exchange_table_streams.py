"""Producers whose C exchange table mishandles streams: refarray's table with one function
replaced."""

from __future__ import annotations

from mutants.base import breaks
from mutants.exchange_table import BrokenTable
from mutants.producer_devices import on_devices
from refarray.conformance.subjects import devices

DEFECTS = {"from-synchronises": "CAPI-12", "stream-legacy": "CAPI-25"}


def add(defect: str, requirement: str) -> None:
    """Registers the mutant with this defect, with arrays on CUDA devices."""
    name = "".join(word.title() for word in defect.split("-"))
    kind = type(name, (BrokenTable,), {"defect": defect, "__module__": __name__})
    on: dict[str, devices.OnDevice] = {"cuda": on_devices(kind, "cuda")}
    globals()[name] = breaks(requirement, devices=on)(kind)


for _defect, _requirement in DEFECTS.items():
    add(_defect, _requirement)
