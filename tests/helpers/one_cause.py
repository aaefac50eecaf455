"""Libraries with one mistake that many cases meet, and one whose tolist() shows bits."""

from __future__ import annotations

from typing import Any

import refarray as ra
from refarray.conformance import Subject
from refarray.conformance.subjects.libraries import REFARRAY

IMPORTS = "import refarray as ra; from helpers.one_cause import NoId, Fails, Bits, take"


class Array:
    def __init__(self, source: Any) -> None:
        self.source = source

    def tolist(self) -> Any:
        return self.source.tolist()

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.source.__dlpack__(**keywords)


class NoId(Array):
    """As a release of Paddle: the device has no id."""

    def __dlpack_device__(self) -> Any:
        return (1, None)


class Fails(Array):
    """Raises in one line, whatever the keywords besides max_version are."""

    def __dlpack__(self, *, max_version: Any = None, **others: Any) -> Any:
        if any(value is not None for value in others.values()):
            raise RuntimeError(f"not implemented: {others}")
        return self.source.__dlpack__(max_version=max_version)


class Bits(Array):
    """tolist() of bfloat16 and float8 has their bits, as NumPy's views as integers have."""

    def tolist(self) -> Any:
        source = self.source
        if str(source.dtype) == "bfloat16":
            return [int(each) << 7 for each in ra.astype(source, "float32").tolist()]
        return source.tolist() if "float8" not in str(source.dtype) else [7] * source.size


def take(x: Any, **keywords: Any) -> Any:
    """Raises in one line for every keyword."""
    if keywords:
        raise RuntimeError("no keywords")
    return ra.from_dlpack(x)


def of(kind: str, **more: Any) -> Subject:
    arrays = {name: f"{kind}({text})" for name, text in REFARRAY.arrays.items()}
    fields: dict[str, Any] = {"array_api": True, **more}
    return Subject(kind.lower(), IMPORTS, arrays, **fields)


no_id, fails = of("NoId"), of("Fails", from_dlpack="take({})")
bits = of("Bits", dtype="Bits(ra.ones(3, dtype='{}'))", ramp="Bits(ra.arange(37).astype('{}'))")
