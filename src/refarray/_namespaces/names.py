"""The names of a namespace, in all versions of the standard: which ones, and their values."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import refarray
from refarray._namespaces import by_name, versions
from refarray._namespaces.info import DTYPES, Info
from refarray._namespaces.versions import Namespace

if TYPE_CHECKING:
    from refarray._namespaces.modes import Modes

COMPLEX = ("complex64", "complex128")

#: Names of the standard that are no functions.
CONSTANTS = ("__array_api_version__", "e", "inf", "nan", "newaxis", "pi")
#: Functions of the standard that refarray imports on first access.
LAZY_IN_STANDARD = ("__array_namespace_info__", "finfo", "iinfo")
#: Public names that belong to the process or the package rather than to arrays.
NOT_IN_NAMESPACES = {
    *("__version__", "build_info", "doctor", "empty_cache", "get_copy_threads"),
    *("get_cmake_dir", "get_host_computation", "get_include", "get_pkgconfig_dir", "Ledger"),
    *("LedgerError", "ledger", "memmap", "NamedArrays", "namespace", "open"),
    *("register_numpy_dtypes", "save", "set_copy_threads", "set_host_computation"),
    *("VirtualDevice",),
}


def names_of(native: ModuleType, modes: Modes) -> Namespace:
    """The names that a namespace may have, as attributes of an object."""
    out = Namespace(modes.name, refarray.__doc__)
    out.__all__ = [name for name in refarray.__all__ if is_name_of(name, modes)]
    for name in out.__all__:
        setattr(out, name, value_of(name, native, modes))
    return out


def is_name_of(name: str, modes: Modes) -> bool:
    if name in COMPLEX and not modes.has_complex:
        return False
    if name in NOT_IN_NAMESPACES or name in set(refarray._EXTENSIONS) - set(modes.extensions):
        return False
    if not modes.strict:
        return True
    if name in refarray._LAZY:  # not looked up: that would import all of the package
        return name in LAZY_IN_STANDARD
    if name in CONSTANTS or name in DTYPES or name in refarray._EXTENSIONS:
        return True
    return versions.SINCE.search(getattr(refarray, name).__doc__ or "") is not None


def value_of(name: str, native: ModuleType, modes: Modes) -> Any:
    if name in refarray._EXTENSIONS:
        return extension(name, native, modes)
    if name in ("finfo", "iinfo"):
        return limits(getattr(refarray, name), native, modes.strict)
    if name == "__array_namespace_info__":
        return info(refarray.__array_namespace_info__, native, modes)
    if name == "from_numpy":
        return import_function(refarray.from_numpy, native.from_dlpack)
    return getattr(native, name) if hasattr(native, name) else getattr(refarray, name)


def extension(name: str, native: ModuleType, modes: Modes) -> Namespace:
    module = getattr(refarray, name)
    functions = native._extension_functions(name)
    for each in functions.values():
        each.__module__ = by_name.extension_module(native.__name__, name)
    out = Namespace(f"{modes.name}.{name}", module.__doc__)
    out.__all__ = list(module.__all__)
    for each in out.__all__:
        setattr(out, each, functions[each] if each in functions else getattr(native, each))
    return out


def own_dtype(native: ModuleType, dtype: Any) -> Any:
    """The dtype of the namespace for one of refarray: another object in strict ones."""
    return getattr(native, str(dtype), dtype)


def limits(function: Callable[..., Any], native: ModuleType, strict: bool) -> Callable[..., Any]:
    """finfo() or iinfo() of a namespace."""
    array: Any = native.Array
    own: Any = type(native.bool) if strict else object

    @functools.wraps(function)
    def of_namespace(type: Any, /) -> Any:
        dtype = type.dtype if isinstance(type, array) else type
        if not isinstance(dtype, own):
            raise TypeError(f"{function.__name__}() takes a dtype or an array, not {type!r}")
        if not strict:
            return function(dtype)
        found = function(refarray.DType(dtype))
        return dataclasses.replace(found, dtype=own_dtype(native, found.dtype))

    return of_namespace


def rename(function: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    """`own` with the name and the docstring of the function in whose place it is."""
    return functools.wraps(function)(lambda: own())


def info(function: Callable[..., Any], native: ModuleType, modes: Modes) -> Callable[[], Info]:
    """__array_namespace_info__() of a namespace."""
    return rename(
        function,
        lambda: Info(
            native.empty,
            functools.partial(own_dtype, native),
            boolean_indexing=modes.boolean_indexing,
            data_dependent_shapes=modes.data_dependent_shapes,
        ),
    )


def import_function(
    function: Callable[..., Any], retyped: Callable[..., Any]
) -> Callable[..., Any]:
    """A function of the default namespace, with results of another."""

    @functools.wraps(function)
    def of_namespace(*args: Any, **keywords: Any) -> Any:
        return retyped(function(*args, **keywords))

    return of_namespace
