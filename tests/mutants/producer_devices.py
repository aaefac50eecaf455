"""Producers that mishandle device memory: streams, copies, kinds of memory, the current device."""

from __future__ import annotations

import ctypes
import dataclasses
import threading
from typing import Any

from mutants.base import Array, breaks, forge
from mutants.corrupting import Table
from refarray.conformance.gpu.driver_calls import VENDORS, Driver
from refarray.conformance.subjects import devices

DRIVERS: dict[str, Driver] = {}


def driver(vendor: str) -> Driver:
    """The driver of a vendor, opened at the first call."""
    if vendor not in DRIVERS:
        DRIVERS[vendor] = Driver(VENDORS[vendor])
    return DRIVERS[vendor]


def on_devices(kind: type, name: str = "") -> devices.OnDevice:
    """refarray's arrays on a vendor's devices, wrapped in the class `kind`."""
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


class DeviceProducer(Array):
    """A correct producer that wraps refarray's arrays on devices."""

    def to_device(self, device: str, *, stream: Any = None) -> Any:
        return type(self)(self.source.to_device(device, stream=stream))

    @property
    def kind(self) -> str:
        """The device type's name: "cuda", "cuda_host"."""
        return str(self.source.device).partition(":")[0]


def on(*vendors: str) -> Any:
    """Decorator factory: registers a class as a mutant with arrays on these vendors' devices."""

    def breaking(name: str) -> Any:
        def wrap(kind: type) -> Any:
            return breaks(name, devices={each: on_devices(kind, each) for each in vendors})(kind)

        return wrap

    return breaking


cuda, rocm = on("cuda"), on("rocm")


def stream_mutant(vendor: str, requirement: str, name: str, value: Any, becomes: Any) -> None:
    """A mutant that treats the stream `value` as `becomes`, for arrays on devices."""

    def selects(array: Any, asked: Any) -> bool:
        given = asked["stream"]
        return type(given) is type(value) and given == value and array.kind == vendor

    Table(__name__, on(vendor)).ask(requirement, name, selects, DeviceProducer, stream=becomes)


stream_mutant("cuda", "STRM-06", "NoneIsNoSync", None, -1)
stream_mutant("cuda", "STRM-07", "OneIsNoSync", 1, -1)
stream_mutant("cuda", "STRM-08", "TwoIsNoSync", 2, -1)
stream_mutant("cuda", "STRM-10", "ZeroIsLegacy", 0, 1)
stream_mutant("cuda", "STRM-04", "MinusOneSyncs", -1, None)
stream_mutant("rocm", "STRM-11", "RocmZeroIsNoSync", 0, -1)
stream_mutant("rocm", "STRM-12", "RocmOneIsDefault", 1, 0)
stream_mutant("rocm", "STRM-13", "RocmMinusOneSyncs", -1, None)


def is_handle(keywords: dict[str, Any]) -> bool:
    """Whether `stream` is a stream handle, not one of the reserved values -1 to 2."""
    return isinstance(keywords["stream"], int) and 2 < keywords["stream"] < 2**64


def is_plain_handle(_: Any, keywords: dict[str, Any]) -> bool:
    """Whether a stream handle is passed, and neither a copy nor a device is asked for."""
    return is_handle(keywords) and not keywords["copy"] and keywords["dl_device"] is None


def is_invalid(_: Any, keywords: dict[str, Any]) -> bool:
    """Whether `stream` is no stream of any device."""
    stream = keywords["stream"]
    return stream is not None and (not isinstance(stream, int) or not -1 <= stream < 2**64)


rows = Table(__name__, cuda)
rows.ask("STRM-02", "HandleIgnored", is_plain_handle, DeviceProducer, stream=-1)
rows.ask("STRM-09", "HandleIsLegacy", is_plain_handle, DeviceProducer, stream=1)
rows.ask(
    "STRM-22",
    "PinnedWithoutSync",
    lambda array, asked: array.kind == "cuda_host" and asked["stream"] is None,
    DeviceProducer,
    stream=-1,
)
rows.ask(
    "STRM-17",
    "CpuExportIgnoresStream",
    lambda _, asked: asked["dl_device"] == (1, 0) and is_handle(asked),
    DeviceProducer,
    stream=None,
)
rows.refuse(
    "PROD-09",
    "CopyFalseToCpuRaisesValueError",
    lambda array, asked: (
        asked["copy"] is False and asked["dl_device"] == (1, 0) and array.kind == "cuda"
    ),
    ValueError("copy=False, but the data is on a device"),
    DeviceProducer,
)
Table(__name__, rocm).ask(
    "STRM-05", "RocmAcceptsInvalidStream", is_invalid, DeviceProducer, stream=None
)


@cuda("STRM-02")
class SyncsFirstExportOnly(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        if not is_handle(keywords):
            return super().export(keywords)
        before, self.asked = getattr(self, "asked", False), True
        return super().export({**keywords, "stream": -1} if before else keywords)


@cuda("STRM-03")
class BlocksHost(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        captured = ctypes.c_int()
        if is_handle(keywords) and self.kind == "cuda":
            status = ctypes.byref(captured)
            driver("cuda").code("cuStreamIsCapturing", keywords["stream"], status)
            if not captured.value:
                driver("cuda").call("wait", keywords["stream"])
        return capsule


@cuda("STRM-15")
class UsesStreamLater(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        if is_handle(keywords):
            self.stream = keywords["stream"]
        return super().export(keywords)

    def __del__(self) -> None:
        if hasattr(self, "stream"):
            driver("cuda").code("cuStreamQuery", self.stream)


@cuda("STRM-19")
class ChangesCurrentDevice(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        if self.kind == "cuda":
            driver("cuda").use(self.source.device.id)
        return capsule


@cuda("STRM-21")
class InvalidatesCaptures(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["stream"] == -1 and self.kind == "cuda":
            event = driver("cuda").made("event", 0)
            driver("cuda").code("cuEventQuery", event)  # orders nothing, but invalidates a capture
        return super().export(keywords)


@cuda("STRM-24")
class ExportsFromOtherThread(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        made: list[Any] = []
        if keywords["stream"] != 2 or threading.current_thread() is threading.main_thread():
            return super().export(keywords)

        def work() -> None:
            made.append(Array.export(self, keywords))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return made[0]


@cuda("PROD-14")
class CopyNotOrdered(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is not True or self.kind != "cuda":
            return super().export(keywords)
        copied = self.source.copy()
        return forge(copied.__dlpack__(**{**keywords, "copy": None}), flags=2)


@cuda("AAPI-04")
class ToDeviceIgnoresStream(DeviceProducer):
    def to_device(self, device: str, *, stream: Any = None) -> Any:
        self.source.__dlpack__(stream=stream)  # rejects invalid streams
        return type(self)(self.source.to_device(device))


class Relabelled(DeviceProducer):
    """Exports memory of the kind `label` under the device `place`."""

    label = "cuda_host"
    place = (1, 0)

    def __dlpack_device__(self) -> Any:
        return self.place if self.kind == self.label else super().__dlpack_device__()

    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        return forge(capsule, device=self.place) if self.kind == self.label else capsule


rows.derive("DEV-04", "PinnedIsHost", Relabelled)
rows.derive("DEV-02", "PinnedWithDeviceId", Relabelled, place=(3, 1))


@cuda("DEV-03")
class PinnedStructSaysCpu(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        return forge(capsule, device=(1, 0)) if self.kind == "cuda_host" else capsule


@cuda("FLAG-03")
class CpuCopyWithoutFlag(DeviceProducer):
    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        marked = keywords["dl_device"] == (1, 0) and self.kind == "cuda"
        return forge(capsule, flags=0) if marked else capsule
