"""Consumers that mishandle device memory: wrappers around refarray.from_dlpack."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, Relabelled, breaks
from mutants.consumer_negotiation import Proxy
from mutants.producer_devices import driver
from refarray.conformance import _adversary
from refarray.conformance.subjects import devices

DEVICES = {"cuda": devices.of_refarray("cuda")}


def on_cuda(name: str) -> Any:
    """Decorator: registers a function as a consumer with refarray's arrays on CUDA devices."""
    return breaks(name, devices=DEVICES)


class StreamProxy(Proxy):
    """Replaces the stream by `stream(value)`; "none" leaves the keyword out."""

    def __init__(self, array: Any, stream: Any) -> None:
        super().__init__(array)
        self.stream = stream

    def export(self, **keywords: Any) -> Any:
        if "stream" in keywords:
            keywords["stream"] = self.stream(keywords["stream"])
        if keywords.get("stream", 0) == "none":
            del keywords["stream"]
        return super().export(**keywords)


@on_cuda("STRM-01")
def passes_legacy_default_stream(array: Any) -> Any:
    """Correct data, as its own stream then waits for the default stream, but the wrong handle."""
    got = ra.from_dlpack(StreamProxy(array, lambda given: 1 if given > 2 else given))
    own = ra.current_stream(got.device).handle if got.device.kind == "cuda" else 0
    if own > 2:
        driver("cuda").after(own, 1)
    return got


@on_cuda("STRM-18")
def omits_stream_for_default(array: Any) -> Any:
    return ra.from_dlpack(StreamProxy(array, lambda given: "none" if given == 1 else given))


@on_cuda("STRM-20")
def passes_minus_one(array: Any) -> Any:
    return ra.from_dlpack(StreamProxy(array, lambda given: -1))


@on_cuda("STRM-19")
def changes_current_device(array: Any) -> Any:
    got = ra.from_dlpack(array)
    if got.device.kind == "cuda":  # the kit tries the expression on the host first
        driver("cuda").use(got.device.id)
    return got


@on_cuda("DEV-11")
def refuses_null_data(array: Any) -> Any:
    if array.fields.get("data") is None:
        raise BufferError("data is NULL")
    return ra.from_dlpack(array)


@on_cuda("DEV-06")
def trusts_announced_device(array: Any) -> Any:
    got, place = ra.from_dlpack(array), array.__dlpack_device__()
    return got if got.device.dlpack == tuple(place) else Relabelled(got, device=place)


@on_cuda("LIFE-26")
def deletes_before_work_ends(array: Any) -> Any:
    """Calls the deleter while work on the memory is still enqueued."""
    got = ra.from_dlpack(array)
    if got.device.kind != "cuda":
        return got
    KEPT.append(got)
    stream = ra.current_stream("cuda:0").handle
    owned = _adversary.take(array.__dlpack__(stream=stream, max_version=(1, 3)))
    return EarlyDeleted(got, owned)


class EarlyDeleted(Array):
    """An array that can be copied; its tensor is deleted when it is destroyed."""

    def __init__(self, source: Any, owned: Any) -> None:
        super().__init__(source)
        self.owned = owned

    def copy(self) -> Any:
        return self.source.copy()
