"""Producers that export a wrong struct: version, dtype, device, layout or flags."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, fields, producer
from mutants.corrupting import ANY, Table, always, dtype, set_to, shape
from refarray.conformance import _adversary

rows = Table(__name__)


class Clean(Array):
    """Breaks nothing."""


clean = producer(Clean)
rows.corrupt("LIFE-06", "WrongName", always, set_to(name="tensor"), ANY)
rows.corrupt(
    "VERS-01",
    "EchoesVersion",
    lambda _, held, asked: (
        held["versioned"]
        and asked["max_version"][0] == 1
        and isinstance(asked["max_version"][1], int)
    ),
    lambda _, __, asked: {"version": tuple(asked["max_version"])},
    ANY,
)


# Exports for another max_version than the one that was passed, even where it loses a flag.
for _id, _name, _versions, _taken in (
    ("VERS-05", "LegacyForNewer", ((2, 0), (100, 3)), None),
    ("VERS-06", "LegacyForOlder", ((1, 1), (1, 2)), None),
    ("VERS-07", "VersionedForMajorZero", ((0, 0),), (1, 3)),
):
    rows.ask(
        *(_id, _name, lambda _, asked, some=_versions: asked["max_version"] in some),
        max_version=_taken,
    )
rows.ask(
    "VERS-04",
    "VersionedWithoutMaxVersion",
    lambda array, asked: (
        asked["max_version"] is asked["copy"] is asked["dl_device"] is None
        and not array.source.readonly
    ),
    max_version=(1, 3),
)
rows.ask(
    "VERS-10",
    "AcceptsInvalidMaxVersion",
    lambda _, asked: not isinstance(asked["max_version"], tuple) or len(asked["max_version"]) != 2,
    max_version=None,
)
for _id, _name, _right, _wrong in (
    ("DTYPE-01", "BoolAsByte", (6, 8), (1, 8, 1)),
    ("DTYPE-02", "SignedAsUnsigned", (0, 32), (1, 32, 1)),
    ("DTYPE-03", "DoubleAsInt", (2, 64), (0, 64, 1)),
    ("DTYPE-04", "Complex128As64Bits", (5, 128), (5, 64, 1)),
    ("DTYPE-05", "Bfloat16AsHalf", (4, 16), (2, 16, 1)),
    ("DTYPE-06", "Float8Swapped", (10, 8), (8, 8, 1)),
):
    rows.corrupt(_id, _name, dtype(*_right), set_to(dtype=_wrong), ANY)


rows.refuse(
    "DTYPE-15",
    "RefusesInt16",
    lambda array, _: array.source.dtype == ra.int16,
    BufferError("int16 is not exported"),
)


@breaks("DEV-01")
class DeviceList(Array):
    def __dlpack_device__(self) -> Any:
        return [1, 0]


rows.corrupt(
    "DEV-03",
    "StructSaysPinned",
    lambda _, __, asked: asked["dl_device"] is None,
    set_to(device=(3, 0)),
    ANY,
)
rows.corrupt(
    "TENS-03",
    "EmptyWithDataPointer",
    lambda _, held, __: 0 in held["shape"],
    set_to(data=4096),
    ANY,
)
rows.corrupt("TENS-06", "NullStrides", shape(1, 1), set_to(strides=None), ANY)
rows.corrupt("TENS-08", "NullShape", shape(1, 1), set_to(shape=None, ndim=2), ANY)


@breaks("TENS-18")
class CopiesByDefault(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        source = self.source
        if keywords["copy"] is None and source.shape == (3,) and source.strides == (0,):
            source = ra.copy(source)
        return source.__dlpack__(**keywords)


rows.corrupt(
    "ABI-05", "ByteStrides", lambda _, held, __: held["strides"] == (2,), set_to(strides=(8,)), ANY
)
rows.corrupt(
    "TENS-01",
    "ShiftedByteOffset",
    lambda _, held, __: held["shape"] == (6,) and held["strides"] == (1,) and not held.get("flags"),
    set_to(byte_offset=4),
)
rows.flagged("FLAG-01", "UnknownFlag", always, lambda flags: flags | 1 << 40, ANY)
rows.flagged("FLAG-02", "DropsReadOnly", always, lambda flags: flags & ~1, ANY)
rows.flagged(
    "FLAG-02", "AlwaysReadOnly", lambda _, held, __: not held["flags"] & 2, lambda f: f | 1, ANY
)
rows.flagged("FLAG-03", "CopiesWithoutFlag", always, lambda flags: flags & ~2, ANY)
rows.flagged("FLAG-04", "FlagsScalarsAsCopies", shape(), lambda flags: flags | 2, ANY)
rows.flagged(
    "FLAG-06",
    "ReadOnlyCopies",
    lambda array, held, _: held["flags"] & 2 and array.readonly,
    lambda flags: flags | 1,
    ANY,
)


@breaks("FLAG-02")
class ExportsReadOnlyAsLegacy(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        if not keywords["max_version"] is keywords["copy"] is None or not self.source.readonly:
            return super().export(keywords)
        capsule = super().export({**keywords, "max_version": (1, 3)})
        KEPT.append(capsule)
        held = fields(capsule)
        del held["flags"], held["version"]
        return _adversary.make(**{**held, "versioned": False}).capsule()
