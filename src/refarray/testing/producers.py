"""Hard producers: objects with DLPack's two methods that answer in every way a consumer meets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import refarray as ra
from refarray import Array
from refarray.conformance import _adversary
from refarray.conformance.dlpack import IS_COPIED, READ_ONLY, SUBBYTE_PADDED
from refarray.conformance.native_method import native_method

ALL_KEYWORDS = frozenset({"stream", "max_version", "dl_device", "copy"})


def is_versioned_asked(keywords: dict[str, Any]) -> bool:
    """Whether the consumer can take the versioned struct."""
    version = keywords.get("max_version")
    return version is not None and tuple(version) >= (1, 0)


def forward(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """The array's own answer."""
    return producer.array.__dlpack__(**keywords)


def legacy(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """A capsule with the legacy struct, whatever was asked."""
    return producer.array.__dlpack__(**{**keywords, "max_version": None})


def read_only(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """The READ_ONLY flag; BufferError for the legacy struct, which cannot tell."""
    return producer.array.as_readonly().__dlpack__(**keywords)


def copy(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """A copy in every answer, flagged IS_COPIED; BufferError if the consumer forbids it."""
    if keywords.get("copy") is False:
        raise BufferError("this producer has to copy, and copy=False forbids it")
    return producer.array.__dlpack__(**{**keywords, "copy": True})


def refuse(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """A BufferError."""
    raise BufferError(f"{producer!r} refuses every request, here {keywords}")


def fail(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """An exception of the producer's own, which is no refusal."""
    raise RuntimeError(f"{producer!r} failed; it was asked with {keywords}")


def slow(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """The array's own answer, 50 ms later; other threads run meanwhile."""
    time.sleep(0.05)
    return forward(producer, keywords)


def copy_tensor(array: Array, keywords: dict[str, Any], **fields: Any) -> Any:
    """A tensor with a copy of the elements and other fields than refarray would choose."""
    array.__dlpack__(**keywords)  # raises where the request cannot be met
    versioned = bool(fields.get("versioned", is_versioned_asked(keywords)))
    dtype = array.dtype
    given: dict[str, Any] = {
        "data": array.tobytes() or b"\0",
        "shape": array.shape,
        "dtype": (dtype.code, dtype.bits, dtype.lanes),
        **fields,
        "versioned": versioned,
    }
    if versioned:
        given["flags"] = (
            READ_ONLY * array.readonly
            | IS_COPIED * (keywords.get("copy") is True)
            | SUBBYTE_PADDED * dtype.padded
        )
    else:
        given.pop("version", None)
    return _adversary.make(**given).capsule()


def byte_offset(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """A tensor whose elements begin 64 bytes after its data pointer."""
    data = b"\xff" * 64 + producer.array.tobytes()
    return copy_tensor(producer.array, keywords, data=data, byte_offset=64)


def null_strides(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """A contiguous tensor of DLPack 1.1 or the legacy struct, whose strides are NULL."""
    return copy_tensor(producer.array, keywords, strides=None, version=(1, 1))


def newer_minor(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """A tensor of DLPack 1.200, which a consumer of 1.x has to accept."""
    return copy_tensor(producer.array, keywords, version=(1, 200))


def newer_major(producer: HardProducer, keywords: dict[str, Any]) -> Any:
    """A tensor of DLPack 2.0, which a consumer of 1.x must not read."""
    return copy_tensor(producer.array, keywords, version=(2, 0), versioned=True)


Answer = Callable[["HardProducer", dict[str, Any]], Any]


@dataclass(frozen=True)
class Kind:
    """How one kind of producer answers, and what consumers make of it."""

    answer: Answer
    importable: bool = True
    """Whether a consumer of the newest protocol can import it."""
    shares: bool = True
    """Whether what it gives is the array's memory."""
    keywords: frozenset[str] = ALL_KEYWORDS
    """The keywords that its `__dlpack__` has."""
    flags: bool = True
    """Whether its tensors have flags, without which read-only arrays and padded elements cannot be
    exported."""


PRODUCERS: dict[str, Kind] = {
    "versioned": Kind(forward),
    "legacy": Kind(legacy, keywords=frozenset({"stream"}), flags=False),
    "legacy-answer": Kind(legacy, flags=False),
    "read-only": Kind(read_only),
    "copying": Kind(copy, shares=False),
    "refusing": Kind(refuse, importable=False, shares=False),
    "failing": Kind(fail, importable=False, shares=False),
    "slow": Kind(slow),
    "byte-offset": Kind(byte_offset, shares=False),
    "null-strides": Kind(null_strides, shares=False),
    "newer-minor": Kind(newer_minor, shares=False),
    "newer-major": Kind(newer_major, importable=False, shares=False),
}
"""The kinds of producers, and what each one answers (the docstring of its `answer`).

"legacy" is a library of before 2023: its `__dlpack__` has no keyword but `stream`.
"legacy-answer" takes every keyword, and answers with the legacy struct all the same."""


class HardProducer:
    """An object with `__dlpack__` and `__dlpack_device__` and no other protocol."""

    def __init__(self, kind: str, array: Array | None = None) -> None:
        if kind not in PRODUCERS:
            raise ValueError(
                f"HardProducer(): kind is {kind!r}; the kinds are {', '.join(PRODUCERS)}"
            )
        self.kind = kind
        self.array: Array = (
            ra.reshape(ra.arange(6, dtype="float32"), (2, 3)) if array is None else array
        )
        """The elements that a consumer imports."""
        self.requests: list[dict[str, Any]] = []
        """The keywords of each call of `__dlpack__`."""

    @property
    def importable(self) -> bool:
        """Whether a consumer of the newest protocol imports it; otherwise it raises."""
        kind = PRODUCERS[self.kind]
        needs_flags = self.array.readonly or self.array.dtype.padded
        return kind.importable and (kind.flags or not needs_flags)

    @property
    def shares_memory(self) -> bool:
        """Whether an imported array shares the memory of `array`."""
        return PRODUCERS[self.kind].shares

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device of the array."""
        kind, number = self.array.__dlpack_device__()
        return int(kind), number

    @native_method
    def __dlpack__(self, **keywords: Any) -> Any:
        """Records the request and answers as its kind does. TypeError for unknown keywords."""
        self.requests.append(dict(keywords))
        kind = PRODUCERS[self.kind]
        for name in keywords:
            if name not in kind.keywords:
                raise TypeError(f"__dlpack__() got an unexpected keyword argument {name!r}")
        return kind.answer(self, keywords)

    def __repr__(self) -> str:
        return f"<hard producer {self.kind!r} of shape {self.array.shape}, {self.array.dtype}>"


def hard_producer(kind: str, array: Array | None = None) -> HardProducer:
    """Make a hard producer of an array of refarray, or of six float32 in two rows.

    Raises ValueError for a kind that PRODUCERS does not have.
    """
    return HardProducer(kind, array)


def hard_producers(
    kinds: Iterable[str] = tuple(PRODUCERS), array: Array | None = None
) -> list[HardProducer]:
    """Make one hard producer of each kind."""
    return [HardProducer(kind, array) for kind in kinds]
