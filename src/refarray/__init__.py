"""refarray: the reference array for data interchange.

A small strided array that implements DLPack exactly as specified. `from_dlpack` and `asarray`
import the data of any producer without a copy, any consumer can import an `Array`, and `inspect`
shows what a producer exports. Functions of the array API standard have their standard names and
signatures.
"""
# The public names. Importing the package loads only the native module; the Python modules are
# imported on first use.

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
    "empty_cache",
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
    "empty_cache": "_streams",
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

# Type checkers treat this name as true. Importing typing would take longer than importing refarray.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from refarray._build import build_info, get_include
    from refarray._devices import DLDeviceType
    from refarray._doctor import doctor
    from refarray._format import printoptions
    from refarray._info import finfo, iinfo
    from refarray._inspect import inspect
    from refarray._numpy import from_numpy
    from refarray._streams import (
        Event,
        Stream,
        current_stream,
        empty_cache,
        synchronize,
        use_stream,
    )
else:  # hidden from type checkers, for which __getattr__ would give the module any name

    def __getattr__(name: str) -> object:
        """Import a lazy name on first access."""
        module = _LAZY.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, including the lazy ones."""
    return sorted(__all__)
