"""Producers that mishandle the methods of the protocol: signature, keywords, copies, references."""

from __future__ import annotations

from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, fields, forge
from refarray.conformance import _adversary

LEAKED: list[Any] = []


@breaks("PROD-11")
class CopyIgnored(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        plain = keywords["copy"] is True and keywords["max_version"] and not self.source.readonly
        if plain and keywords["max_version"][0] == 1 and not hasattr(self, "asked"):
            self.asked = True  # later exports are real copies, as FLAG-05 compares two of them
            return forge(self.source.__dlpack__(**{**keywords, "copy": None}), flags=2)
        return super().export(keywords)


@breaks("PROD-16")
class LegacyCopyIgnored(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is True and keywords["max_version"] is None:
            keywords["copy"] = None
        return super().export(keywords)


@breaks("FLAG-05")
class CopyCached(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is True and keywords["max_version"]:
            if not hasattr(self, "copied"):
                self.copied = ra.copy(self.source)
            return forge(self.copied.__dlpack__(max_version=(1, 3)), flags=2)
        return super().export(keywords)


@breaks("PROD-12")
class CopiesDespiteCopyFalse(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        return super().export(
            {**keywords, "copy": True if keywords["copy"] is False else keywords["copy"]}
        )


@breaks("PROD-12")
class CopyFalseRaisesValueError(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        if keywords["copy"] is False:
            raise ValueError("cannot")
        return super().export(keywords)


@breaks("PROD-06")
class DeviceIgnored(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        device = keywords["dl_device"]
        legal = isinstance(device, tuple) and all(isinstance(part, int) for part in device)
        return super().export(
            {**keywords, "dl_device": None if legal and len(device) == 2 else device}
        )


@breaks("PROD-06")
class OtherDeviceRaisesRuntimeError(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        try:
            return super().export(keywords)
        except BufferError as error:
            if keywords["dl_device"] is None:
                raise
            raise RuntimeError("no such device") from error


@breaks("PROD-07")
class AcceptsDeviceList(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        device = keywords["dl_device"]
        return super().export(
            {**keywords, "dl_device": tuple(device) if isinstance(device, list) else device}
        )


@breaks("PROD-15")
class AcceptsTruthyCopy(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        copy = keywords["copy"]
        return super().export({**keywords, "copy": copy if copy is None else bool(copy)})


@breaks("STRM-14")
class StreamIgnored(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        stream = keywords["stream"]
        legal = isinstance(stream, int) and -1 <= stream < 3
        return super().export({**keywords, "stream": None if legal else stream})


@breaks("STRM-05")
class AcceptsInvalidStream(Array):
    def export(self, keywords: dict[str, Any]) -> Any:
        stream = keywords["stream"]
        bad = stream is not None and (not isinstance(stream, int) or stream < -1 or stream > 2**64)
        return super().export({**keywords, "stream": None if bad else stream})


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
