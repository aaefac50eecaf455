"""Recipes of the C table refarray._C_API, called through ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

from helpers.c_table import TABLE, Device, Dtype, Table
from native.corpus import FLOATS

import adversary
import refarray
from refarray import _native

from .recipe import matrix, recipe, refused

Address = ctypes.c_void_p
DELETER = 16  # the offset in a DLManagedTensorVersioned
EMPTY, FROM_TENSOR, TO_TENSOR = TABLE.empty, TABLE.from_tensor, TABLE.to_tensor
BORROW, FROM_OBJECT = TABLE.borrow, TABLE.from_object
EMPTY_FROM, MAKE_ALLOCATOR = TABLE.empty_from, TABLE.make_allocator
SHAPE = (ctypes.c_int64 * 2)(2, 3)
SHAPE_ADDRESS = ctypes.addressof(SHAPE)
FLOAT32, CPU = Dtype(2, 32, 1), Device(1, 0)
OUT = ctypes.create_string_buffer(64)
OUT_ADDRESS = ctypes.addressof(OUT)


class Tensor:
    """A managed tensor and its deleter, which is called unless from_tensor() took it."""

    def __init__(self) -> None:
        self.address = TO_TENSOR(matrix())
        deleter = Address.from_address(self.address + DELETER).value
        self.delete = ctypes.CFUNCTYPE(None, Address)(deleter or 0)
        self.taken = False

    def give(self) -> Any:
        array = FROM_TENSOR(self.address)
        self.taken = True
        return array

    def __del__(self) -> None:
        if not self.taken:
            self.delete(self.address)


#: How ctypes reports that it could not convert an argument.
INSTEAD = (ctypes.ArgumentError,)
#: The functions of the table that need a recipe.
NAMES = {f"table.c_{name}" for name, _ in Table._fields_ if name not in ("version", "size")}


class Unmade:
    """An array; the managed tensor that make() made of it is deleted when no allocation fails."""

    def __init__(self) -> None:
        self.array = matrix()
        self.address = None
        self.delete = Tensor().delete  # one function for all tensors over refarray's memory

    def make(self) -> None:
        self.address = TO_TENSOR(self.array)

    def __del__(self) -> None:
        if self.address is not None:
            self.delete(self.address)


recipe("table.c_is_array", TABLE.is_array, instead=INSTEAD)
recipe("table.c_empty", lambda _: EMPTY(FLOAT32, CPU, 2, SHAPE_ADDRESS), instead=INSTEAD)
recipe("table.c_from_tensor", lambda tensor: tensor.give(), Tensor, instead=INSTEAD)
recipe("table.c_to_tensor", lambda unmade: unmade.make(), Unmade, instead=INSTEAD)
recipe("table.c_borrow", lambda x: BORROW(x, OUT_ADDRESS, OUT_ADDRESS + 56), instead=INSTEAD)
recipe("table.c_from_object", FROM_OBJECT, instead=INSTEAD)
#: Nothing is allocated by it: the C library has no function with these arguments.
C_LIBRARY = ctypes.CDLL(None)
ALLOCATOR = (Address * 4)(*(ctypes.cast(C_LIBRARY[name], Address) for name in ("malloc", "free")))
ALLOCATOR_ADDRESS = ctypes.addressof(ALLOCATOR)


def use_none(x: Any) -> None:
    with refarray.use_allocator(None):
        refarray.zeros_like(x)


recipe("table.c_make_allocator", lambda _: MAKE_ALLOCATOR(ALLOCATOR_ADDRESS), instead=INSTEAD)
recipe("table.c_use_allocator", lambda _: TABLE.use_allocator(None), instead=INSTEAD)
recipe("table.c_empty_from", lambda _: EMPTY_FROM(None, FLOAT32, 2, SHAPE_ADDRESS),
       instead=INSTEAD)  # fmt: skip
recipe("_native._use_allocator", lambda _: _native._use_allocator(None))
refused("_native._use_allocator", TypeError, lambda _: _native._use_allocator(3))
for name in ("use_allocator", *(f"use_allocator.__{each}__" for each in ("enter", "exit", "init"))):
    recipe(name, use_none, python=True)
recipe("table.c_from_object", FROM_OBJECT, lambda: adversary.make(data=FLOATS), "foreign",
       instead=INSTEAD)  # fmt: skip
