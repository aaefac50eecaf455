"""The namespaces of earlier versions of the array API standard: names and results by version."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import refarray
from refarray._namespaces import by_name, earlier_strict

#: The draft of the next version, by the name that array-api-strict gives it. It is 2025.12 with an
#: optional attribute of array types, __dlpack_c_exchange_api__: data-apis/array-api,
#: src/array_api_stubs/_draft.
DRAFT = "2026.12"

#: The extensions, with the version that brought them.
EXTENSIONS = {"linalg": "2021.12", "fft": "2022.12"}

#: The last line of a docstring. Names without one are in every version.
SINCE = re.compile(r"Array API standard, .* functions, since (\d{4}\.12)\.\s*$")


class Namespace(ModuleType):
    """The names of a version of the standard, with one array type."""

    __array_api_version__: str
    __all__: list[str]
    __array_namespace_info__: Callable[[], Any]
    _origin: tuple[Callable[..., Any], tuple[Any, ...]]  # a function that returns it, for pickle
    _module = ""  # by which pickle finds its functions

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}: array API standard {self.__array_api_version__}>"

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._origin

    def adopt_functions(self) -> None:
        for name in self.__all__:
            value = getattr(self, name)
            if isinstance(value, Namespace):
                value._module = by_name.extension_module(self._module, name)
                value.adopt_functions()
            else:
                by_name.adopt(name, value, self._module)


#: Those of the default namespace's arrays that were asked for.
EARLIER: dict[str, Namespace] = {}


def namespace(version: str) -> ModuleType:
    """Return the default namespace in a version, one object for each."""
    if version == refarray.__array_api_version__:
        return refarray
    if version not in EARLIER:
        out = Namespace(f"refarray_{version.replace('.', '_')}", refarray.__doc__)
        out._origin = namespace, (version,)
        out._module = by_name.module_name("refarray", {"api_version": version})
        fill_with_extensions(out, refarray, version)
        EARLIER.setdefault(version, out)
    return EARLIER[version]


def fill_with_extensions(
    out: Namespace, module: ModuleType, version: str, *, strict: bool = False
) -> None:
    """Give a namespace those names of a module, and of its extensions, that the version has; if
    strict, as they were in it."""
    fill(out, module, version, strict)
    for name in refarray._EXTENSIONS:
        if name not in out.__all__:
            continue
        source = getattr(module, name)
        extension = Namespace(f"{out.__name__}.{name}", source.__doc__)
        extension._origin = getattr, (out, name)
        extension._module = by_name.extension_module(out._module, name)
        fill(extension, source, version, strict)
        if extension.__all__:
            setattr(out, name, extension)
        else:
            out.__all__.remove(name)
            delattr(out, name)


def fill(out: Namespace, module: ModuleType, version: str, strict: bool) -> None:
    out.__array_api_version__ = version
    out.__all__ = [name for name in module.__all__ if is_in(getattr(module, name), version)]
    for name in out.__all__:
        same = getattr(module, name)
        value = change(name, same, version)
        if strict:
            value = earlier_strict.change(name, value, version)
        if value is not same:
            by_name.adopt(name, value, out._module)
        setattr(out, name, version if name == "__array_api_version__" else value)


def change(name: str, value: Any, version: str) -> Any:
    """A value with the results of a version."""
    for last, names, change in CHANGES:
        if name in names and version <= last:
            value = change(value)
    return value


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
        if dtype is None and hasattr(x, "__array_namespace__"):
            xp = x.__array_namespace__()
            if refarray.isdtype(x.dtype, "real floating"):
                dtype = xp.float64
            elif refarray.isdtype(x.dtype, "complex floating"):
                dtype = xp.complex128
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


def without_max_dimensions(function: Callable[..., Any]) -> Callable[..., Any]:
    """__array_namespace_info__(), whose method capabilities() did not say the largest ndim."""

    @functools.wraps(function)
    def info() -> Any:
        out = function()
        all_of_them = out.capabilities

        @functools.wraps(all_of_them)
        def capabilities() -> dict[str, Any]:
            return {name: x for name, x in all_of_them().items() if name != "max dimensions"}

        out.capabilities = capabilities
        return out

    return info


#: The last version that has a difference, the names, and what makes it.
CHANGES: tuple[tuple[str, tuple[str, ...], Callable[..., Any]], ...] = (
    ("2024.12", ("broadcast_arrays", "meshgrid"), with_list),
    ("2024.12", ("__array_namespace_info__",), with_list_of_devices),
    ("2023.12", ("__array_namespace_info__",), without_max_dimensions),
    ("2022.12", ("prod", "sum", "trace"), with_default_dtype),
)
