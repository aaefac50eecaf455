"""Correct classes that are no array libraries, each with an adapter of three lines: limits that an
adapter does not declare must not become findings."""

from __future__ import annotations

import array
from typing import Any

import refarray as ra
from refarray.conformance import Subject

ALL = ("SERIES", "BUFFER", "IMAGE", "SINGLE", "ROWS", "OLD", "GIVEN_ONLY")
"""The adapters of this module."""


class Exports:
    """Forwards both methods to an array of refarray's."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.data.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()


class Series(Exports):
    """One axis only, in both directions, as a column of a table."""

    def tolist(self) -> Any:
        return self.data.tolist()

    @classmethod
    def of(cls, producer: Any) -> Series:
        data = ra.from_dlpack(producer)
        if data.ndim != 1:
            raise BufferError(f"a series has 1 axis, not {data.ndim}")
        return cls(data)


SERIES = Subject(
    "series",
    "import refarray as ra; from helpers.other_classes import Series",
    arrays={"plain": "Series(ra.arange(6, dtype='float32'))"},
    from_dlpack="Series.of({})",
)


class Buffer:
    """A typed buffer over array.array, exported through a memoryview; imports are copies."""

    def __init__(self, values: Any) -> None:
        self.memory = array.array("f", values)

    def tolist(self) -> list[float]:
        return self.memory.tolist()

    def __dlpack__(self, **keywords: Any) -> Any:
        return ra.asarray(memoryview(self.memory), copy=False).__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    @classmethod
    def of(cls, producer: Any) -> Buffer:
        data = ra.from_dlpack(producer)
        if data.ndim != 1 or data.dtype != ra.float32:
            raise BufferError(f"a buffer holds float32 on 1 axis, not {data.dtype} on {data.ndim}")
        return cls(data.tolist())


BUFFER = Subject(
    "buffer",
    "from helpers.other_classes import Buffer",
    arrays={"plain": "Buffer(range(6))"},
    dtypes=("float32",),
    from_dlpack="Buffer.of({})",
)


class Image(Exports):
    """Rows of pixels of three bytes, as an image library has them; it imports nothing."""


IMAGE = Subject(
    "image",
    "import refarray as ra; from helpers.other_classes import Image",
    arrays={"plain": "Image(ra.reshape(ra.arange(12, dtype='uint8'), (2, 2, 3)))"},
)


class Single(Exports):
    """float32 only, of any shape."""

    def tolist(self) -> Any:
        return self.data.tolist()

    @classmethod
    def of(cls, producer: Any) -> Single:
        data = ra.from_dlpack(producer)
        if data.dtype != ra.float32:
            raise TypeError(f"only float32, not {data.dtype}")
        return cls(data)


SINGLE = Subject(
    "single",
    "import refarray as ra; from helpers.other_classes import Single",
    arrays={"plain": "Single(ra.arange(6, dtype='float32'))"},
    from_dlpack="Single.of({})",
)


class Rows(Exports):
    """Two axes of int64 only, such as a table of indices; no empty ones."""

    @classmethod
    def of(cls, producer: Any) -> Rows:
        data = ra.from_dlpack(producer)
        if data.ndim != 2 or data.dtype != ra.int64 or 0 in data.shape:
            raise ValueError("rows of int64")
        return cls(ra.asarray(data, copy=True))


ROWS = Subject(
    "rows",
    "import refarray as ra; from helpers.other_classes import Rows",
    arrays={"plain": "Rows(ra.reshape(ra.arange(6), (2, 3)))"},
    from_dlpack="Rows.of({})",
)


class Old:
    """A producer and consumer as of 2021: legacy capsules, and no keyword but stream."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __dlpack__(self, stream: Any = None) -> Any:
        """A legacy capsule. TypeError for other keywords, as every Python function."""
        return self.data.__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    @classmethod
    def of(cls, producer: Any) -> Old:
        return cls(ra.from_dlpack(producer, max_version=None))


OLD = Subject(
    "old",
    "import refarray as ra; from helpers.other_classes import Old",
    arrays={"plain": "Old(ra.arange(6, dtype='float32'))"},
    from_dlpack="Old.of({})",
)


def total(producer: Any) -> float:
    """The sum of float32 values; nothing of the input is kept, and nothing is exported."""
    data = ra.from_dlpack(producer)
    if data.ndim != 1 or data.dtype != ra.float32:
        raise BufferError("float32 on 1 axis")
    return float(sum(data.tolist()))


GIVEN_ONLY = Subject(
    "given_only", "from helpers.other_classes import total", from_dlpack="total({})"
)
