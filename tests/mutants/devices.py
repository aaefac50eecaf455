"""Owns the producers of the zoo that go wrong on devices: streams, copies, kinds of memory."""

from __future__ import annotations

import ctypes
import dataclasses
import threading
from typing import Any

from mutants.answers import Asked
from mutants.base import breaks, forge
from refarray.conformance.gpu.driver_calls import VENDORS, Driver
from refarray.conformance.subjects import devices

DRIVERS: dict[str, Driver] = {}


def driver(vendor: str) -> Driver:
    """A driver, opened once."""
    if vendor not in DRIVERS:
        DRIVERS[vendor] = Driver(VENDORS[vendor])
    return DRIVERS[vendor]


def owned(kind: type, name: str = "") -> devices.OnDevice:
    """Arrays of one class on the devices of a vendor: refarray's, wrapped."""
    own = devices.of_refarray(name)
    wrap = f"{kind.__name__}({{}})".format
    return dataclasses.replace(
        own,
        array=wrap(own.array),
        write="{0}.source[...] = {1}.source",
        read="{}.source.copy()",
        pinned=wrap(own.pinned),
        managed=wrap(own.managed) if own.managed else "",
    )


class OnDevices(Asked):
    """A clean producer of refarray's arrays on devices."""

    def to_device(self, device: str, *, stream: Any = None) -> Any:
        return type(self)(self.source.to_device(device, stream=stream))

    @property
    def kind(self) -> str:
        """The vendor and sort of memory: "cuda", "cuda_host"."""
        return str(self.source.device).partition(":")[0]


def on(*vendors: str) -> Any:
    """Enters the decorated class as one with arrays on these vendors' devices."""

    def enter(name: str) -> Any:
        def wrap(kind: type) -> Any:
            return breaks(name, devices={each: owned(kind, each) for each in vendors})(kind)

        return wrap

    return enter


cuda, rocm = on("cuda"), on("rocm")


def taking(vendor: str, requirement: str, name: str, value: Any, becomes: Any) -> None:
    """An animal that takes one stream value for another, in arrays on devices."""

    class Takes(OnDevices):
        def answer(self, keywords: dict[str, Any]) -> Any:
            given = keywords["stream"]
            if type(given) is type(value) and given == value and self.kind == vendor:
                keywords["stream"] = becomes
            return super().answer(keywords)

    Takes.__name__ = Takes.__qualname__ = name
    globals()[name] = on(vendor)(requirement)(Takes)


taking("cuda", "STRM-06", "NoneIsNothing", None, -1)
taking("cuda", "STRM-07", "OneIsNothing", 1, -1)
taking("cuda", "STRM-08", "TwoIsNothing", 2, -1)
taking("cuda", "STRM-10", "ZeroIsLegacy", 0, 1)
taking("cuda", "STRM-04", "MinusOneWaits", -1, None)
taking("rocm", "STRM-11", "RocmZeroIsNothing", 0, -1)
taking("rocm", "STRM-12", "RocmOneIsDefault", 1, 0)
taking("rocm", "STRM-13", "RocmMinusOneWaits", -1, None)


def above_two(keywords: dict[str, Any]) -> bool:
    """Whether a stream's own number was passed."""
    return isinstance(keywords["stream"], int) and 2 < keywords["stream"] < 2**64


@cuda("STRM-02")
class HandleIgnored(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        plain = above_two(keywords) and not keywords["copy"] and keywords["dl_device"] is None
        return super().answer({**keywords, "stream": -1} if plain else keywords)


@cuda("STRM-02")
class OrderedOnce(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        if not above_two(keywords):
            return super().answer(keywords)
        before, self.asked = getattr(self, "asked", False), True
        return super().answer({**keywords, "stream": -1} if before else keywords)


@cuda("STRM-09")
class HandleIsLegacy(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        plain = above_two(keywords) and not keywords["copy"] and keywords["dl_device"] is None
        return super().answer({**keywords, "stream": 1} if plain else keywords)


@cuda("STRM-03")
class HostWaits(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        capsule = super().answer(keywords)
        captured = ctypes.c_int()
        if above_two(keywords) and self.kind == "cuda":
            status = ctypes.byref(captured)
            driver("cuda").code("cuStreamIsCapturing", keywords["stream"], status)
            if not captured.value:
                driver("cuda").call("wait", keywords["stream"])
        return capsule


@cuda("STRM-15")
class RemembersTheStream(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        if above_two(keywords):
            self.stream = keywords["stream"]
        return super().answer(keywords)

    def __del__(self) -> None:
        if hasattr(self, "stream"):
            driver("cuda").code("cuStreamQuery", self.stream)


@cuda("STRM-19")
class LeavesItsDevice(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        capsule = super().answer(keywords)
        if self.kind == "cuda":
            driver("cuda").use(self.source.device.id)
        return capsule


@cuda("STRM-21")
class SpoilsCaptures(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        if keywords["stream"] == -1 and self.kind == "cuda":
            event = driver("cuda").made("event", 0)
            driver("cuda").code("cuEventQuery", event)  # orders nothing, and ends a capture
        return super().answer(keywords)


@cuda("STRM-22")
class PinnedIsUnfinished(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        pinned = self.kind == "cuda_host" and keywords["stream"] is None
        return super().answer({**keywords, "stream": -1} if pinned else keywords)


@cuda("STRM-24")
class InAnotherThread(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        made: list[Any] = []
        if keywords["stream"] != 2 or threading.current_thread() is threading.main_thread():
            return super().answer(keywords)

        def work() -> None:
            made.append(Asked.answer(self, keywords))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return made[0]


@cuda("PROD-14")
class CopiesBefore(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is not True or self.kind != "cuda":
            return super().answer(keywords)
        copied = self.source.copy()
        return forge(copied.__dlpack__(**{**keywords, "copy": None}), flags=2)


@cuda("PROD-09")
class OtherError(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is False and keywords["dl_device"] == (1, 0) and self.kind == "cuda":
            raise ValueError("copy=False, and it lies on a device")
        return super().answer(keywords)


@cuda("AAPI-04")
class MovesAnywhere(OnDevices):
    def to_device(self, device: str, *, stream: Any = None) -> Any:
        self.source.__dlpack__(stream=stream)  # refuses what it has to
        return type(self)(self.source.to_device(device))


class Relabelled(OnDevices):
    """Memory of one kind under another name."""

    label = "cuda_host"
    place = (1, 0)

    def __dlpack_device__(self) -> Any:
        return self.place if self.kind == self.label else super().__dlpack_device__()

    def answer(self, keywords: dict[str, Any]) -> Any:
        capsule = super().answer(keywords)
        return forge(capsule, device=self.place) if self.kind == self.label else capsule


@cuda("DEV-04")
class PinnedIsHost(Relabelled):
    """Pinned memory, announced as plain host memory."""


@cuda("DEV-02")
class PinnedHasANumber(Relabelled):
    place = (3, 1)


@cuda("DEV-03")
class PinnedStructIsHost(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        capsule = super().answer(keywords)
        return forge(capsule, device=(1, 0)) if self.kind == "cuda_host" else capsule


@cuda("FLAG-03")
class HostCopyUnmarked(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        capsule = super().answer(keywords)
        marked = keywords["dl_device"] == (1, 0) and self.kind == "cuda"
        return forge(capsule, flags=0) if marked else capsule


@cuda("STRM-17")
class HostStreamIgnored(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        if keywords["dl_device"] == (1, 0) and above_two(keywords):
            keywords["stream"] = None
        return super().answer(keywords)


@rocm("STRM-05")
class RocmConverts(OnDevices):
    def answer(self, keywords: dict[str, Any]) -> Any:
        stream = keywords["stream"]
        bad = stream is not None and (not isinstance(stream, int) or not -1 <= stream < 2**64)
        return super().answer({**keywords, "stream": None if bad else stream})
