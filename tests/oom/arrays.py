"""Out-of-memory recipes for views, copies, and the methods of Array, DType and Device."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import refarray

from .recipe import NOT_CALLABLE, in_threads, matrix, recipe, refused

# --- views, shapes, copies ---

recipe("astype", lambda x: refarray.astype(x, refarray.int16))
recipe("astype", lambda x: refarray.astype(x, "float32", copy=False), label="same")
recipe("broadcast_to", lambda x: refarray.broadcast_to(x, (4, 2, 3)))
refused("broadcast_to", ValueError, lambda x: refarray.broadcast_to(x, (5,)))
recipe("copy", refarray.copy)
recipe("copy", lambda x: refarray.copy(x[::-1, ::-1]), label="strided")
recipe("get_copy_threads", lambda _: refarray.get_copy_threads())
recipe("get_host_computation", lambda _: refarray.get_host_computation())
recipe("set_host_computation", lambda _: refarray.set_host_computation(True))
recipe("set_copy_threads", lambda _: refarray.set_copy_threads(refarray.get_copy_threads()))
refused("set_copy_threads", ValueError, lambda _: refarray.set_copy_threads(-1))


recipe(
    "copy",
    partial(in_threads, refarray.copy),
    lambda: refarray.zeros((2048, 2560), dtype=refarray.int8).T,
    "threads",
)
recipe("expand_dims", lambda x: refarray.expand_dims(x, axis=(0, -1)))
recipe("flip", lambda x: refarray.flip(x, axis=(0, 1)))
recipe("moveaxis", lambda x: refarray.moveaxis(x, 0, 1))
recipe("permute_dims", lambda x: refarray.permute_dims(x, (1, 0)))
recipe("reshape", lambda x: refarray.reshape(x, (3, -1)))
recipe("reshape", lambda x: refarray.reshape(x.T, (6,), copy=True), label="copy")
refused("reshape", ValueError, lambda x: refarray.reshape(x.T, (6,), copy=False), label="no copy")
recipe("squeeze", lambda x: refarray.squeeze(x, 0), lambda: refarray.zeros((1, 2)))
recipe("to_device", lambda x: refarray.to_device(x, "cpu"))
refused("to_device", BufferError, lambda x: refarray.to_device(x, "cuda"))
for _name, _call in {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "device": lambda x: x.device,
    "dtype": lambda x: x.dtype,
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "ndim": lambda x: x.ndim,
    "__array_priority__": lambda x: x.__array_priority__,
    "readonly": lambda x: x.readonly,
    "shape": lambda x: x.shape,
    "size": lambda x: x.size,
    "strides": lambda x: x.strides,
    "as_readonly": lambda x: x.as_readonly(),
    "astype": lambda x: x.astype(refarray.complex64),
    "copy": lambda x: x.copy(),
    "flush": lambda x: x.flush(),
    "is_contiguous": lambda x: x.is_contiguous(),
    "is_shared": lambda x: x.is_shared(),
    "reshape": lambda x: x.reshape((6,)),
    "to_device": lambda x: x.to_device("cpu"),
    "tolist": lambda x: x.tolist(),
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
    "__getitem__": lambda x: x[1:, None, ..., 0],
    "__len__": len,
    "__contains__": lambda x: 2.5 in x,
    "__iter__": list,
    "__reduce_ex__": lambda x: x.__reduce_ex__(5),
}.items():
    recipe(f"Array.{_name}", _call)
recipe("Array.item", lambda x: x.item(), lambda: refarray.full((), 2.5))
refused("Array.__getitem__", IndexError, lambda x: x[9])
refused("Array.__getitem__", (TypeError, IndexError), lambda x: x["a"], label="text")
recipe("Array.__setitem__", lambda x: x.__setitem__((0, slice(None)), 7))
recipe("Array.__setitem__", lambda x: x.__setitem__(0, [1, 2, 3]), label="sequence")
recipe("Array.__setitem__", lambda x: x.__setitem__(slice(None), x[::-1]), label="overlap")
refused("Array.__setitem__", ValueError, lambda x: x.__setitem__(0, 1), label="read-only",
        make=lambda: matrix().as_readonly())  # fmt: skip
refused("Array.__delitem__", TypeError, lambda x: x.__delitem__(0), label="")
recipe("Array.__bool__", bool, lambda: refarray.ones(()))
refused("Array.__bool__", (ValueError, TypeError), bool, label="many")
recipe("Array.__int__", int, lambda: refarray.full((), 7.0))
recipe("Array.__float__", float, lambda: refarray.full((), 7, dtype=refarray.int64))
recipe("Array.__complex__", complex, lambda: refarray.full((), 7j))
recipe(
    "Array.__index__", lambda x: x.__index__(), lambda: refarray.full((), 7, dtype=refarray.uint64)
)
recipe("Array.__format__", lambda x: format(x, ".2f"), lambda: refarray.full((), 2.5))
recipe("Array.__format__", format, label="empty", python=True)
recipe("Array.__round__", lambda x: round(x, 1), lambda: refarray.full((), 2.55))
recipe("Array.__numpy_dtype__", lambda x: x.__numpy_dtype__, python=True)
recipe("DType.__numpy_dtype__", lambda x: x.dtype.__numpy_dtype__, python=True)
recipe("Array.__class_getitem__", lambda x: type(x)[refarray.float32])
recipe("DType.__class_getitem__", lambda x: type(x.dtype)[int])
recipe("DType.__dlpack_data_type__", lambda x: x.dtype.__dlpack_data_type__())
recipe("Array.__sizeof__", lambda x: x.__sizeof__())
recipe("Array.tobytes", lambda x: x.tobytes())
recipe("Array.tobytes", lambda x: x.T.tobytes("F"), label="column-major")
refused("Array.tobytes", ValueError, lambda x: x.tobytes("K"))
recipe("Array.view", lambda x: x.view("int8"))
refused("Array.view", ValueError, lambda x: x.T.view("int8"))
recipe("Array.__arrow_c_array__", lambda x: x.__arrow_c_array__(), lambda: refarray.zeros(9))
recipe("Array.__arrow_c_array__", lambda x: x.__arrow_c_array__(),
       lambda: refarray.zeros(9, dtype=refarray.bool), "bits")  # fmt: skip
refused("Array.__arrow_c_array__", AttributeError, lambda x: x.__arrow_c_array__, label="2-d")
refused("Array.__hash__", TypeError, hash, label="")
refused("Array.shared_handle", BufferError, lambda x: x.shared_handle(), label="", python=True)
recipe("Array.__reduce_ex__", lambda x: pickle.dumps(x, 5), label="pickle",
       instead=(pickle.PicklingError,))  # fmt: skip
recipe("Array.__repr__", repr, python=True)
recipe("Array.__str__", str, python=True)
recipe("Array._repr_html_", lambda x: x._repr_html_(), python=True)
recipe("Array.__buffer__", lambda x: memoryview(x).tolist())
recipe("Array.__buffer__", lambda x: bytes(x.T), label="copied")
recipe("Array.__release_buffer__", lambda x: memoryview(x).release())
# --- dtypes, devices, errors ---

recipe("DType", lambda _: refarray.DType("float6_e2m3fn_padded"))
recipe("DType", lambda _: refarray.DType("float32x2"), label="lanes")
refused("DType", ValueError, lambda _: refarray.DType("float33"))
recipe("DType.__new__", lambda _: refarray.DType.__new__(refarray.DType, "int8"))
recipe("Device", lambda _: refarray.Device("cuda:3"))
refused("Device", ValueError, lambda _: refarray.Device("toaster"))
recipe("DType", lambda _: refarray.DType("f4"), label="alias", python=True)
recipe("DType.__eq__", lambda _: refarray.float32 == "f4", label="alias", python=True)
recipe("Device", lambda _: refarray.Device("hip:1"), label="alias", python=True)
recipe("Device.__eq__", lambda _: refarray.Device("cpu") == 7, label="other", python=True)
recipe("Device.__new__", lambda _: refarray.Device.__new__(refarray.Device, "cpu"))
for _kind, _make in (
    ("DType", lambda: refarray.DType("float32x2")),
    ("Device", lambda: refarray.Device("cuda:300")),
):
    _cls = getattr(refarray, _kind)
    for _name in vars(_cls):
        if _name in NOT_CALLABLE or _name in ("__new__", "__class_getitem__", "__numpy_dtype__"):
            continue
        if not _name.startswith("__"):
            recipe(f"{_kind}.{_name}", lambda v, name=_name: getattr(v, name), _make)
        elif _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
            recipe(f"{_kind}.{_name}", lambda v, name=_name: getattr(v, name)(v), _make)
            recipe(
                f"{_kind}.{_name}", lambda v, name=_name: getattr(v, name)(str(v)), _make, "text"
            )
        else:
            recipe(f"{_kind}.{_name}", lambda v, name=_name: getattr(v, name)(), _make)
recipe("DLDeviceType", lambda _: refarray.DLDeviceType(1))
for error in (refarray.AxisError, refarray.LinAlgError, refarray.NoCopyError):
    recipe(error.__name__, lambda _, error=error: str(error("a message")))  # type: ignore[misc]
