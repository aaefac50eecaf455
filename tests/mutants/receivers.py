"""Owns the consumers of the zoo that go wrong with memory of devices: wrappers around refarray."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks
from mutants.devices import driver
from refarray.conformance import _adversary
from refarray.conformance.subjects import devices

ON = {"cuda": devices.of_refarray("cuda")}


def on_cuda(name: str) -> Any:
    """Enters the decorated function as a consumer with refarray's arrays on devices."""
    return breaks(name, devices=ON)


class Through:
    """A producer that passes on what another one says, with other streams."""

    def __init__(self, array: Any, stream: Any) -> None:
        self.array, self.stream = array, stream

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        if "stream" in keywords:
            keywords["stream"] = self.stream(keywords["stream"])
        if keywords.get("stream", 0) == "none":
            del keywords["stream"]
        return self.array.__dlpack__(**keywords)


@on_cuda("STRM-01")
def passes_the_default(array: Any) -> Any:
    """And lets its own stream wait for that."""
    got = ra.from_dlpack(Through(array, lambda given: 1 if given > 2 else given))
    own = ra.current_stream(got.device).handle if got.device.kind == "cuda" else 0
    if own > 2:
        driver("cuda").after(own, 1)
    return got


@on_cuda("STRM-18")
def passes_nothing_for_the_default(array: Any) -> Any:
    return ra.from_dlpack(Through(array, lambda given: "none" if given == 1 else given))


@on_cuda("STRM-20")
def never_waits(array: Any) -> Any:
    return ra.from_dlpack(Through(array, lambda given: -1))


@on_cuda("STRM-19")
def leaves_its_device(array: Any) -> Any:
    got = ra.from_dlpack(array)
    driver("cuda").use(got.device.id)
    return got


@on_cuda("DEV-11")
def refuses_null(array: Any) -> Any:
    if array.fields.get("data") is None:
        raise BufferError("no pointer to ask the driver about")
    return ra.from_dlpack(array)


class Believed(Array):
    """An array under the number that its producer gave it."""

    def __init__(self, source: Any, place: Any) -> None:
        super().__init__(source)
        self.place = place

    def __dlpack__(self, **keywords: Any) -> Any:
        from mutants.base import forge

        return forge(self.source.__dlpack__(**keywords), device=self.place)


@on_cuda("DEV-06")
def believes(array: Any) -> Any:
    got, place = ra.from_dlpack(array), array.__dlpack_device__()
    return got if got.device.dlpack == tuple(place) else Believed(got, place)


@on_cuda("LIFE-26")
def deletes_at_once(array: Any) -> Any:
    """It works on memory that it has given back already."""
    got = ra.from_dlpack(array)
    KEPT.append(got)
    stream = ra.current_stream("cuda:0").handle
    owned = _adversary.take(array.__dlpack__(stream=stream, max_version=(1, 3)))
    return Early(got, owned)


class Early:
    """An array of which copies are made, and whose tensor is deleted when it goes."""

    def __init__(self, source: Any, owned: Any) -> None:
        self.source, self.owned = source, owned

    def copy(self) -> Any:
        return self.source.copy()

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.source.__dlpack__(**keywords)
