"""Consumers that refuse, or copy, what differs from a plain array in one property."""

from __future__ import annotations

from typing import Any

import refarray as ra
from refarray.conformance import Subject


def take_compact(x: Any) -> Any:
    """Refuses strides, read-only data, small dtypes and more than one axis."""
    data = ra.from_dlpack(x)
    if data.strides != (1,) or data.readonly or data.itemsize < 4:
        raise BufferError("compact arrays only")
    return data


def take_aligned(x: Any) -> Any:
    """Copies what is not aligned to 64 bytes."""
    data = ra.from_dlpack(x)
    seen = ra.inspect(data)
    return data if (seen.data + seen.byte_offset) % 64 == 0 else data.copy()


compact, aligned = (
    Subject(
        name, f"from helpers.picky_consumers import take_{name}", from_dlpack=f"take_{name}({{}})"
    )
    for name in ("compact", "aligned")
)
