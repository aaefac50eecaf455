"""Drops a long chain of holders, run as `holder_chains.py KIND LINKS STACK`: arrays each of which
keeps the one before alive through an object of another library. STACK is the size of the thread's
stack in bytes; 0 stands for the main thread."""

import pickle
import sys
import threading
from collections.abc import Callable

import adversary
import refarray
from refarray import Array


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
    return refarray.from_dlpack(adversary.make(data=bytes(64), deleter=owned.drop_without_gil))


LINKS: dict[str, Callable[[Array], Array]] = {
    "buffer": refarray.from_buffer,
    "memoryview": lambda array: refarray.from_buffer(memoryview(array)),
    "readonly": lambda array: refarray.from_buffer(memoryview(array).toreadonly()),
    "pickle_buffer": lambda array: refarray.from_buffer(pickle.PickleBuffer(array)),
    "pickle": through_pickle,
    "array_interface": refarray.from_array_interface,
    "interface_object": lambda array: refarray.from_array_interface(Interface(array)),
    "deleter": through_deleter,
}
if "numpy" in sys.argv[1]:
    import numpy

    LINKS |= {
        "numpy": lambda array: refarray.from_numpy(array.numpy()),
        "numpy_dlpack": lambda array: refarray.from_dlpack(numpy.from_dlpack(array)),
        "numpy_buffer": lambda array: refarray.from_buffer(array.numpy()),
        "numpy_interface": lambda array: refarray.from_array_interface(array.numpy()),
        "numpy_asarray": lambda array: refarray.asarray(numpy.asarray(array)),
    }


def run(kind: str, links: int) -> None:
    mixed = kind.startswith("mixed")
    names = list(LINKS) if mixed else [kind]
    array = refarray.arange(16, dtype=refarray.float32)
    address = array.__array_interface__["data"][0]
    for number in range(links):
        array = LINKS[names[number % len(names)]](array)
    if not mixed and kind != "deleter":
        assert array.__array_interface__["data"][0] == address, "a link has copied"
        assert array.tolist() == list(range(16))
    print("built", flush=True)
    del array
    print("dropped", flush=True)


kind, links, stack = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if stack == 0:
    run(kind, links)
else:
    threading.stack_size(stack)
    thread = threading.Thread(target=run, args=(kind, links))
    thread.start()
    thread.join()
