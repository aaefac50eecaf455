"""Owns the producers of the zoo that go wrong at the edges: devices, what they lack, what was said
and not meant."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.answers import Asked
from mutants.base import ANIMALS, Array, breaks, forge, producer
from refarray.conformance import Subject
from refarray.conformance.suite.producer.edges import HUGE

NOTHING = object()  # of a keyword that was left out


@breaks("AAPI-03")
class OddCombination(Asked):
    def answer(self, keywords: dict[str, Any]) -> Any:
        asked = (keywords["max_version"], keywords["dl_device"], keywords["copy"])
        if asked == ((2, 0), (1, 0), None):
            raise BufferError("not in this combination")
        return super().answer(keywords)


class Placed(Asked):
    """Host memory that is announced under another device; the CPU is served, too."""

    place = (1, 0)

    def __dlpack_device__(self) -> Any:
        return self.place

    def answer(self, keywords: dict[str, Any]) -> Any:
        device = keywords["dl_device"]
        if device not in (None, self.place):
            return super().answer(keywords)
        return forge(super().answer({**keywords, "dl_device": None}), device=self.place)


@breaks("DEV-02")
class NumberedHost(Placed):
    place = (1, 3)


@breaks("DEV-05")
class HostAsGpu(Placed):
    place = (2, 0)


@breaks("DEV-09")
class ViewsMove(Placed):
    def __init__(self, source: ra.Array) -> None:
        super().__init__(source)
        self.place = (3, 0) if source.strides == (2,) else (1, 0)


@breaks("PROD-08")
class NotToTheHost(Placed):
    place = (3, 0)

    def answer(self, keywords: dict[str, Any]) -> Any:
        asked = (keywords["max_version"], keywords["dl_device"], keywords["stream"])
        if asked == ((1, 3), (1, 0), None):
            raise BufferError("it stays where it is")
        return super().answer(keywords)


class Streaming(Asked):
    """Ignores one stream where a device is asked for."""

    stream = 0

    def answer(self, keywords: dict[str, Any]) -> Any:
        ignored = keywords["dl_device"] == (1, 0) and keywords["stream"] == self.stream
        return super().answer({**keywords, "stream": None} if ignored else keywords)


@breaks("PROD-10")
class OneIsIgnored(Streaming):
    stream = 1


@breaks("STRM-17")
class TwoIsIgnored(Streaming):
    stream = 2


@breaks("PROD-03")
class DefaultsDiffer(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = NOTHING,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = NOTHING,
    ) -> Any:
        explicit = stream is None and copy is None and max_version is None
        return self.source.__dlpack__(
            stream=None if stream is NOTHING else stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=True if explicit else None if copy is NOTHING else copy,
        )


@breaks("PROD-13")
class NoneCopies(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = NOTHING,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = NOTHING,
    ) -> Any:
        explicit = copy is None and stream is NOTHING and max_version == (1, 3)
        return self.source.__dlpack__(
            stream=None if stream is NOTHING else stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=True if explicit else None if copy is NOTHING else copy,
        )


@breaks("PROD-05")
class SystemErrors(Asked):
    def answer(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is True and self.source.shape == (HUGE,):
            raise SystemError("error return without exception set")
        return super().answer(keywords)


class Complete(Asked):
    """A clean producer that has every kind of array there is: what it cannot export it refuses."""

    lacks = ("unaligned-strides", "unexportable", "sparse", "swapped")
    kind = ""

    @classmethod
    def of(cls, kind: str) -> Complete:
        """An array of one of the kinds in `lacks`."""
        made = cls(ra.ones(3, dtype=ra.float32))
        made.kind = kind
        return made

    def as_subclass(self, kind: Any) -> Any:
        """The same as an instance of a subclass."""
        return kind(self.source)

    def resize(self, shape: Any) -> None:
        """Refuses: it may have been exported."""
        raise BufferError("not while it is exported")

    def refuse(self) -> Any:
        """What is answered for one of those kinds."""
        raise BufferError(f"not {self.kind}")

    def answer(self, keywords: dict[str, Any]) -> Any:
        return self.refuse() if self.kind else super().answer(keywords)


complete = producer(Complete)


class Exports(Complete):
    """Exports one of the kinds that cannot be exported."""

    exported = ""

    def refuse(self) -> Any:
        if self.kind != self.exported:
            return super().refuse()
        return self.source.__dlpack__(max_version=(1, 3))


@breaks("TENS-11")
class RoundsStrides(Exports):
    exported = "unaligned-strides"


@breaks("TENS-17")
class SparseAsDense(Exports):
    exported = "sparse"


@breaks("DTYPE-11")
class SwapsBytes(Exports):
    exported = "swapped"


@breaks("PROD-04")
class TypeErrors(Complete):
    def refuse(self) -> Any:
        if self.kind != "unexportable":
            return super().refuse()
        raise TypeError("not this")


@breaks("PROD-18")
class NoSubclass(Complete):
    def answer(self, keywords: dict[str, Any]) -> Any:
        if type(self) is not NoSubclass:
            raise TypeError("only arrays")
        return super().answer(keywords)


class Nameless(Array):
    """Its namespace has no from_dlpack."""


nameless = Subject(
    f"{__name__}:nameless",
    f"import refarray as ra; from {__name__} import Nameless",
    arrays={"plain": "Nameless(ra.arange(6, dtype=ra.float32))"},
    from_dlpack="ra.no_such_function({})",
)
ANIMALS[nameless.name] = "AAPI-01"
