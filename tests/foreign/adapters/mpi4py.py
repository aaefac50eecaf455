"""mpi4py's tests: refarray's arrays as one more kind of message buffer, beside array.array and
NumPy."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, ClassVar

import numpy

import refarray
from foreign import exchanges

#: The dtypes of mpi4py's type codes.
DTYPES = {code: numpy.dtype(code).name for code in "?bhilqBHILQfdFD"}


class Elements:
    """An array of refarray whose elements are Python numbers. It exports DLPack, but no buffer."""

    def __init__(self, array: refarray.Array) -> None:
        self.array = array

    def __len__(self) -> int:
        return self.array.size

    def __getitem__(self, key: Any) -> Any:
        return refarray.reshape(self.array, (-1,))[key].tolist()

    def __setitem__(self, key: Any, value: Any) -> None:
        refarray.reshape(self.array, (-1,), copy=False)[key] = getattr(value, "array", value)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.array.__dlpack_device__()


def backends(arrayimpl: ModuleType) -> list[type]:
    """Two classes for mpi4py's list of array implementations."""

    class ArrayRefarray(arrayimpl.BaseArray):  # type: ignore[misc, name-defined]
        backend = "refarray"
        TypeMap: ClassVar = {code: arrayimpl.ArrayNumPy.TypeMap[code] for code in DTYPES}

        def __init__(self, arg: Any, typecode: str, shape: Any = None) -> None:
            number = isinstance(arg, (int, float, complex))
            if shape is None:
                shape = () if number else len(arg)
            self.typecode = typecode
            self.array = refarray.zeros(shape, dtype=DTYPES[typecode])
            values = numpy.asarray(arg).astype(typecode)  # mpi4py wraps -1 to unsigned
            self.array[...] = refarray.from_numpy(values)

        def __getitem__(self, i: Any) -> Any:
            return self.array[i].tolist()

        @property
        def address(self) -> int:
            address: int = self.array.__array_interface__["data"][0]
            return address

        @property
        def itemsize(self) -> int:
            return self.array.itemsize

        @property
        def flat(self) -> Elements:
            return Elements(self.array)

        @property
        def size(self) -> int:
            return self.array.size

        def as_raw(self) -> Any:
            exchanges.note()
            return self.array

    class DLPackRefarray(ArrayRefarray):
        backend = "refarray-dlpack"

        def as_raw(self) -> Any:
            exchanges.note()
            return Elements(self.array)

    return [ArrayRefarray, DLPackRefarray]


def numbers(array: Any) -> Any:
    return array.tolist() if isinstance(array, refarray.Array) else array


def messages(module: ModuleType) -> None:
    """Puts refarray into the classes of test_msgspec that test one array library each."""

    def make(self: Any, typecode: str, initializer: Any) -> Elements:
        return Elements(refarray.asarray(list(initializer), dtype=DTYPES[typecode]))

    def as_buffer(message: Any) -> Any:
        if isinstance(message, Elements):
            return message.array
        if isinstance(message, list) and message and isinstance(message[0], Elements):
            return [message[0].array, *message[1:]]
        return message

    def sendrecv(smsg: Any, rmsg: Any) -> None:
        """Sends an array as a buffer in the class of array.array, through DLPack in the others."""
        exchanges.note(sum(isinstance(first(message), Elements) for message in (smsg, rmsg)))
        if as_buffers:
            smsg, rmsg = as_buffer(smsg), as_buffer(rmsg)
        plain(smsg, rmsg)

    def first(message: Any) -> Any:
        return message[0] if isinstance(message, list) and message else message

    plain, as_buffers = module.Sendrecv, False

    class Buffers(module.TestMessageSimpleArray):  # type: ignore[misc, name-defined]
        array = make

        def setUp(self) -> None:
            nonlocal as_buffers
            as_buffers = True
            self.addCleanup(self.done)

        def done(self) -> None:
            nonlocal as_buffers
            as_buffers = False

    module.Sendrecv = sendrecv
    module.TestMessageSimpleArray = Buffers
    module.TestMessageSimpleDLPackCPUBuf.array = make
    module.TestMessageSimpleDLPackCPUBufV0.array = make


def substitute(module: ModuleType, side: str) -> None:
    arrayimpl = sys.modules.get("arrayimpl")
    if arrayimpl is not None and not getattr(arrayimpl, "has_refarray", False):
        arrayimpl.ArrayBackends[:] = backends(arrayimpl)
        arrayimpl.has_refarray = True  # type: ignore[attr-defined]
    if hasattr(module, "Sendrecv"):
        messages(module)
    if hasattr(module, "allclose"):
        compare = module.allclose
        module.allclose = lambda a, b, *tolerances: compare(numbers(a), numbers(b), *tolerances)
