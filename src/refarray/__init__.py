"""refarray: the reference array for data interchange.

A small strided array that implements DLPack exactly as specified. `from_dlpack` and `asarray`
import the data of any producer without a copy, any consumer can import an `Array`, and `inspect`
shows what a producer exports. Functions of the array API standard have their standard names and
signatures.
"""
# The public names. Importing the package loads only the native module; the Python modules are
# imported on first use.

from refarray._native import *
from refarray._native import __version__

__all__ = [
    "Array",
    "AxisError",
    "DLDeviceType",
    "DType",
    "Device",
    "DriverError",
    "Event",
    "Ledger",
    "LedgerError",
    "LinAlgError",
    "NamedArrays",
    "NoCopyError",
    "Stream",
    "VirtualDevice",
    "__array_api_version__",
    "__array_namespace_info__",
    "__version__",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bfloat16",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "build_info",
    "can_cast",
    "ceil",
    "clip",
    "complex32",
    "complex64",
    "complex128",
    "concat",
    "conj",
    "copy",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "current_stream",
    "diff",
    "divide",
    "doctor",
    "e",
    "empty",
    "empty_cache",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "fft",
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
    "floor",
    "floor_divide",
    "from_array_interface",
    "from_buffer",
    "from_capsule",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "get_cmake_dir",
    "get_copy_threads",
    "get_host_computation",
    "get_include",
    "get_pkgconfig_dir",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "imag",
    "inf",
    "inspect",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "ledger",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "memmap",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "namespace",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "open",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "printoptions",
    "prod",
    "real",
    "reciprocal",
    "register_numpy_dtypes",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "save",
    "searchsorted",
    "set_copy_threads",
    "set_host_computation",
    "shares_memory",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "synchronize",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "to_capsule",
    "to_device",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "use_allocator",
    "use_stream",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]

__array_api_version__ = "2025.12"
e: float = 2.718281828459045
inf: float = float("inf")
nan: float = float("nan")
newaxis = None
pi: float = 3.141592653589793

_LAZY = {
    "_C_API": "_native",  # the C table, for PyCapsule_Import
    "__array_namespace_info__": "_namespaces.info",
    "DLDeviceType": "_devices",
    "Event": "_streams",
    "Stream": "_streams",
    "VirtualDevice": "_namespaces.devices",
    "build_info": "_build",
    "current_stream": "_streams",
    "empty_cache": "_streams",
    "doctor": "_doctor",
    "finfo": "_info",
    "from_numpy": "_numpy",
    "get_cmake_dir": "_build",
    "get_include": "_build",
    "get_pkgconfig_dir": "_build",
    "iinfo": "_info",
    "ledger": "_ledger",
    "Ledger": "_ledger",
    "LedgerError": "_ledger",
    "memmap": "_files.reading",
    "NamedArrays": "_files.reading",
    "namespace": "_namespaces.modes",
    "inspect": "_inspect",
    "open": "_files.reading",
    "printoptions": "_display.text",
    "register_numpy_dtypes": "_numpy",
    "save": "_files.writing",
    "synchronize": "_streams",
    "use_allocator": "_allocators",
    "use_stream": "_streams",
}

#: Modules of the standard's extensions.
_EXTENSIONS = ("fft", "linalg")

# Type checkers treat this name as true. Importing typing would take longer than importing refarray.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from refarray import fft, linalg
    from refarray._allocators import use_allocator
    from refarray._build import build_info, get_cmake_dir, get_include, get_pkgconfig_dir
    from refarray._devices import DLDeviceType
    from refarray._display.text import printoptions
    from refarray._doctor import doctor
    from refarray._files.reading import NamedArrays, memmap, open  # noqa: A004
    from refarray._files.writing import save
    from refarray._info import finfo, iinfo
    from refarray._inspect import inspect
    from refarray._ledger import Ledger, LedgerError, ledger
    from refarray._namespaces.devices import VirtualDevice
    from refarray._namespaces.info import __array_namespace_info__
    from refarray._namespaces.modes import namespace
    from refarray._numpy import from_numpy, register_numpy_dtypes
    from refarray._streams import (
        Event,
        Stream,
        current_stream,
        empty_cache,
        synchronize,
        use_stream,
    )
else:  # hidden from type checkers, for which __getattr__ would give the module any name
    if "add" not in globals():  # a build without the part that computes
        _EXTENSIONS = ()
        __all__ = [name for name in __all__ if name in globals() or name in _LAZY]

    def __getattr__(name: str) -> object:
        """Import a lazy name on first access."""
        module = _LAZY.get(name)
        if module is None and name not in _EXTENSIONS:
            from refarray._foreign_names import name_missing

            raise name_missing(name)
        from importlib import import_module

        if module is None:
            return import_module(f"{__name__}.{name}")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names, including the lazy ones."""
    return sorted(__all__)
