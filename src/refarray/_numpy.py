"""NumPy interoperability: Array.numpy(), Array.__array__() and from_numpy().

Dtypes that NumPy lacks are represented by ml_dtypes. Both libraries are imported on first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from refarray._native import Array, DType, NoCopyError, _note_copy, from_dlpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Dtype names by NumPy's kind and itemsize.
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
_NATIVE_NAMES = frozenset(_NATIVE.values())

# Dtype names by ml_dtypes' names. Its sub-byte elements occupy a byte each, hence "_padded".
_SAME_IN_ML_DTYPES = (
    *("bfloat16", "complex32", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
_PADDED_IN_ML_DTYPES = ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
_FROM_ML_DTYPES = {
    **{name: name for name in _SAME_IN_ML_DTYPES},
    **{name: f"{name}_padded" for name in _PADDED_IN_ML_DTYPES},
}
_TO_ML_DTYPES = {name: theirs for theirs, name in _FROM_ML_DTYPES.items()}


def _import(module: str, purpose: str) -> Any:
    """Import a module; if it is not installed, raise an error that names the purpose."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise  # the module is installed, but one of its dependencies is missing
        message = f"{purpose} needs {module}, which is not installed"
        raise ModuleNotFoundError(message, name=module) from error


def to_numpy(x: Array) -> NDArray[Any]:
    """Return an ndarray that shares the memory of an array on the host; never copies."""
    name = x.dtype.name
    numpy = _import("numpy", "conversion to NumPy")
    if name in _NATIVE_NAMES:
        return _view(numpy, x)
    if name in _TO_ML_DTYPES:
        return _view(numpy, x.view(f"uint{8 * x.itemsize}")).view(_of_ml_dtypes(name))
    hint = ""
    if f"{name}_padded" in _TO_ML_DTYPES:
        hint = f'; ml_dtypes stores an element per byte: convert with x.astype("{name}_padded")'
    raise TypeError(f"NumPy has no dtype for elements of {name}{hint}")


def _of_ml_dtypes(name: str) -> Any:
    """Return the type of ml_dtypes for a dtype of ours, by its name in _TO_ML_DTYPES."""
    ml_dtypes = _import("ml_dtypes", f"conversion of {name} to NumPy")
    dtype = getattr(ml_dtypes, _TO_ML_DTYPES[name], None)
    if dtype is None:
        raise TypeError(f"ml_dtypes {ml_dtypes.__version__} has no {_TO_ML_DTYPES[name]}")
    return dtype


def numpy_dtype(dtype: DType) -> Any:
    """Implement DType.__numpy_dtype__."""
    name = dtype.name
    try:
        if name in _NATIVE_NAMES:
            return _import("numpy", "__numpy_dtype__").dtype(name)
        if name in _TO_ML_DTYPES:
            kind = _of_ml_dtypes(name)
            return _import("numpy", "__numpy_dtype__").dtype(kind)
    except (ModuleNotFoundError, TypeError) as error:
        raise AttributeError(f"{name} has no __numpy_dtype__: {error}") from error
    raise AttributeError(f"{name} has no __numpy_dtype__: NumPy has no such dtype")


def register_numpy_dtypes() -> list[str]:
    """Let numpy.from_dlpack() take arrays of ml_dtypes' dtypes, and NumPy export them by DLPack.

    Registers bfloat16, complex32 and the float8 dtypes with numpy.dtypes.register_dlpack_dtype(),
    for the whole process; importing refarray does not. float6 and float4 have no mapping: NumPy
    takes whole bytes only. Returns the names, those registered before included.

    Raises ModuleNotFoundError without NumPy or ml_dtypes, RuntimeError for NumPy older than 2.5,
    and NumPy's ValueError if another library has registered a dtype in the place of one.
    """
    numpy = _import("numpy", "register_numpy_dtypes()")
    ml_dtypes = _import("ml_dtypes", "register_numpy_dtypes()")
    register = getattr(getattr(numpy, "dtypes", None), "register_dlpack_dtype", None)
    if register is None:
        raise RuntimeError(
            f"register_numpy_dtypes() needs NumPy 2.5 or newer, not {numpy.__version__}"
        )
    names = [name for name in _SAME_IN_ML_DTYPES if hasattr(ml_dtypes, name)]
    for name in names:
        ours = DType(name)
        register((ours.code, ours.bits), numpy.dtype(getattr(ml_dtypes, name)))
    return names


def _view(numpy: Any, x: Array) -> NDArray[Any]:
    out: NDArray[Any] = numpy.asarray(memoryview(x))
    return out


def array(x: Array, dtype: Any, copy: bool | None) -> NDArray[Any]:
    """Implement Array.__array__(dtype, copy)."""
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"copy must be True, False or None, not {copy!r}")
    out = to_numpy(x)
    if type(dtype) is DType:  # NumPy before 2.4 does not read __numpy_dtype__
        dtype = numpy_dtype(dtype)
    wanted = out.dtype if dtype is None else _import("numpy", "__array__()").dtype(dtype)
    if wanted == out.dtype:
        if copy:
            _note_copy(out.nbytes)
        return out.copy(order="K") if copy else out
    if copy is False:
        raise NoCopyError(f"copy=False, but {x.dtype} cannot become {wanted} without a copy")
    _note_copy(out.size * wanted.itemsize)
    return out.astype(wanted)


def from_numpy(x: NDArray[Any], /) -> Array:
    """Return an array that shares the memory of a numpy.ndarray; never copies.

    x: an ndarray with a numeric dtype in native byte order, or with ml_dtypes' bfloat16, complex32,
        float8, float6 or float4; the last two become padded dtypes. Instances of subclasses are
        imported as plain arrays, except masked arrays, whose mask would be lost.

    The array keeps x alive, and is read-only if x is. Raises TypeError for other objects, and
    BufferError for masked arrays and for dtypes and strides that refarray cannot represent.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(x, numpy.ndarray):
        raise TypeError(f"from_numpy() takes a numpy.ndarray, not {type(x).__qualname__}")
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, masked.MaskedArray):
        raise BufferError(
            "from_numpy(): the mask of a masked array would be lost; pass x.filled(value) to "
            "replace the masked elements, or x.data to include them"
        )
    plain = x.view(numpy.ndarray)
    if plain.dtype.isnative and (plain.dtype.kind, plain.dtype.itemsize) in _NATIVE:
        return from_dlpack(plain)
    name = _ml_dtypes_name(plain.dtype)
    if name is None:
        raise BufferError(f"from_numpy(): refarray has no dtype for elements of {plain.dtype!r}")
    return from_dlpack(plain.view(f"u{plain.dtype.itemsize}")).view(name)


def _ml_dtypes_name(dtype: Any) -> str | None:
    """Return refarray's name of a dtype of ml_dtypes, or None."""
    # A dtype of ml_dtypes exists only if the module has been imported.
    ml_dtypes = sys.modules.get("ml_dtypes")
    if ml_dtypes is None or getattr(ml_dtypes, dtype.name, None) is not dtype.type:
        return None
    return _FROM_ML_DTYPES.get(dtype.name)


def owns_memory(result: Any) -> bool:
    """Return whether `result` is an ndarray, and no other object keeps its memory."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(result) is numpy.ndarray and bool(result.flags.owndata)


def from_method(result: Any, owner: type, may_copy: bool) -> Array:
    """Return an array over `result`, which __array__() of an object of type `owner` returned.

    may_copy: whether elements that cannot be shared may be copied.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(result, numpy.ndarray):
        return from_numpy(_to_shareable(result, may_copy))
    raise TypeError(
        f"__array__() of {owner.__qualname__} returned {type(result).__qualname__}, "
        "not a numpy.ndarray"
    )


def _to_shareable(x: NDArray[Any], may_copy: bool) -> NDArray[Any]:
    """Return x, or a copy if its byte order or a stride cannot be shared."""
    steps = (stride for stride, extent in zip(x.strides, x.shape, strict=True) if extent > 1)
    if x.dtype.isnative and not any(x.itemsize and step % x.itemsize for step in steps):
        return x
    if not may_copy:
        raise NoCopyError(f"copy=False, but arrays have no strides as {x.strides} of {x.dtype!r}")
    _note_copy(x.nbytes)
    return x.astype(x.dtype.newbyteorder("="), order="C")
