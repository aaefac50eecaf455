"""Uses of the stack that could overflow it, run as one of these:

`stack_use.py chain KIND LINKS STACK` drops a long chain of holders: arrays each of which keeps the
one before alive through an object of another library. STACK is the size of the thread's stack in
bytes; 0 stands for the main thread.

`stack_use.py recursion CASE` recurses through foreign code without end, and prints the exception.
"""

import pickle
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import adversary
import refarray as ra
from refarray import Array

# --- Chains


class Interface:
    """Describes an array's memory, and keeps the array."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


def through_pickle(array: Array) -> Array:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
    loaded: Array = pickle.loads(data, buffers=buffers)
    return loaded


def through_deleter(array: Array) -> Array:
    """A managed tensor of another library whose deleter drops one of ours."""
    owned = adversary.take(array.__dlpack__(max_version=(1, 3)))
    return ra.from_dlpack(adversary.make(data=bytes(64), deleter=owned.drop_without_gil))


LINKS: dict[str, Callable[[Array], Array]] = {
    "buffer": ra.from_buffer,
    "memoryview": lambda array: ra.from_buffer(memoryview(array)),
    "readonly": lambda array: ra.from_buffer(memoryview(array).toreadonly()),
    "pickle_buffer": lambda array: ra.from_buffer(pickle.PickleBuffer(array)),
    "pickle": through_pickle,
    "array_interface": ra.from_array_interface,
    "interface_object": lambda array: ra.from_array_interface(Interface(array)),
    "deleter": through_deleter,
}
if "numpy" in sys.argv[2]:
    import numpy

    LINKS |= {
        "numpy": lambda array: ra.from_numpy(array.numpy()),
        "numpy_dlpack": lambda array: ra.from_dlpack(numpy.from_dlpack(array)),
        "numpy_buffer": lambda array: ra.from_buffer(array.numpy()),
        "numpy_interface": lambda array: ra.from_array_interface(array.numpy()),
        "numpy_asarray": lambda array: ra.asarray(numpy.asarray(array)),
    }


def run(kind: str, links: int) -> None:
    mixed = kind.startswith("mixed")
    names = list(LINKS) if mixed else [kind]
    array = ra.arange(16, dtype=ra.float32)
    address = array.__array_interface__["data"][0]
    for number in range(links):
        array = LINKS[names[number % len(names)]](array)
    if not mixed and kind != "deleter":
        assert array.__array_interface__["data"][0] == address, "a link has copied"
        assert array.tolist() == list(range(16))
    print("built", flush=True)
    del array
    print("dropped", flush=True)


# --- Recursion


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
       for name in ("__index__", "__array__")},
    "deep __getitem__": lambda: ra.asarray(Sequence()),
    "deep __len__": lambda: ra.asarray(Sized()),
    "deep __dlpack__": lambda: ra.asarray([deep_producer()]),
    "deep __array_interface__": lambda: ra.asarray([deep_property("__array_interface__")]),
    "deep __cuda_array_interface__": lambda: ra.asarray(
        [deep_property("__cuda_array_interface__")]
    ),
    "assign": lambda: assign(Item("__index__", lambda self: assign(self))),
    "index": lambda: ra.zeros(3)[Item("__index__", lambda self: ra.zeros(3)[self])],
    "shape": lambda: ra.zeros(Item("__index__", ra.zeros)),
    "full": lambda: ra.full(3, Item("__index__", lambda self: ra.full(3, self))),
    "arange": lambda: ra.arange(Item("__index__", ra.arange)),
    "from_dlpack": lambda: ra.from_dlpack(producer(ra.from_dlpack)),
    "asarray of a producer": lambda: ra.asarray(producer(ra.asarray)),
    # No Python function between two calls: only the interpreter's C functions are.
    "C __index__": lambda: ra.zeros((in_c_slot("__index__", ra.zeros),)),
}  # fmt: skip


def in_c_slot(method: str, function: Any) -> Any:
    """A static method is called without `self`; the partial has it."""
    holder = type("Recursive", (), {})
    made = holder()
    setattr(holder, method, staticmethod(partial(function, [made])))
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


if sys.argv[1] == "chain":
    kind, links, stack = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if stack == 0:
        run(kind, links)
    else:
        threading.stack_size(stack)
        thread = threading.Thread(target=run, args=(kind, links))
        thread.start()
        thread.join()
else:
    try:
        CASES[sys.argv[2]]()
    except RecursionError:
        print("RecursionError")
