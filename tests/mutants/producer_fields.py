"""Producers that export a wrong struct: version, dtype, device, layout or flags."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, fields, forge, producer
from refarray.conformance import _adversary


class Clean(Array):
    """Breaks nothing."""


clean = producer(Clean)


class Forger(Array):
    """Replaces the fields that `changes` returns in the tensors that `applies` selects."""

    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        return True

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {}

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        keywords = {
            "stream": stream,
            "max_version": max_version,
            "dl_device": dl_device,
            "copy": copy,
        }
        capsule = self.source.__dlpack__(**keywords)
        held = fields(capsule)
        if not self.applies(held, keywords):
            return capsule
        return forge(capsule, **self.changes(held, keywords))


@breaks("LIFE-06")
class WrongName(Forger):
    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"name": "tensor"}


@breaks("VERS-01")
class EchoesVersion(Forger):
    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        version = keywords["max_version"]
        return held["versioned"] and version[0] == 1 and isinstance(version[1], int)

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"version": tuple(keywords["max_version"])}


class Legacy(Array):
    """Exports the legacy struct for the versions that `old` accepts, even where it loses a flag."""

    def old(self, version: Any) -> bool:
        return False

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        if isinstance(max_version, tuple) and self.old(max_version):
            max_version = None
        return super().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


@breaks("VERS-05")
class LegacyForNewer(Legacy):
    def old(self, version: Any) -> bool:
        return version in {(2, 0), (100, 3)}


@breaks("VERS-06")
class LegacyForOlder(Legacy):
    def old(self, version: Any) -> bool:
        return version in {(1, 1), (1, 2)}


@breaks("VERS-04")
class VersionedWithoutMaxVersion(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        bare = (
            max_version is None and copy is None and dl_device is None and not self.source.readonly
        )
        return super().__dlpack__(
            stream=stream,
            max_version=(1, 3) if bare else max_version,
            dl_device=dl_device,
            copy=copy,
        )


@breaks("VERS-07")
class VersionedForMajorZero(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        old = max_version in {(0, 0)}
        return super().__dlpack__(
            stream=stream,
            max_version=(1, 3) if old else max_version,
            dl_device=dl_device,
            copy=copy,
        )


@breaks("VERS-10")
class AcceptsInvalidMaxVersion(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        known = isinstance(max_version, tuple) and len(max_version) == 2
        return super().__dlpack__(
            stream=stream,
            max_version=max_version if known else None,
            dl_device=dl_device,
            copy=copy,
        )


def mistyped(
    requirement: str, name: str, right: tuple[int, int, int], wrong: tuple[int, int, int]
) -> None:
    """A producer that exports dtype `right` as `wrong`."""

    def applies(self: Any, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        return bool(held["dtype"] == right)

    def changes(self: Any, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"dtype": wrong}

    kind = type(name, (Forger,), {"applies": applies, "changes": changes, "__module__": __name__})
    globals()[name] = breaks(requirement)(kind)


mistyped("DTYPE-01", "BoolAsByte", (6, 8, 1), (1, 8, 1))
mistyped("DTYPE-02", "SignedAsUnsigned", (0, 32, 1), (1, 32, 1))
mistyped("DTYPE-03", "DoubleAsInt", (2, 64, 1), (0, 64, 1))
mistyped("DTYPE-04", "Complex128As64Bits", (5, 128, 1), (5, 64, 1))
mistyped("DTYPE-05", "Bfloat16AsHalf", (4, 16, 1), (2, 16, 1))
mistyped("DTYPE-06", "Float8Swapped", (10, 8, 1), (8, 8, 1))


@breaks("DTYPE-15")
class RefusesInt16(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        if self.source.dtype == ra.int16:
            raise BufferError("int16 is not exported")
        return super().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


@breaks("DEV-01")
class DeviceList(Array):
    def __dlpack_device__(self) -> Any:
        return [1, 0]


@breaks("DEV-03")
class StructSaysPinned(Forger):
    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        return keywords["dl_device"] is None

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"device": (3, 0)}


@breaks("TENS-03")
class EmptyWithDataPointer(Forger):
    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        return 0 in held["shape"]

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"data": 4096}


@breaks("TENS-06")
class NullStrides(Forger):
    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        return held["shape"] == (1, 1)

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"strides": None}


@breaks("TENS-08")
class NullShape(Forger):
    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        return held["shape"] == (1, 1)

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"shape": None, "ndim": 2}


@breaks("TENS-18")
class CopiesByDefault(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        source = self.source
        if copy is None and source.shape == (3,) and source.strides == (0,):
            source = ra.copy(source)
        return source.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


@breaks("ABI-05")
class ByteStrides(Forger):
    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        return held["strides"] == (2,)

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"strides": (8,)}


@breaks("TENS-01")
class ShiftedByteOffset(Forger):
    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        plain = held["shape"] == (6,) and held["strides"] == (1,) and not held.get("flags")
        return plain and keywords["copy"] is not True

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"byte_offset": 4}


class FlagChanger(Forger):
    """Replaces the flags of versioned structs."""

    def applies(self, held: dict[str, Any], keywords: dict[str, Any]) -> bool:
        return bool(held["versioned"])

    def flags(self, flags: int, held: dict[str, Any], keywords: dict[str, Any]) -> int:
        return flags

    def changes(self, held: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
        return {"flags": self.flags(held["flags"], held, keywords)}


@breaks("FLAG-01")
class UnknownFlag(FlagChanger):
    def flags(self, flags: int, held: dict[str, Any], keywords: dict[str, Any]) -> int:
        return flags | 1 << 40


@breaks("FLAG-02")
class DropsReadOnly(FlagChanger):
    def flags(self, flags: int, held: dict[str, Any], keywords: dict[str, Any]) -> int:
        return flags & ~1


@breaks("FLAG-02")
class AlwaysReadOnly(FlagChanger):
    def flags(self, flags: int, held: dict[str, Any], keywords: dict[str, Any]) -> int:
        return flags if flags & 2 else flags | 1


@breaks("FLAG-03")
class CopiesWithoutFlag(FlagChanger):
    def flags(self, flags: int, held: dict[str, Any], keywords: dict[str, Any]) -> int:
        return flags & ~2


@breaks("FLAG-04")
class FlagsScalarsAsCopies(FlagChanger):
    def flags(self, flags: int, held: dict[str, Any], keywords: dict[str, Any]) -> int:
        return flags | 2 if held["shape"] == () else flags


@breaks("FLAG-06")
class ReadOnlyCopies(FlagChanger):
    def flags(self, flags: int, held: dict[str, Any], keywords: dict[str, Any]) -> int:
        return flags | 1 if flags & 2 and self.source.readonly else flags


@breaks("FLAG-02")
class ExportsReadOnlyAsLegacy(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        keywords = {
            "stream": stream,
            "max_version": max_version,
            "dl_device": dl_device,
            "copy": copy,
        }
        if max_version is None and copy is None and self.source.readonly:
            capsule = self.source.__dlpack__(**{**keywords, "max_version": (1, 3)})
            held = {
                name: value
                for name, value in fields(capsule).items()
                if name not in {"flags", "version"}
            }
            KEPT.append(capsule)
            return _adversary.make(**{**held, "versioned": False}).capsule()
        return self.source.__dlpack__(**keywords)
