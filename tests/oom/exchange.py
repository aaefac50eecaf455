"""Out-of-memory recipes for creation and for exchange in both directions."""

from __future__ import annotations

import array as standard
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from native.corpus import FLOATS
from native.producers import table_only

import adversary
import refarray

from .recipe import capsule, failing, matrix, old, producer, recipe, refused


def registers_dtypes() -> bool:
    """Whether NumPy takes dtypes of DLPack, and ml_dtypes is there to name them."""
    if not (find_spec("numpy") and find_spec("ml_dtypes")):
        return False
    return tuple(map(int, version("numpy").split(".")[:2])) >= (2, 5)


WITHOUT_NUMPY = () if find_spec("numpy") else (ModuleNotFoundError,)
#: NumPy's errors when it has no memory for a buffer export and tries to read a sequence instead.
NUMPY_ERRORS = (NotImplementedError, TypeError, ValueError)


def with_array_interface(x: Any, **fields: Any) -> Any:
    """An object whose __array_interface__ describes the memory of `x`, with `fields` overridden."""
    members = {"__array_interface__": {**x.__array_interface__, **fields}, "kept": x}
    return type("Described", (), members)()


def numpy_scalar() -> Any:
    """A scalar of NumPy; without NumPy a number."""
    return import_module("numpy").float32(1.5) if find_spec("numpy") else 1.5


def on_virtual_device() -> Any:
    device = refarray.VirtualDevice("gpu")
    return refarray.namespace(devices=[device]).ones((2, 3), device=device)


def masked_array() -> Any:
    """A masked array of NumPy; without NumPy a producer that is refused."""
    if find_spec("numpy"):
        return import_module("numpy.ma").masked_array([1, 2], [0, 1])
    return producer(ndim=-1)


# --- creation ---

recipe("asarray", refarray.asarray, numpy_scalar, "NumPy scalar")
recipe("asarray", lambda x: refarray.asarray([[x], [x]]), numpy_scalar, "NumPy scalars")
refused("from_dlpack", BufferError, refarray.from_dlpack, label="masked", make=masked_array)

recipe("arange", lambda _: refarray.arange(100))
recipe(
    "arange", lambda _: refarray.arange(0.0, 1.0, 0.1, dtype="float64", device="cpu"), label="all"
)
refused("arange", ValueError, lambda _: refarray.arange(5, dtype="int31"))
for _name in ("empty", "zeros", "ones"):
    _function = getattr(refarray, _name)
    recipe(_name, lambda _, f=_function: f((3, 4), dtype=refarray.float64))
    recipe(_name, lambda _, f=_function: f((3, 400), dtype=refarray.int8), label="large")
    refused(_name, ValueError, lambda _, f=_function: f((-1,)))
    _like = getattr(refarray, f"{_name}_like")
    recipe(f"{_name}_like", lambda x, f=_like: f(x))
    recipe(f"{_name}_like", lambda x, f=_like: f(x, dtype="int8", device="cpu"), label="all")
recipe("full", lambda _: refarray.full((2, 2), 1.5))
refused("full", OverflowError, lambda _: refarray.full((2,), 300, dtype="int8"))
recipe("full_like", lambda x: refarray.full_like(x, 3))
recipe("asarray", lambda _: refarray.asarray([[1, 2], [3, 4]]), label="nested")
recipe("asarray", lambda _: refarray.asarray([1.0, 2j, True]), label="mixed")
recipe("asarray", lambda _: refarray.asarray(3.5), label="number")
recipe("asarray", lambda _: refarray.asarray(range(300)), label="sequence")
recipe("asarray", lambda x: refarray.asarray(x, dtype="int32", copy=True), label="array")
recipe("asarray", lambda b: refarray.asarray(b), lambda: bytearray(8), "buffer")
recipe("asarray", lambda p: refarray.asarray(p), producer, "producer")
refused("asarray", ValueError, lambda _: refarray.asarray([[1], [2, 3]]), label="ragged")
refused("asarray", TypeError, lambda _: refarray.asarray(["a"]), label="text")

# --- exchange ---

recipe("from_dlpack", refarray.from_dlpack, producer)
recipe("from_dlpack", refarray.from_dlpack, lambda: producer(versioned=False), "legacy")
recipe("from_dlpack", refarray.from_dlpack, old, "old")
refused("from_dlpack", TypeError, refarray.from_dlpack, label="fails twice", make=failing)
recipe("from_dlpack", refarray.from_dlpack, matrix, "own")
recipe("from_dlpack", lambda x: refarray.from_dlpack(x, copy=True), label="own copy")
recipe("from_dlpack",
       lambda p: refarray.from_dlpack(p, copy=True, device="cpu", max_version=(1, 0)), producer,
       "all keywords")  # fmt: skip
refused("from_dlpack", refarray.NoCopyError, lambda p: refarray.from_dlpack(p, copy=False),
        label="no copy", make=lambda: old("max_version"))  # fmt: skip
refused("from_dlpack", BufferError, refarray.from_dlpack, label="refused",
        make=lambda: producer(dtype=(99, 8, 1)))  # fmt: skip
refused("from_dlpack", AttributeError, refarray.from_dlpack, label="none", make=object)
recipe("from_dlpack", refarray.from_dlpack,
       lambda: table_only(adversary, adversary.make(data=FLOATS)), "table")  # fmt: skip
recipe("from_capsule", refarray.from_capsule, capsule)
recipe("from_capsule", refarray.from_capsule, lambda: capsule(versioned=False), "legacy")
refused("from_capsule", BufferError, refarray.from_capsule, label="refused",
        make=lambda: capsule(shape=(-1,), strides=(1,)))  # fmt: skip
recipe("from_capsule", refarray.from_capsule, lambda: matrix().__dlpack__(), "own")
refused("from_capsule", TypeError, refarray.from_capsule, label="none", make=object)
recipe("from_buffer", refarray.from_buffer, lambda: standard.array("d", [1.0, 2.0]))
recipe("from_buffer", refarray.from_buffer, lambda: memoryview(bytes(8))[::-1], "backwards")
recipe(
    "from_buffer", lambda b: refarray.from_buffer(b, dtype="int16"), lambda: bytearray(8), "bytes"
)
refused("from_buffer", BufferError, refarray.from_buffer, label="refused",
        make=lambda: adversary.exporter(shape=(-1,)))  # fmt: skip
recipe(
    "from_array_interface", refarray.from_array_interface, lambda: with_array_interface(matrix())
)
refused("from_array_interface", BufferError, refarray.from_array_interface, label="refused",
        make=lambda: with_array_interface(matrix(), shape=(-1,)))  # fmt: skip
recipe("Array.__array_interface__", lambda x: x.__array_interface__)
refused("Array.__array_interface__", (AttributeError, BufferError, TypeError),
        lambda x: x.__array_interface__, label="refused",
        make=lambda: refarray.zeros(3, dtype="bfloat16"))  # fmt: skip
recipe("from_numpy", lambda x: refarray.from_numpy(x.numpy()), raises=WITHOUT_NUMPY, python=True,
       instead=NUMPY_ERRORS)  # fmt: skip
recipe("register_numpy_dtypes", lambda _: refarray.register_numpy_dtypes(), python=True,
       make=lambda: [import_module(name) for name in ("numpy", "ml_dtypes") if find_spec(name)],
       raises=() if registers_dtypes() else (ModuleNotFoundError, RuntimeError))  # fmt: skip
recipe("Array.numpy", lambda x: x.numpy(), raises=WITHOUT_NUMPY, python=True, instead=NUMPY_ERRORS)
recipe("Array.__array__", lambda x: x.__array__(copy=True), raises=WITHOUT_NUMPY, python=True,
       instead=NUMPY_ERRORS)  # fmt: skip
recipe("to_capsule", refarray.to_capsule)
recipe(
    "to_capsule",
    lambda x: refarray.to_capsule(x, max_version=(1, 3), copy=True, dl_device=(1, 0)),
    label="all keywords",
)
refused("to_capsule", ValueError, lambda x: refarray.to_capsule(x, stream=1))
recipe("Array.__dlpack__", lambda x: x.__dlpack__())
recipe("Array.__dlpack__", lambda x: x.__dlpack__(copy=True), label="legacy copy")
recipe("Array.__dlpack__", lambda x: x.__dlpack__(max_version=(1, 3)), label="versioned")
recipe("Array.__dlpack__", lambda x: x.__dlpack__(max_version=(1, 3), copy=True), label="copy")
recipe("Array.__dlpack__", lambda x: x.__dlpack__(dl_device=(1, 0)), on_virtual_device, "virtual")
recipe("Array.__reduce_ex__", lambda x: x.__reduce_ex__(5), on_virtual_device, "virtual")
refused(
    "Array.__array__", TypeError, lambda x: x.__array__(), label="virtual", make=on_virtual_device
)
refused("Array.__dlpack__", BufferError, lambda x: x.__dlpack__(), label="refused",
        make=lambda: matrix().as_readonly())  # fmt: skip
recipe("Array.__dlpack_device__", lambda x: x.__dlpack_device__())
recipe("Array.__dlpack_device__", lambda x: x.__dlpack_device__(),
       lambda: refarray.from_capsule(capsule(device=(3, 0))), "pinned", python=True)  # fmt: skip
recipe("Array.__dlpack_c_exchange_api__", lambda x: type(x).__dlpack_c_exchange_api__)


def to_py(tensor: Any) -> Any:
    try:
        return adversary.api(refarray.Array).to_py(tensor)
    except BaseException:
        if tensor.issued:
            tensor.delete()  # after a failure the caller still owns it
        raise


recipe("table.from_py", lambda x: adversary.api(refarray.Array).from_py(x))
recipe("table.to_py", to_py, lambda: adversary.make(data=FLOATS))
refused("table.to_py", BufferError, to_py, label="refused", make=lambda: adversary.make(data=None))
recipe("table.dltensor", lambda x: adversary.api(refarray.Array).dltensor(x))
recipe("table.stream", lambda _: adversary.api(refarray.Array).stream(1, 0))
refused("table.stream", ValueError, lambda _: adversary.api(refarray.Array).stream(2, 0),
        label="refused")  # fmt: skip


def allocate(prototype: Any) -> Any:
    """The allocator reports errors by type name; here it may only report MemoryError."""
    code, owned, errors = adversary.api(refarray.Array).allocate(prototype)
    if code == 0:
        return owned.fields()["shape"]
    if [kind for kind, _ in errors] == ["MemoryError"]:
        raise MemoryError
    raise AssertionError(f"{code}, {errors}")


recipe("table.allocator", allocate, lambda: adversary.make(versioned=False))
