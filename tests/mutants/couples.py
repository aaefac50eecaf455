"""Owns the animals that break a requirement only in company: with refarray on the other side."""

from __future__ import annotations

import ctypes
from typing import Any

import refarray as ra
from mutants.answers import Asked
from mutants.base import breaks, fields
from mutants.consumers import launders


@breaks("DTYPE-15")
class ShortsOfZero(Asked):
    """Its int16 arrays are zeros."""

    def answer(self, keywords: dict[str, Any]) -> Any:
        if self.source.dtype == ra.int16:
            self.source[...] = ra.zeros(3, dtype=ra.int16)
        return super().answer(keywords)


@breaks("TENS-19")
def transposes_back(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    return taken.T if isinstance(x, ra.Array) and x.shape == (3, 2) else taken


@breaks("FLAG-10")
def launders_company(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    return launders(x, device=device, copy=copy)


@breaks("LIFE-16")
def overwrites(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    taken = ra.from_dlpack(x, device=device, copy=copy)
    if isinstance(x, ra.Array) and x.shape == (6,):
        ctypes.memset(fields(x.__dlpack__())["data"], 0, 24)
    return taken
