"""A module is torn down before its interpreter: buffers borrowed by its arrays are released."""

import gc
import importlib.util
import weakref

import adversary
from refarray import _native

SPEC = importlib.util.spec_from_file_location("refarray._native", _native.__file__)
released = []


class Exporter(bytearray):
    def __del__(self) -> None:
        released.append(bytes(self))


def another_module():
    """Import a new copy of the module; the interpreter keeps the last one alive."""
    module = importlib.util.module_from_spec(SPEC)
    SPEC.loader.exec_module(module)
    return module


first = another_module()
owned = adversary.take(first.from_buffer(Exporter(b"abcd")).__dlpack__(max_version=(1, 3)))
reference = weakref.ref(first)
del first
another_module()
gc.collect()
# Free-threaded builds make types immortal, and with them their module.
assert reference() is None or _native._build_info()["free_threading"]
assert (owned.read(4), released) == (b"abcd", [])
owned.drop()
assert released == [b"abcd"]
print("given back", flush=True)
