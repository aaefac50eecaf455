"""Producers that mishandle the methods of the protocol: signature, keywords, copies, references."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, fields, forge
from mutants.corrupting import Table
from refarray.conformance import _adversary

LEAKED: list[Any] = []
rows = Table(__name__)


def is_device(device: Any) -> bool:
    """Whether it is a pair of ints."""
    legal = isinstance(device, tuple) and all(isinstance(part, int) for part in device)
    return legal and len(device) == 2


def is_bad(stream: Any) -> bool:
    """Whether it is no stream of any device."""
    return stream is not None and (not isinstance(stream, int) or not -1 <= stream <= 2**64)


rows.ask(
    "PROD-16",
    "LegacyCopyIgnored",
    lambda _, asked: asked["copy"] is True and asked["max_version"] is None,
    copy=None,
)
rows.ask("PROD-12", "CopiesDespiteCopyFalse", lambda _, asked: asked["copy"] is False, copy=True)
rows.refuse(
    "PROD-12",
    "CopyFalseRaisesValueError",
    lambda _, asked: asked["copy"] is False,
    ValueError("cannot"),
)
rows.ask("PROD-06", "DeviceIgnored", lambda _, asked: is_device(asked["dl_device"]), dl_device=None)
rows.ask(
    "PROD-07",
    "AcceptsDeviceList",
    lambda _, asked: isinstance(asked["dl_device"], list),
    dl_device=tuple,
)
rows.ask("PROD-15", "AcceptsTruthyCopy", lambda _, asked: asked["copy"] is not None, copy=bool)
rows.ask(
    "STRM-14",
    "StreamIgnored",
    lambda _, asked: isinstance(asked["stream"], int) and -1 <= asked["stream"] < 3,
    stream=None,
)
rows.ask("STRM-05", "AcceptsInvalidStream", lambda _, asked: is_bad(asked["stream"]), stream=None)


@breaks("PROD-11")
class CopyIgnored(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        plain = keywords["copy"] is True and keywords["max_version"] and not self.source.readonly
        if plain and keywords["max_version"][0] == 1 and not hasattr(self, "asked"):
            self.asked = True  # later exports are real copies, as FLAG-05 compares two of them
            return forge(self.source.__dlpack__(**{**keywords, "copy": None}), flags=2)
        return super().export(keywords)


@breaks("FLAG-05")
class CopyCached(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is True and keywords["max_version"]:
            if not hasattr(self, "copied"):
                self.copied = ra.copy(self.source)
            return forge(self.copied.__dlpack__(max_version=(1, 3)), flags=2)
        return super().export(keywords)


@breaks("PROD-06")
class OtherDeviceRaisesRuntimeError(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        try:
            return super().export(keywords)
        except BufferError as error:
            if keywords["dl_device"] is None:
                raise
            raise RuntimeError("no such device") from error


@breaks("PROD-12")
class OtherDeviceWithoutCopyRaisesValueError(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is False and keywords["dl_device"] == (2, 0):
            raise ValueError("cannot move it without a copy")
        return super().export(keywords)


@breaks("PROD-12")
class OwnDeviceCopiesAnyway(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        device = keywords["dl_device"]
        if keywords["copy"] is False and device == (1, 0) and keywords["max_version"] == (1, 3):
            self.kept = ra.copy(self.source)
            return self.kept.__dlpack__(max_version=(1, 3))
        return super().export(keywords)


@breaks("PROD-01")
class PositionalKeywords(Array):
    def __dlpack__(
        self, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        return self.source.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


@breaks("PROD-02")
class AcceptsUnknownKeywords(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
        **_: Any,
    ) -> Any:
        return self.source.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


@breaks("AAPI-02")
class DefaultIsNotNone(Array):
    def __dlpack__(
        self,
        *,
        stream: Any = "default",
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        return self.source.__dlpack__(
            stream=None if stream == "default" else stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=copy,
        )


@breaks("AAPI-02")
class OpaqueSignature(Array):
    def __dlpack__(self, **keywords: Any) -> Any:
        return self.source.__dlpack__(**keywords)


@breaks("PROD-17")
class ReshapesOnExport(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        if self.source.strides == (2,):
            self.source = ra.reshape(self.source, (3, 1))
        return capsule


@breaks("LIFE-22")
class LeaksArray(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        if self.source.shape == (6,):  # leaking big arrays would also break LIFE-01
            LEAKED.append(self)
        return capsule


@breaks("LIFE-21")
class LeaksOnRefusal(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        try:
            return super().export(keywords)
        except BufferError:
            LEAKED.append(self)
            raise


@breaks("CONS-02")
class NoDeviceMethod:
    """Has `__dlpack__` but no `__dlpack_device__`."""

    __init__, export, __dlpack__ = Array.__init__, Array.export, Array.__dlpack__


@breaks("TENS-16")
class ShapeDiesWithArray(Array):
    """The exported shape is owned by the array and is overwritten when the array is destroyed."""

    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        if self.source.shape != (3, 2):
            return capsule
        KEPT.append(capsule)
        self.tensor = _adversary.make(**fields(capsule))
        return self.tensor.capsule()

    def __del__(self) -> None:
        if hasattr(self, "tensor") and not self.tensor.deleter_calls:
            self.tensor.scramble()
