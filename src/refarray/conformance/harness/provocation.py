"""Says what of a tensor's fields is malformed: reports name it where a library crashed or hung."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from refarray._describe import code_text, device_type_text

SIZE = 64
"""The bytes of the default data."""
LARGE = 2**40
"""Extents and strides from here on reach past any memory of the kit."""


def provoked(fields: Mapping[str, Any]) -> str:
    """The malformed or protected parts of the tensor that give(**fields) makes, in words; empty
    for a valid tensor in ordinary memory."""
    return "; ".join([*_memory(fields), *_members(fields), *_arithmetic(fields)])


def _memory(fields: Mapping[str, Any]) -> list[str]:
    """The pages on which the tensor lies, and its data."""
    out = []
    if fields.get("unmapped_body"):
        out.append("all members after flags lie on a page without access")
    if fields.get("guarded"):
        out.append("shape and strides end at a page without access")
    if fields.get("frozen"):
        out.append("the struct, shape and strides lie on a read-only page")
    data = fields.get("data", b"")
    if isinstance(data, int):
        out.append(f"data is {data:#x}, which is not mapped")
    if data is None and prod(fields.get("shape") or (1,)) != 0:
        out.append("data is NULL")
    return out


def _members(fields: Mapping[str, Any]) -> list[str]:
    """Members with a value that is wrong by itself, or that others contradict."""
    out = []
    shape, version = fields.get("shape", (3,)), fields.get("version")
    if "ndim" in fields:
        if isinstance(shape, tuple) and fields["ndim"] != len(shape):
            out.append(f"ndim says {fields['ndim']}, while shape has {len(shape)} entries")
        elif shape is None and fields["ndim"]:
            out.append(f"shape is NULL, while ndim says {fields['ndim']}")
        elif isinstance(shape, int):
            out.append(f"shape is the address {shape:#x}, which is not mapped")
    if version is not None and version[0] != 1:
        out.append(f"the version is {version[0]}.{version[1]}")
    dtype = fields.get("dtype", (2, 32, 1))
    if dtype[2] != 1 or dtype[0] > 17 or (dtype[0], dtype[1]) in {(6, 1), (15, 8), (17, 8)}:
        code, bits, lanes = dtype
        out.append(f"the dtype is (code {code_text(code)}, {bits} bits, {lanes} lanes)")
    device = fields.get("device", (1, 0))
    if device[0] != 1:
        out.append(f"the device type is {device_type_text(device[0])}")
    if "deleter" in fields and fields["deleter"] is None:
        out.append("the deleter is NULL")
    if fields.get("manager_ctx") is False:
        out.append("manager_ctx is NULL")
    return out


def _arithmetic(fields: Mapping[str, Any]) -> list[str]:
    """Extents, strides and offsets that reach past the memory."""
    out = []
    shape, strides = fields.get("shape", (3,)), fields.get("strides", ())
    if isinstance(shape, tuple):
        if any(extent < 0 for extent in shape):
            out.append(f"shape {shape} has a negative extent")
        elif prod(shape) >= LARGE:
            out.append(f"shape {shape} describes more than there is memory")
    if isinstance(strides, tuple) and any(abs(stride) >= LARGE for stride in strides):
        out.append(f"strides {strides} reach past the memory")
    if strides is None and shape not in ((), None):
        out.append("strides is NULL")
    if fields.get("byte_offset", 0) >= SIZE:
        out.append(f"byte_offset {fields['byte_offset']} lies past the memory")
    return out
