"""Mutants whose defect shows only in an exchange with refarray as the other library."""

from __future__ import annotations

import ctypes
from typing import Any

import refarray as ra
from mutants.base import Array, breaks, fields, results
from mutants.consumer_negotiation import exports_read_only_as_writable


@breaks("DTYPE-15")
class Int16BecomesZero(Array):
    """Sets the data of int16 arrays to zero on export."""

    def export(self, keywords: dict[str, Any]) -> Any:
        if self.source.dtype == ra.int16:
            self.source[...] = ra.zeros(self.source.shape, dtype=ra.int16)
        return super().export(keywords)


@results("TENS-19")
def undoes_transposition(taken: Any, x: Any, copy: Any) -> Any:
    return taken.T if isinstance(x, ra.Array) and x.shape == (3, 2) else taken


@breaks("FLAG-10")
def loses_read_only(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    return exports_read_only_as_writable(x, device=device, copy=copy)


@results("LIFE-16")
def overwrites_data(taken: Any, x: Any, copy: Any) -> Any:
    if isinstance(x, ra.Array) and x.shape == (6,):
        ctypes.memset(fields(x.__dlpack__())["data"], 0, 24)
    return taken
