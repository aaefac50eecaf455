"""Producers that fail in corner cases: device numbers, explicit None, unexportable arrays."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import MUTANTS, Array, breaks, forge, producer
from refarray.conformance import Subject
from refarray.conformance.subjects.subject import UNUSUAL, SubByte
from refarray.conformance.suite.producer.methods import HUGE

OMITTED = object()  # the default of a keyword: tells "left out" from None


@breaks("AAPI-03")
class RefusesOneCombination(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        asked = (keywords["max_version"], keywords["dl_device"], keywords["copy"])
        if asked == ((2, 0), (1, 0), None):
            raise BufferError("not in this combination")
        return super().export(keywords)


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


@breaks("DEV-02")
class CpuDeviceThree(OtherDevice):
    place = (1, 3)


@breaks("DEV-05")
class CpuMemoryAsCuda(OtherDevice):
    place = (2, 0)


@breaks("DEV-09")
class ViewsOnOtherDevice(OtherDevice):
    def __init__(self, source: ra.Array) -> None:
        super().__init__(source)
        self.place = (3, 0) if source.strides == (2,) else (1, 0)


@breaks("PROD-08")
class RefusesExportToCpu(OtherDevice):
    place = (3, 0)

    def export(self, keywords: dict[str, Any]) -> Any:
        asked = (keywords["max_version"], keywords["dl_device"], keywords["stream"])
        if asked == ((1, 3), (1, 0), None):
            raise BufferError("it stays where it is")
        return super().export(keywords)


class StreamIgnorer(Array):
    """Ignores the stream value `stream` when the consumer asks for the CPU."""

    stream = 0

    def export(self, keywords: dict[str, Any]) -> Any:
        ignored = keywords["dl_device"] == (1, 0) and keywords["stream"] == self.stream
        return super().export({**keywords, "stream": None} if ignored else keywords)


@breaks("PROD-10")
class StreamOneIgnored(StreamIgnorer):
    stream = 1


@breaks("STRM-17")
class StreamTwoIgnored(StreamIgnorer):
    stream = 2


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


@breaks("PROD-03")
class ExplicitNoneCopies(TellsNone):
    """And with a max_version of None."""


@breaks("PROD-13")
class CopyNoneCopies(TellsNone):
    with_these = (OMITTED, (1, 3))


@breaks("PROD-05")
class RaisesSystemError(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is True and self.source.shape == (HUGE,):
            raise SystemError("error return without exception set")
        return super().export(keywords)


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


@breaks("TENS-11")
class RoundsStrides(ExportsUnexportable):
    exported = "unaligned-strides"


@breaks("TENS-17")
class SparseAsDense(ExportsUnexportable):
    exported = "sparse"


@breaks("DTYPE-11")
class SwapsBytes(ExportsUnexportable):
    exported = "swapped"


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
