"""The namespaces of earlier versions of the array API standard: names and results by version."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import refarray

#: The last line of a docstring. Names without one are in every version.
SINCE = re.compile(r"Array API standard, .* functions, since (\d{4}\.12)\.\s*$")


class Namespace(ModuleType):
    """The names of one version. Arrays are the same in every namespace."""

    __array_api_version__: str
    __all__: list[str]

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}: array API standard {self.__array_api_version__}>"


#: Those that were asked for.
EARLIER: dict[str, Namespace] = {}


def namespace(version: str) -> ModuleType:
    """Return the namespace of a version, one object for each."""
    if version == refarray.__array_api_version__:
        return refarray
    return EARLIER.get(version) or EARLIER.setdefault(version, earlier(version))


def earlier(version: str) -> Namespace:
    out = made(f"refarray_{version.replace('.', '_')}", refarray, version)
    for name in refarray._EXTENSIONS:
        extension = made(f"{out.__name__}.{name}", getattr(refarray, name), version)
        if extension.__all__:
            setattr(out, name, extension)
        else:
            out.__all__.remove(name)
            delattr(out, name)
    return out


def made(name: str, module: ModuleType, version: str) -> Namespace:
    """A namespace with those names of a module that the version has."""
    out = Namespace(name, module.__doc__)
    out.__all__ = [name for name in module.__all__ if is_in(getattr(module, name), version)]
    for name in out.__all__:
        value = getattr(module, name)
        for last, names, change in CHANGES:
            if name in names and version <= last:
                value = change(value)
        setattr(out, name, value)
    out.__array_api_version__ = version
    return out


def is_in(value: Any, version: str) -> bool:
    """Whether the version has the function. Only the standard's own have a version."""
    match = SINCE.search(getattr(value, "__doc__", None) or "") if callable(value) else None
    return match is None or match[1] <= version


# --- what was different


def with_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result was a list."""

    @functools.wraps(function)
    def listed(*args: Any, **keywords: Any) -> Any:
        return list(function(*args, **keywords))

    return listed


def with_default_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum of floating-point numbers whose dtype was at least the default one."""

    @functools.wraps(function)
    def widened(x: Any, /, *, dtype: Any = None, **keywords: Any) -> Any:
        if dtype is None and isinstance(x, refarray.Array):
            if refarray.isdtype(x.dtype, "real floating"):
                dtype = refarray.float64
            elif refarray.isdtype(x.dtype, "complex floating"):
                dtype = refarray.complex128
        return function(x, dtype=dtype, **keywords)

    return widened


def with_list_of_devices(function: Callable[..., Any]) -> Callable[..., Any]:
    """__array_namespace_info__(), whose method devices() returned a list."""

    @functools.wraps(function)
    def info() -> Any:
        out = function()
        out.devices = with_list(out.devices)
        return out

    return info


#: The last version that has a difference, the names, and what makes it.
CHANGES: tuple[tuple[str, tuple[str, ...], Callable[..., Any]], ...] = (
    ("2024.12", ("broadcast_arrays", "meshgrid"), with_list),
    ("2024.12", ("__array_namespace_info__",), with_list_of_devices),
    ("2022.12", ("prod", "sum", "trace"), with_default_dtype),
)
