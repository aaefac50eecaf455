"""Endless recursion through foreign code, run as `recursion.py CASE`: prints the exception."""

import sys
from functools import partial
from typing import Any

import refarray as ra


def nested(item: Any, depth: int) -> Any:
    for _ in range(depth):
        item = [item]
    return item


class Item:
    """Calls `again` in a special method."""

    def __init__(self, method: str, again: Any) -> None:
        self.again = again
        self.__class__ = type("Item", (Item,), {method: lambda self, *_, **__: self.again(self)})


def deep(method: str) -> Any:
    """asarray() in `method` of the only number, 62 lists deep."""
    return Item(method, lambda self: ra.asarray(nested(self, 62)))


class Sized:
    def __len__(self) -> int:
        return len(ra.asarray(nested(self, 62)))

    def __getitem__(self, index: int) -> float:
        return 0.0


class Sequence:
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        return ra.asarray(nested(self, 62))


CASES = {
    **{f"deep {name}": partial(lambda name: ra.asarray([deep(name)]), name)
       for name in ("__float__", "__index__", "__complex__", "__array__")},
    "deep __getitem__": lambda: ra.asarray(Sequence()),
    "deep __len__": lambda: ra.asarray(Sized()),
    "deep __dlpack__": lambda: ra.asarray([deep_producer()]),
    "deep __array_interface__": lambda: ra.asarray([deep_property("__array_interface__")]),
    "deep __cuda_array_interface__": lambda: ra.asarray([deep_property("__cuda_array_interface__")]),
    "assign": lambda: assign(Item("__float__", lambda self: assign(self))),
    "index": lambda: ra.zeros(3)[Item("__index__", lambda self: ra.zeros(3)[self])],
    "shape": lambda: ra.zeros(Item("__index__", ra.zeros)),
    "full": lambda: ra.full(3, Item("__float__", lambda self: ra.full(3, self))),
    "arange": lambda: ra.arange(Item("__index__", ra.arange)),
    "from_dlpack": lambda: ra.from_dlpack(producer(ra.from_dlpack)),
    "asarray of a producer": lambda: ra.asarray(producer(ra.asarray)),
    "metaclass": lambda: ra.from_dlpack(Meta("Made", (), {})()),
    # No Python function between two calls: only the interpreter's C functions are.
    "C __index__": lambda: ra.zeros((in_c_slot("__index__", ra.zeros),)),
    "C __float__": lambda: ra.asarray([in_c_slot("__float__", ra.asarray)]),
}  # fmt: skip


def in_c_slot(method: str, function: Any) -> Any:
    """A class attribute that is not a descriptor is called without `self`: a partial that has it."""
    holder = type("Recursive", (), {})
    made = holder()
    setattr(holder, method, partial(function, [made]))
    return made


def assign(value: Any) -> Any:
    array = ra.zeros(3)
    array[0] = value
    return 1.0


def deep_property(name: str) -> Any:
    holder = type("Recursive", (), {})
    made = holder()
    setattr(holder, name, property(lambda self: ra.asarray(nested(self, 62))))
    return made


def deep_producer() -> Any:
    return producer(lambda self: ra.asarray(nested(self, 62)))


def producer(again: Any) -> Any:
    methods = {
        "__dlpack__": lambda self, **_: again(self),
        "__dlpack_device__": lambda self: (1, 0),
    }
    return type("Producer", (), methods)()


class Meta(type):
    @property
    def __mro__(cls) -> Any:  # type: ignore[override]
        return ra.from_dlpack(cls())


try:
    CASES[sys.argv[1]]()
except RecursionError:
    print("RecursionError")
