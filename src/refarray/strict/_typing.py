"""Types for annotations, by the names that they have in array-api-strict."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar

from refarray.strict._array_object import Array, Device, Dtype

__all__ = [
    "Array",
    "Capabilities",
    "DType",
    "DataTypes",
    "DefaultDataTypes",
    "Device",
    "Dtype",
    "NestedSequence",
    "PyCapsule",
    "SupportsBufferProtocol",
    "SupportsDLPack",
]

DType = Dtype
PyCapsule = Any
if TYPE_CHECKING or sys.version_info < (3, 12):
    SupportsBufferProtocol = Any
else:
    from collections.abc import Buffer as SupportsBufferProtocol

T_co = TypeVar("T_co", covariant=True)


class NestedSequence(Protocol[T_co]):
    """A sequence of elements, or of such sequences."""

    def __getitem__(self, key: int, /) -> T_co | NestedSequence[T_co]: ...

    def __len__(self, /) -> int: ...


class SupportsDLPack(Protocol):
    """An object that exports its memory by DLPack."""

    def __dlpack__(self, /, *, stream: None = ...) -> Any: ...


Capabilities = TypedDict(
    "Capabilities",
    {"boolean indexing": bool, "data-dependent shapes": bool, "max dimensions": int},
)
DefaultDataTypes = TypedDict(
    "DefaultDataTypes",
    {"real floating": Any, "complex floating": Any, "integral": Any, "indexing": Any},
)
#: What the method dtypes() of __array_namespace_info__() returns: dtypes by name.
DataTypes = dict[str, Any]
