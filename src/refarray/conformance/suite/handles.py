"""Devices whose `data` is a handle: what an import has to leave of the tensor that was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refarray._describe import device_type_text
from refarray.conformance.cases import NotApplicable
from refarray.conformance.dlpack import HANDLES
from refarray.conformance.suite.reading import Verdict

OFFSET_KEPT = "exported again, it begins where it did: byte_offset came along with the handle"


def require_handle(device_type: int) -> None:
    """NotApplicable unless the data of that device type is a handle."""
    if device_type not in HANDLES:
        kinds = ", ".join(f"{each} ({name})" for each, name in HANDLES.items())
        where = device_type_text(device_type)
        raise NotApplicable(f"its arrays lie on device type {where}; handles are on {kinds}")


def handle_is_kept(sent: Mapping[str, Any], held: Mapping[str, Any]) -> Verdict:
    """Whether data is the handle that was sent, on its device."""
    before, after = ((each["data"], tuple(each["device"])) for each in (sent, held))
    return before == after, f"exported again with {place_text(held)}; sent with {place_text(sent)}"


def start_is_kept(sent: Mapping[str, Any], held: Mapping[str, Any]) -> Verdict:
    """Whether data + byte_offset is what it was, whichever of the two carries the offset."""
    before, after = (int(each["data"] or 0) + int(each["byte_offset"]) for each in (sent, held))
    return before == after, f"exported again with {place_text(held)}; sent with {place_text(sent)}"


def place_text(fields: Mapping[str, Any]) -> str:
    """The place of a tensor's data in words."""
    data, device = int(fields["data"] or 0), tuple(fields["device"])
    return f"data {data:#x}, byte_offset {fields['byte_offset']} on device {device}"
