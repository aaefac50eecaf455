"""The class of the arrays of refarray.strict, by the name that it has in array-api-strict."""

from __future__ import annotations

import sys
from typing import Any

import refarray_strict
from refarray.strict._devices import ALL_DEVICES, CPU_DEVICE, Device

Dtype: Any = refarray_strict.DType

__all__ = ["ALL_DEVICES", "CPU_DEVICE", "Array", "Device", "Dtype"]


class ArrayMeta(type):
    """Each device has an array type of its own, and Array stands for all of them."""

    def __call__(cls, *_args: Any, **_keywords: Any) -> Any:
        raise TypeError("Array(): asarray() and the creation functions make arrays")

    def __instancecheck__(cls, x: object) -> bool:
        return cls.__subclasscheck__(type(x))

    def __subclasscheck__(cls, kind: type) -> bool:
        space: Any = sys.modules["refarray.strict"]
        return kind is cls or kind in space._places.types


class Array(metaclass=ArrayMeta):
    """An array of refarray.strict, on any device: for isinstance() and annotations."""

    __slots__ = ()
