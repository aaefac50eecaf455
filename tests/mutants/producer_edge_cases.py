"""Producers that fail in corner cases: device numbers, explicit None, unexportable arrays."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import MUTANTS, Array, breaks, fields, forge, producer
from mutants.corrupting import Table
from refarray.conformance import Subject
from refarray.conformance.subjects.subject import UNUSUAL, SubByte
from refarray.conformance.suite.producer.methods import HUGE

OMITTED = object()  # the default of a keyword: tells "left out" from None
rows = Table(__name__)
rows.refuse(
    "AAPI-03",
    "RefusesOneCombination",
    lambda _, asked: has(asked, max_version=(2, 0), dl_device=(1, 0), copy=None),
    BufferError("not in this combination"),
)
rows.refuse(
    "PROD-05",
    "RaisesSystemError",
    lambda array, asked: asked["copy"] is True and array.source.shape == (HUGE,),
    SystemError("error return without exception set"),
)
for _id, _name, _stream in (("PROD-10", "StreamOneIgnored", 1), ("STRM-17", "StreamTwoIgnored", 2)):
    rows.ask(
        *(_id, _name, lambda _, asked, s=_stream: has(asked, dl_device=(1, 0), stream=s)),
        stream=None,
    )


def has(asked: dict[str, Any], **wanted: Any) -> bool:
    """Whether the keywords have these values."""
    return all(asked[name] == value for name, value in wanted.items())


class OtherDevice(Array):
    """CPU memory that is announced under the device `place`; exports to the CPU still work."""

    place = (1, 0)

    def __dlpack_device__(self) -> Any:
        return self.place

    def export(self, keywords: dict[str, Any]) -> Any:
        device = keywords["dl_device"]
        if device not in (None, self.place):
            return super().export(keywords)
        return forge(super().export({**keywords, "dl_device": None}), device=self.place)


rows.derive("DEV-02", "CpuDeviceThree", OtherDevice, place=(1, 3))
rows.derive("DEV-05", "CpuMemoryAsCuda", OtherDevice, place=(2, 0))


@breaks("DEV-09")
class ViewsOnOtherDevice(OtherDevice):
    def __init__(self, source: ra.Array) -> None:
        super().__init__(source)
        self.place = (3, 0) if source.strides == (2,) else (1, 0)


class Pinned(OtherDevice):
    place = (3, 0)


rows.refuse(
    "PROD-08",
    "RefusesExportToCpu",
    lambda _, asked: has(asked, max_version=(1, 3), dl_device=(1, 0), stream=None),
    BufferError("it stays where it is"),
    Pinned,
)


class OnMetal(OtherDevice):
    """Arrays on Metal: data is a handle, which no instruction can dereference, and the offset of a
    view is in byte_offset."""

    place = (8, 0)
    opaque = 1 << 56  # added to an address of this process, it is none

    def __init__(self, source: ra.Array, start: int = 0) -> None:
        super().__init__(source)
        self.start = start

    def __getitem__(self, index: Any) -> OnMetal:
        own = fields(self.source.__dlpack__(max_version=(1, 3)))["data"]
        return type(self)(self.source[index], self.start or own)

    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["dl_device"] not in (None, self.place):
            return super().export(keywords)
        capsule = Array.export(self, {**keywords, "dl_device": None})
        held = fields(capsule)
        if held["data"] is None:
            return forge(capsule, device=self.place)
        start = held["data"] if keywords["copy"] else self.start or held["data"]
        return forge(capsule, device=self.place, **self.point(start, held["data"] - start))

    def point(self, start: int, offset: int) -> dict[str, int]:
        """data and byte_offset of a view that begins `offset` bytes after `start`."""
        return {"data": start + self.opaque, "byte_offset": offset}


on_metal = producer(OnMetal)


@breaks("DEV-13")
class MovesHandles(OnMetal):
    def point(self, start: int, offset: int) -> dict[str, int]:
        return {"data": start + self.opaque + offset, "byte_offset": 0}


@breaks("DEV-13")
class ForgetsOffsets(OnMetal):
    def point(self, start: int, offset: int) -> dict[str, int]:
        return {"data": start + self.opaque, "byte_offset": 0}


class TellsNone(Array):
    """Copies when `copy` is passed as None with this stream and max_version."""

    with_these: tuple[Any, Any] = (None, None)

    def __dlpack__(
        self,
        *,
        stream: Any = OMITTED,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = OMITTED,
    ) -> Any:
        explicit = copy is None and (stream, max_version) == self.with_these
        return self.source.__dlpack__(
            stream=None if stream is OMITTED else stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=True if explicit else None if copy is OMITTED else copy,
        )


rows.derive("PROD-03", "ExplicitNoneCopies", TellsNone)
rows.derive("PROD-13", "CopyNoneCopies", TellsNone, with_these=(OMITTED, (1, 3)))


class EveryKind(Array):
    """A correct producer with every kind of array in KINDS; those that cannot be exported raise
    BufferError."""

    lacks = ("unaligned-strides", "unexportable", "sparse", "swapped", *sorted(UNUSUAL))
    kind = ""

    @classmethod
    def of(cls, kind: str) -> EveryKind:
        """An array of a kind in `lacks`."""
        made = cls(ra.ones(3, dtype=ra.float32))
        made.kind = "" if kind == "second-device" else kind
        return made

    @classmethod
    def packed(cls) -> EveryKind:
        """Three vectors of two floats of 4 bits."""
        made = cls(ra.asarray([0, 1, 2, 3, 4, 6], dtype=ra.float4_e2m1fn))
        made.kind = "packed"
        return made

    def vectors(self, keywords: dict[str, Any]) -> Any:
        """The export of `packed`."""
        capsule = super().export(keywords)
        return forge(capsule, dtype=(17, 4, 2), shape=(3,), strides=(1,))

    def as_subclass(self, kind: Any) -> Any:
        """The same array as an instance of a subclass."""
        return kind(self.source)

    def resize(self, shape: Any) -> None:
        """Raises: the array may have been exported."""
        raise BufferError("not while it is exported")

    def set_(self, *_: Any) -> None:
        """Raises: the array may have been exported."""
        raise BufferError("not while it is exported")

    new_zeros = untyped_storage = set_

    def refuse(self) -> Any:
        """The response to an export of a kind in `lacks`."""
        raise BufferError(f"not {self.kind}")

    def export(self, keywords: dict[str, Any]) -> Any:
        if self.kind == "packed":
            return self.vectors(keywords)
        return self.refuse() if self.kind else super().export(keywords)


VECTORS = {"float4_e2m1fn_x2": SubByte("EveryKind.packed()", (17, 4, 2), (0, 2, 4, 5, 6, 7))}
every_kind = producer(EveryKind, subbyte=VECTORS)


class ExportsUnexportable(EveryKind):
    """Exports the kind `exported`, although it cannot be exported."""

    exported = ""

    def refuse(self) -> Any:
        if self.kind != self.exported:
            return super().refuse()
        return self.source.__dlpack__(max_version=(1, 3))


rows.derive("TENS-11", "RoundsStrides", ExportsUnexportable, exported="unaligned-strides")
rows.derive("TENS-17", "SparseAsDense", ExportsUnexportable, exported="sparse")
rows.derive("DTYPE-11", "SwapsBytes", ExportsUnexportable, exported="swapped")


@breaks("PROD-04")
class UnexportableRaisesTypeError(EveryKind):
    def refuse(self) -> Any:
        if self.kind != "unexportable":
            return super().refuse()
        raise TypeError("not this")


@breaks("PROD-18")
class RefusesSubclasses(EveryKind):
    def export(self, keywords: dict[str, Any]) -> Any:
        if type(self) is not RefusesSubclasses:
            raise TypeError("only arrays")
        return super().export(keywords)


class NoFromDlpack(Array):
    """An array of a library whose namespace has no from_dlpack."""


no_from_dlpack = Subject(
    f"{__name__}:no_from_dlpack",
    f"import refarray as ra; from {__name__} import NoFromDlpack",
    arrays={"plain": "NoFromDlpack(ra.arange(6, dtype=ra.float32))"},
    from_dlpack="ra.no_such_function({})",
    array_api=True,
)
MUTANTS[no_from_dlpack.name] = "AAPI-01"
