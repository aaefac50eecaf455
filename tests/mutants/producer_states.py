"""Producers that are wrong about arrays in unusual states, written from the requirements alone."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import breaks, forge
from mutants.corrupting import Table
from mutants.producer_edge_cases import EveryKind
from refarray.conformance.subjects.subject import SubByte

rows = Table(__name__)
FP4 = (0, 2, 4, 5, 6, 7)
"""The bits of 0, 1, 2, 3, 4 and 6 as float4_e2m1fn."""


def fp4(text: str) -> dict[str, SubByte]:
    """A claim of float4_e2m1fn."""
    return {"float4_e2m1fn": SubByte(text, (17, 4, 1), FP4)}


class Wrong(EveryKind):
    """Exports the kind `exported` by `give`; every other kind is right."""

    exported = ""

    def export(self, keywords: dict[str, Any]) -> Any:
        if self.exported and self.kind == self.exported:
            return self.give(keywords)
        return super().export(keywords)

    def give(self, keywords: dict[str, Any]) -> Any:
        """The wrong export: that of the memory."""
        return self.source.__dlpack__(**keywords)


@breaks("TENS-01")
class NegationForgotten(Wrong):
    """Exports the memory of values whose sign is not applied yet."""

    exported = "negative"

    def tolist(self) -> Any:
        return [-1.0, -1.0, -1.0] if self.kind == "negative" else super().tolist()


@breaks("TENS-01")
class ConjugationForgotten(Wrong):
    """Exports the memory of values whose conjugation is not applied yet."""

    exported = "conjugate"

    @classmethod
    def of(cls, kind: str) -> Any:
        made = super().of(kind)
        if kind == "conjugate":
            made.source = ra.asarray([1 + 2j, 3 - 4j], dtype=ra.complex64)
        return made

    def tolist(self) -> Any:
        return [1 - 2j, 3 + 4j] if self.kind == "conjugate" else super().tolist()


class WithoutMemory(Wrong):
    """Exports three elements at NULL, or at another address that is not mapped."""

    data: int | None = None

    def give(self, keywords: dict[str, Any]) -> Any:
        return forge(self.source.__dlpack__(**keywords), data=self.data)


rows.derive("TENS-17", "FakeAtNull", WithoutMemory, exported="fake")
rows.derive("TENS-17", "MetaAtNowhere", WithoutMemory, exported="meta", data=0xDEAD0008)
rows.derive("TENS-17", "FreedMemory", WithoutMemory, exported="freed")
for _id, _name, _kind in (
    ("PROD-04", "NullsAsNumbers", "nulls"),
    ("PROD-04", "MaskDropped", "masked"),
    ("PROD-04", "RecordsAsNumbers", "records"),
    ("FLAG-02", "FrozenWritable", "frozen"),
):
    rows.derive(_id, _name, Wrong, exported=_kind)
rows.refuse(
    "PROD-04",
    "NibblesAreRuntimeError",
    lambda array, _: array.kind == "nibbles",
    RuntimeError("no nibbles"),
    EveryKind,
)
rows.refuse(
    "PROD-04",
    "TextIsTypeError",
    lambda array, _: array.kind == "text",
    TypeError("no text"),
    EveryKind,
)


@breaks("FLAG-02", immutable=True)
class ImmutableWritable(EveryKind):
    """Arrays that nobody may write, exported without READ_ONLY."""


class Second(EveryKind):
    """Has a second device in host memory."""

    second = False

    @classmethod
    def of(cls, kind: str) -> Any:
        made = super().of(kind)
        made.second = kind == "second-device"
        return made

    def __dlpack_device__(self) -> Any:
        return (1, 1) if self.second else super().__dlpack_device__()


@breaks("DEV-02")
class SecondDeviceIsOne(Second):
    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        return forge(capsule, device=(1, 1)) if self.second else capsule


@breaks("DEV-03")
class SecondDeviceAnnounced(Second):
    """Announces another device than the struct has."""


class Floats4(EveryKind):
    """Floats of 4 bits, from bytes."""

    bytes_: tuple[int, ...] = ()

    @classmethod
    def four(cls) -> Any:
        """An array with these bytes."""
        made = cls(ra.asarray(cls.bytes_, dtype=ra.uint8))
        made.kind = "four"
        return made

    def export(self, keywords: dict[str, Any]) -> Any:
        if self.kind != "four":
            return super().export(keywords)
        capsule = self.source.__dlpack__(**keywords)
        return forge(capsule, dtype=(17, 4, 1), shape=(6,), strides=(1,))


@breaks("DTYPE-09", subbyte=fp4("ByteEach.four()"))
class ByteEach(Floats4):
    """A byte for each float, without the flag that says so."""

    bytes_ = FP4


@breaks("DTYPE-09", subbyte=fp4("HighNibbleFirst.four()"))
class HighNibbleFirst(Floats4):
    bytes_ = (0x02, 0x45, 0x67)


@breaks("DTYPE-08", subbyte=fp4("AsBytes.four()"))
class AsBytes(Floats4):
    """Exports floats of 4 bits as bytes."""

    bytes_ = (0x20, 0x54, 0x76)

    def export(self, keywords: dict[str, Any]) -> Any:
        if self.kind != "four":
            return super().export(keywords)
        return self.source.__dlpack__(**keywords)
