"""Names for classes and functions of namespaces: modules that pickle finds them in.

The class of an array of refarray.namespace(strict=True) is Array of the module
"refarray_strict.namespace(strict=True)". Importing this name gives a module that holds the
arguments only, and looks up the namespace for each attribute: namespaces end with their last array.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import refarray
from refarray import _native
from refarray._namespaces.devices import VirtualDevice

#: The module at the top level, which computes with the arrays of all namespaces.
PACKAGE = "refarray_strict"


def module_name(function: str, arguments: dict[str, Any]) -> str:
    """The module of a namespace: a call of the function, without dots."""
    plain = {**arguments}
    if "devices" in plain:
        plain["devices"] = tuple(map(facts, plain["devices"]))
    if "default_dtypes" in plain:
        plain["default_dtypes"] = tuple(
            (kind, str(x)) for kind, x in plain["default_dtypes"].items()
        )
    text = ", ".join(f"{name}={value!a}" for name, value in plain.items())
    return f"{PACKAGE}.{function}({text.replace('.', chr(92) + 'x2e')})"


def extension_module(module: str, extension: str) -> str:
    """The module of an extension of a namespace that has a module."""
    if not module.endswith(")"):
        return f"{module}.{extension}"
    between = "" if module.endswith("()") else ", "
    return f"{module[:-1]}{between}of={extension!r})"


def facts(device: VirtualDevice) -> tuple[Any, ...]:
    defaults = tuple((kind, str(each)) for kind, each in device.default_dtypes.items())
    return device.name, device.dlpack[1], tuple(map(str, device.dtypes)), defaults


def device_of(name: str, id: int, dtypes: Any, defaults: Any) -> VirtualDevice:
    return VirtualDevice(
        name, id=id, dtypes=map(dtype_of, dtypes), default_dtypes=dtypes_of(defaults)
    )


def dtype_of(name: str) -> Any:
    return getattr(_native, name)


def dtypes_of(pairs: Any) -> dict[str, Any]:
    return {kind: dtype_of(name) for kind, name in pairs}


def arguments_in(text: str) -> tuple[str, dict[str, Any]]:
    """The function and the arguments of a call that module_name() wrote. Raises ValueError."""
    try:
        call: Any = ast.parse(text, mode="eval").body
        found = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
        function = call.func.id
    except (SyntaxError, ValueError, AttributeError) as error:
        raise ValueError(f"{text!r} is no name of a namespace") from error
    if call.args or function not in FUNCTIONS:
        raise ValueError(f"{text!r} is no name of a namespace")
    if "devices" in found:
        found["devices"] = [device_of(*each) for each in found["devices"]]
    if "default_dtypes" in found:
        found["default_dtypes"] = dtypes_of(found["default_dtypes"])
    return function, found


class ByName(ModuleType):
    """A module that finds the attributes of a namespace, or of one of its devices."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._function, self._arguments = arguments_in(name.partition(".")[2])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__array_namespace_info__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        arguments = dict(self._arguments)
        place, version = arguments.pop("place", 0), arguments.pop("version", None)
        extension = arguments.pop("of", None)
        space = FUNCTIONS[self._function](**arguments)
        if version is not None:
            space = space._in_version(version)
        if place:
            return getattr(space._places.all[place].native, name)
        for module in modules_of(space, extension):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def modules_of(space: Any, extension: str | None) -> Iterator[Any]:
    """Where a namespace, or its extension, has its functions: those that users see first."""
    for names in (space, getattr(space, "_names", None)):
        yield names if extension is None else getattr(names, extension, None)
    if hasattr(space, "_places"):
        yield getattr(space, "_unknowns", None)  # has the class Array
        yield space._places.all[0].native


def of_strict() -> Any:
    return importlib.import_module("refarray.strict")


def of_namespace(**arguments: Any) -> Any:
    return refarray.namespace(**arguments)


def of_refarray(*, api_version: str) -> Any:
    return refarray.empty(0).__array_namespace__(api_version=api_version)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "namespace": of_namespace,
    "refarray": of_refarray,
    "strict": of_strict,
}


class Choice(tuple[Any, ...]):
    """The __self__ of a function of several devices: the array types, and their functions. Its
    pickle is the module of the function, by whose name it is found there."""

    module: str

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.module,)


def adopt(name: str, value: Any, module: str) -> None:
    """Name the module of a function, unless it is one of refarray's own."""
    if isinstance(value, FunctionType) and value is not getattr(refarray, name, None):
        value.__module__, value.__qualname__ = module, name
