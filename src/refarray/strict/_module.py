"""The module refarray.strict: a namespace whose names and refusals change with the flags."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import refarray
from refarray._namespaces import by_name, device_functions, modes, versions
from refarray.strict import _devices, _flags

if TYPE_CHECKING:
    from refarray.strict._flags import Flags


class StrictModule(modes.OwnNamespace):
    """A namespace of all devices of array-api-strict."""

    _settings: Flags
    _is_set: bool  # whether all names and refusals are those of the settings
    _made: dict[Flags, versions.Namespace]  # the names of flags that were set before
    _standard: tuple[str, ...]  # the attributes that are names of the standard

    def _start(self) -> None:
        self._origin = importlib.import_module, ("refarray.strict",)
        self._name("strict", {})
        self._class_module = by_name.PACKAGE  # which has the attribute Array
        own = modes.Modes(strict=True)
        modes.fill_native(self, own, list(_devices.ALL_DEVICES), unpickle_array)
        self._standard = ()
        self._made = {}
        self._set(_flags.initial_flags())

    def _set(self, flags: Flags) -> None:
        """Take the names of the flags' version, and refuse what the flags say."""
        # scikit-learn sets them for each array.
        if self.__dict__.get("_settings") == flags and self._is_set:
            return
        if flags not in self._made:
            self._made[flags] = self._names_with(flags)
        names = self._made[flags]
        self._is_set = False  # if this ends early, the next call begins again
        former = set(self._standard)
        self._standard = tuple(former.union(names.__all__))
        for name in former.difference(names.__all__):
            self.__dict__.pop(name, None)
        for name in names.__all__:
            setattr(self, name, getattr(names, name))
        self._standard = tuple(names.__all__)
        self.__all__ = sorted({*self._standard, *self._OWN})
        self.__array_api_version__ = flags.api_version
        self._settings = flags
        for place in self._places.all:
            place.native._allow(flags.boolean_indexing, flags.data_dependent_shapes)
            place.native._set_year(int(flags.api_version[:4]))
        self._is_set = True

    def _names_with(self, flags: Flags) -> versions.Namespace:
        out = versions.Namespace(self.__name__, self.__doc__)
        out._module = self._module
        versions.fill_with_extensions(out, self._names, flags.api_version, strict=True)
        for name in set(refarray._EXTENSIONS) & set(out.__all__) - set(flags.enabled_extensions):
            out.__all__.remove(name)
        for name in set(refarray._EXTENSIONS) & set(out.__all__):
            getattr(out, name)._origin = getattr, (self, name)
        if "__array_namespace_info__" in out.__all__:
            own = refarray.__array_namespace_info__
            name = "__array_namespace_info__"
            info = device_functions.info(own, self._places, flags, _devices.NamedDevices)
            out.__array_namespace_info__ = versions.change(name, info, flags.api_version)
        return out

    def _in_version(self, version: str) -> StrictModule:
        """Set the flag, as array-api-strict does for __array_namespace__(api_version=...)."""
        self._set(_flags.change(self._settings, version, None, None, None))
        return self

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}: array API standard {self.__array_api_version__}>"

    def __getattr__(self, name: str) -> Any:
        if name in refarray._EXTENSIONS:
            raise AttributeError(f"the flags of {self.__name__} do not enable the extension {name}")
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r} in version "
            f"{self.__dict__.get('__array_api_version__')} of the standard"
        )


def unpickle_array(device: Any, *array: Any) -> Any:
    space: Any = importlib.import_module("refarray.strict")
    return space._rebuild[device](*array)
