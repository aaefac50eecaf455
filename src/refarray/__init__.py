"""refarray: the reference array for data interchange.

A small strided array that speaks DLPack exactly as its specification says. `from_dlpack` and
`asarray` take any producer's data without copying it, every `Array` can be handed to any consumer,
and `inspect` shows what a producer exported. What the array API standard names has that name and
that signature here.
"""
# Owns the public names. Only the native module is loaded with the package; the rest comes when it
# is first used.

from refarray._native import (
    Array,
    Device,
    DriverError,
    DType,
    NoCopyError,
    __version__,
    arange,
    asarray,
    astype,
    bfloat16,
    bool,  # noqa: A004 (the array API's name)
    broadcast_to,
    complex32,
    complex64,
    complex128,
    copy,
    empty,
    empty_like,
    expand_dims,
    flip,
    float4_e2m1fn,
    float6_e2m3fn,
    float6_e3m2fn,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    from_array_interface,
    from_buffer,
    from_capsule,
    from_dlpack,
    full,
    full_like,
    get_copy_threads,
    int8,
    int16,
    int32,
    int64,
    moveaxis,
    ones,
    ones_like,
    permute_dims,
    reshape,
    set_copy_threads,
    squeeze,
    to_capsule,
    to_device,
    uint8,
    uint16,
    uint32,
    uint64,
    zeros,
    zeros_like,
)

__all__ = [
    "Array",
    "DLDeviceType",
    "DType",
    "Device",
    "DriverError",
    "Event",
    "NoCopyError",
    "Stream",
    "__version__",
    "arange",
    "asarray",
    "astype",
    "bfloat16",
    "bool",
    "broadcast_to",
    "build_info",
    "complex32",
    "complex64",
    "complex128",
    "copy",
    "current_stream",
    "doctor",
    "e",
    "empty",
    "empty_like",
    "expand_dims",
    "finfo",
    "flip",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "from_array_interface",
    "from_buffer",
    "from_capsule",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "get_copy_threads",
    "get_include",
    "iinfo",
    "inf",
    "inspect",
    "int8",
    "int16",
    "int32",
    "int64",
    "moveaxis",
    "nan",
    "newaxis",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "printoptions",
    "reshape",
    "set_copy_threads",
    "squeeze",
    "synchronize",
    "to_capsule",
    "to_device",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "use_stream",
    "zeros",
    "zeros_like",
]

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

_LAZY = {
    "DLDeviceType": "_devices",
    "Event": "_streams",
    "Stream": "_streams",
    "build_info": "_build",
    "current_stream": "_streams",
    "doctor": "_doctor",
    "finfo": "_info",
    "from_numpy": "_numpy",
    "get_include": "_build",
    "iinfo": "_info",
    "inspect": "_inspect",
    "printoptions": "_format",
    "synchronize": "_streams",
    "use_stream": "_streams",
}

# Type checkers take it for true. Importing it from typing would cost more than the whole package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from refarray._build import build_info, get_include
    from refarray._devices import DLDeviceType
    from refarray._doctor import doctor
    from refarray._format import printoptions
    from refarray._info import finfo, iinfo
    from refarray._inspect import inspect
    from refarray._numpy import from_numpy
    from refarray._streams import Event, Stream, current_stream, synchronize, use_stream
else:  # hidden from checkers: to them it would give the module every name

    def __getattr__(name: str) -> object:
        """Loads a lazy name when it is first asked for."""
        home = _LAZY.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The public names, the lazy ones included."""
    return sorted(__all__)
