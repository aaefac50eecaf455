"""A lookup that fails after a cached exchange table returned complex data: the tensor is released.

refarray caches the tables of 16 types per interpreter, so this needs a fresh one.
"""

import struct

import adversary
import refarray

failing = False


class Meta(type):
    @property
    def __mro__(cls):
        if failing:
            raise LookupError("no MRO")
        return type.__dict__["__mro__"].__get__(cls)


class Producer(metaclass=Meta):
    __dlpack_c_exchange_api__ = adversary.table().capsule()

    def __init__(self, tensor):
        self.tensor = tensor


data = struct.pack("4f", 0, 1, 2, 3)
refarray.from_dlpack(Producer(adversary.make(shape=(2,), data=data)))  # caches the table
tensor = adversary.make(dtype=(5, 64, 1), shape=(2,), data=data)
failing = True
try:
    refarray.from_dlpack(Producer(tensor))
except LookupError as error:
    assert str(error) == "no MRO"  # noqa: PT017
    print("released" if tensor.deleter_calls == 1 else f"{tensor.deleter_calls} deleter calls")
