"""Arrays as NumPy's and NumPy's as arrays, over the same memory; ml_dtypes for the dtypes that
NumPy lacks."""
# Owns what Array.numpy(), Array.__array__() and from_numpy() do. NumPy is loaded by whoever asks.

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from refarray._native import Array, NoCopyError, _reinterpret, from_dlpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

# By NumPy's kind and size in bytes.
_NATIVE = {
    ("b", 1): "bool",
    ("i", 1): "int8",
    ("i", 2): "int16",
    ("i", 4): "int32",
    ("i", 8): "int64",
    ("u", 1): "uint8",
    ("u", 2): "uint16",
    ("u", 4): "uint32",
    ("u", 8): "uint64",
    ("f", 2): "float16",
    ("f", 4): "float32",
    ("f", 8): "float64",
    ("c", 8): "complex64",
    ("c", 16): "complex128",
}
_OURS = frozenset(_NATIVE.values())

# Our names by those of ml_dtypes, whose elements of less than a byte take a byte each.
_NARROW = {
    "bfloat16": "bfloat16",
    "float8_e3m4": "float8_e3m4",
    "float8_e4m3": "float8_e4m3",
    "float8_e4m3b11fnuz": "float8_e4m3b11fnuz",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2": "float8_e5m2",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
    "float8_e8m0fnu": "float8_e8m0fnu",
    "float6_e2m3fn": "float6_e2m3fn_padded",
    "float6_e3m2fn": "float6_e3m2fn_padded",
    "float4_e2m1fn": "float4_e2m1fn_padded",
}
_THEIRS = {ours: theirs for theirs, ours in _NARROW.items()}
_HOST = ("cpu", "cuda_host", "rocm_host")


def _needed(module: str, what: str) -> Any:
    """The module, or an ImportError that says what it is needed for."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise  # it is there, and something that it needs is not
        message = f"{what} needs {module}, which is not installed"
        raise ModuleNotFoundError(message, name=module) from error


def to_numpy(x: Array) -> NDArray[Any]:
    """An ndarray over the array's memory, never a copy."""
    name = x.dtype.name
    if x.device.kind not in _HOST:
        raise TypeError(
            f"the array is on {x.device}, NumPy's are in host memory; "
            'copy it with x.to_device("cpu") first'
        )
    numpy = _needed("numpy", "an array as NumPy's")
    if name in _OURS:
        return _over(numpy, x)
    if name in _THEIRS:
        ml_dtypes = _needed("ml_dtypes", f"an array of {name} as NumPy's")
        dtype = getattr(ml_dtypes, _THEIRS[name], None)
        if dtype is None:
            raise TypeError(f"ml_dtypes {ml_dtypes.__version__} has no {_THEIRS[name]}")
        return _over(numpy, _reinterpret(x, f"uint{8 * x.itemsize}")).view(dtype)
    hint = ""
    if f"{name}_padded" in _THEIRS:
        hint = f'; x.astype("{name}_padded") gives each element a byte, as ml_dtypes has them'
    raise TypeError(f"NumPy has no dtype for elements of {name}{hint}")


def _over(numpy: Any, x: Array) -> NDArray[Any]:
    out: NDArray[Any] = numpy.asarray(memoryview(x))
    return out


def array(x: Array, dtype: Any, copy: bool | None) -> NDArray[Any]:
    """What Array.__array__(dtype, copy) returns."""
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"copy must be True, False or None, not {copy!r}")
    out = to_numpy(x)
    wanted = out.dtype if dtype is None else _needed("numpy", "__array__()").dtype(dtype)
    if wanted == out.dtype:
        return out.copy(order="K") if copy else out
    if copy is False:
        raise NoCopyError(f"copy=False, but an array of {x.dtype} becomes {wanted} by copying only")
    return out.astype(wanted)


def from_numpy(x: NDArray[Any], /) -> Array:
    """An array over an ndarray's memory, never a copy.

    x: a numpy.ndarray of numbers in this machine's byte order, or of ml_dtypes' bfloat16, float8,
        float6 and float4 (the last two become padded dtypes). Subclasses are taken as plain arrays,
        but a masked array is refused, since its mask would be lost.

    The array keeps x, and is read-only where x is. Raises TypeError for anything else, BufferError
    for a dtype or strides that cannot be described.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(x, numpy.ndarray):
        raise TypeError(f"from_numpy() takes a numpy.ndarray, not {type(x).__qualname__}")
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, masked.MaskedArray):
        raise BufferError("from_numpy(): the mask of a masked array would be lost; x.data is bare")
    plain = x.view(numpy.ndarray)
    if plain.dtype.isnative and (plain.dtype.kind, plain.dtype.itemsize) in _NATIVE:
        return from_dlpack(plain)
    name = _narrow_name(plain.dtype)
    if name is None:
        raise BufferError(f"from_numpy(): refarray has no dtype for elements of {plain.dtype!r}")
    return _reinterpret(from_dlpack(plain.view(f"u{plain.dtype.itemsize}")), name)


def _narrow_name(dtype: Any) -> str | None:
    """Our name of one of ml_dtypes' dtypes. They cannot exist before that module was loaded."""
    ml_dtypes = sys.modules.get("ml_dtypes")
    if ml_dtypes is None or getattr(ml_dtypes, dtype.name, None) is not dtype.type:
        return None
    return _NARROW.get(dtype.name)


def from_method(result: Any, owner: type) -> Array:
    """An array over what the __array__() of an object of the type `owner` returned."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(result, numpy.ndarray):
        return from_numpy(result)
    raise TypeError(
        f"__array__() of {owner.__qualname__} returned {type(result).__qualname__}, "
        "not a numpy.ndarray"
    )
