"""The dtypes and devices of other libraries, and NumPy's short dtype names, by refarray's names.

No library is imported. An object of a library can exist only if its module has been loaded, so
types are looked up in sys.modules. Of an unknown object only the methods of protocols are run.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from refarray import _native
from refarray._numpy import _NATIVE, _ml_dtypes_name

# NumPy's names and character codes, besides those that are refarray's own names. The codes are C
# types: "l" is a C long.
_SHORT = {
    "bool": "? b1 bool_",
    "int8": "b i1 byte",
    "uint8": "B u1 ubyte",
    "int16": "h i2 short",
    "uint16": "H u2 ushort",
    "int32": "i i4 intc",
    "uint32": "I u4 uintc",
    "int64": "l q i8 int int_ intp long longlong",
    "uint64": "L Q u8 uint uintp ulong ulonglong",
    "float16": "e f2 half",
    "float32": "f f4 single",
    "float64": "d f8 double float",
    "complex64": "F c8 csingle",
    "complex128": "D c16 cdouble complex",
}
_ALIASES = {alias: name for name, aliases in _SHORT.items() for alias in aliases.split()}
if sys.platform == "win32":  # a C long has 4 bytes
    _ALIASES |= {"l": "int32", "long": "int32", "L": "uint32", "ulong": "uint32"}
_BYTES = ("bool", "int8", "uint8")  # without a byte order
_NATIVE_ORDERS = "=|<" if sys.byteorder == "little" else "=|>"

# PyTorch's dtypes, of which one has another name here: its elements are pairs.
_SAME_IN_TORCH = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex32 complex64 complex128 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu"
)
_TORCH = {name: name for name in _SAME_IN_TORCH.split()} | {"float4_e2m1fn_x2": "float4_e2m1fnx2"}


def _find_loaded(module: str, name: str) -> Any:
    """Return an attribute of a module that has been imported, or None; runs no lazy import."""
    found = sys.modules.get(module)
    if not issubclass(type(found), ModuleType):
        return None
    return object.__getattribute__(found, "__dict__").get(name)


def _is_a(x: object, module: str, name: str) -> bool:
    """Whether x is an instance of a class of a loaded module. Runs no code of x."""
    kind = _find_loaded(module, name)
    return kind is not None and issubclass(type(x), kind)


# Dtypes of NumPy, ml_dtypes and PyTorch by id(), each with the object, so that its id is not used
# again. They are immutable and few; the limit is for those that are made anew for each array.
_FOUND: dict[int, tuple[object, str]] = {}
_MOST_FOUND = 256


def dtype_name(x: Any) -> str | None:
    """Return the name of the dtype that x stands for, or None if x is not known to be a dtype.

    Raises ValueError if x is a dtype that refarray does not have.
    """
    found = _FOUND.get(id(x))
    if found is not None:
        return found[1]
    if type(x) is str:
        return _ALIASES.get(x) or _alias(x)
    if issubclass(type(x), str):
        return _alias(str.__str__(x))
    name = _of_library(x)
    if name is None:
        return _by_protocol(x)
    if len(_FOUND) < _MOST_FOUND:
        _FOUND[id(x)] = (x, name)
    return name


def _of_library(x: Any) -> str | None:
    if _is_a(x, "numpy", "dtype"):
        return _of_numpy(x)
    if _is_a(x, "torch", "dtype"):
        name = _TORCH.get(str(x).removeprefix("torch."))
        return name or _refuse("dtype", x)
    if issubclass(type(x), type):
        generic = _find_loaded("numpy", "generic")
        # By identity: == would run a metaclass's code. ml_dtypes' scalar types are subclasses too.
        if any(base is generic for base in type.mro(x)[1:]):
            return _of_scalar_type(x)
    return None


def _alias(text: str) -> str | None:
    order, code = (text[:1], text[1:]) if text[:1] in ("<", ">", "=", "|") else ("=", text)
    name = _ALIASES.get(code)
    if order == "=" or name is None or name in _BYTES or order in _NATIVE_ORDERS:
        return name
    raise ValueError(f"dtype {text!r} is not in native byte order; {code!r} is")


def _of_numpy(dtype: Any) -> str:
    name = _NATIVE.get((dtype.kind, dtype.itemsize)) if dtype.isnative else None
    return name or _ml_dtypes_name(dtype) or _refuse("dtype", dtype)


def _of_scalar_type(kind: type) -> str | None:
    """Return the name of a scalar type such as numpy.float32; None for abstract ones."""
    try:
        dtype = _find_loaded("numpy", "dtype")(kind)
    except TypeError:
        return None
    return _of_numpy(dtype) if dtype.type is kind else None


def _by_protocol(x: Any) -> str | None:
    """Return the name of the dtype that x.__dlpack_data_type__() or x.__numpy_dtype__ names.

    The first is DLPack's proposed protocol of dtypes (dmlc/dlpack#172), the second NumPy 2.4's,
    which JAX's dtypes have. Both are looked up on the type, as special methods are. Arrays have the
    second too, but they are not dtypes.
    """
    if _has(x, "__dlpack__") or _has(x, "__array__"):
        return None
    if _has(x, "__dlpack_data_type__"):
        return _of_dlpack_dtype(x, type(x).__dlpack_data_type__(x))
    dtype = getattr(x, "__numpy_dtype__", None) if _has(x, "__numpy_dtype__") else None
    return _of_numpy(dtype) if _is_a(dtype, "numpy", "dtype") else None


def _has(x: object, name: str) -> bool:
    """Whether the type of x has an attribute, and not None in its place."""
    try:
        return type.__getattribute__(type(x), name) is not None
    except AttributeError:
        return False


def _of_dlpack_dtype(x: Any, answer: object) -> str:
    """Return the name for what __dlpack_data_type__() of x answered: (code, bits, lanes)."""
    if not isinstance(answer, tuple) or [type(number) for number in answer] != [int] * 3:
        raise TypeError(
            f"{type(x).__qualname__}.__dlpack_data_type__() must return a tuple of three ints, "
            f"not {answer!r}"
        )
    code, bits, lanes = answer
    known = {
        (dtype.code, dtype.bits): dtype.name
        for dtype in list(vars(_native).values())  # another thread may import meanwhile
        if type(dtype) is _native.DType
    }
    name = known.get((code, bits))
    if name is None or not 1 <= lanes < 1 << 16:
        from refarray._describe import code_text

        raise ValueError(
            f"refarray has no dtype for (code {code_text(code)}, bits {bits}, lanes {lanes})"
        )
    return name if lanes == 1 else f"{name}x{lanes}"


def device_name(x: Any) -> str | None:
    """Return the name of the device that x stands for, or None if x is not known to be a device.

    Raises ValueError if x is a device that refarray does not have.
    """
    if issubclass(type(x), str):
        text = str.__str__(x)  # PyTorch, JAX and CUDA call AMD's interface HIP
        return f"rocm{text[3:]}" if text == "hip" or text.startswith("hip:") else None
    if _is_a(x, "torch", "device"):
        return _of_torch(x)
    if _is_a(x, "jax", "Device"):
        return _of_jax(x)
    if _is_a(x, "tvm_ffi", "Device"):
        return _of_dlpack(x, x.dlpack_device_type(), x.index)
    return None


def _of_torch(device: Any) -> str:
    """Return the name of a torch.device. Without an index it is device 0."""
    if device.type == "cpu":
        return "cpu"
    if device.type != "cuda":
        return _refuse("device", device)
    # PyTorch calls AMD's devices "cuda" too.
    kind = "cuda" if getattr(_find_loaded("torch", "version"), "hip", None) is None else "rocm"
    return f"{kind}:{device.index or 0}"


def _of_jax(device: Any) -> str:
    """Return the name of a jax.Device, as jax.Array.__dlpack_device__() finds it."""
    if device.platform == "cpu":
        return "cpu"
    version = device.client.platform_version if device.platform in ("gpu", "cuda", "rocm") else ""
    for kind in ("cuda", "rocm"):
        if kind in version and device.local_hardware_id is not None:
            return f"{kind}:{device.local_hardware_id}"
    return _refuse("device", device)


def _of_dlpack(device: Any, kind: int, index: int) -> str:
    """Return the name of a device by DLPack's type code."""
    names = {1: "cpu", 2: "cuda", 3: "cuda_host", 10: "rocm", 11: "rocm_host", 13: "cuda_managed"}
    name = names.get(int(kind))
    if name is None:
        return _refuse("device", device)
    return f"{name}:{index}" if name in ("cuda", "rocm", "cuda_managed") else name


def _refuse(what: str, x: object) -> str:
    text = repr(x)
    raise ValueError(
        f"refarray has no {what} for {text if len(text) <= 100 else text[:97] + '...'}"
    )
