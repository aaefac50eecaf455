"""namespace(): the functions of refarray with an array type of their own, which refuses more.

Each namespace has a module refarray._native of its own, whose functions take and return its arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

import refarray
from refarray import _native
from refarray._namespaces import by_name, device_functions, unknown, versions
from refarray._namespaces.devices import (
    STANDARD,
    Place,
    Places,
    VirtualDevice,
    check_defaults,
)
from refarray._namespaces.info import DEFAULTS
from refarray._namespaces.names import COMPLEX, names_of, own_dtype
from refarray._namespaces.unknown import Unknowns
from refarray._namespaces.versions import Namespace

if TYPE_CHECKING:
    from refarray.typing import RefarrayNamespace

NEWEST = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", NEWEST, versions.DRAFT)


@dataclass(frozen=True)
class Modes:
    """What distinguishes a namespace."""

    api_version: str = NEWEST
    strict: bool = False
    immutable: bool = False
    lazy: bool = False
    boolean_indexing: bool = True
    data_dependent_shapes: bool = True
    extensions: tuple[str, ...] = refarray._EXTENSIONS
    devices: tuple[VirtualDevice, ...] = ()
    default_dtypes: tuple[tuple[str, Any], ...] = ()
    poison_views: bool = False

    def __post_init__(self) -> None:
        if self.api_version not in VERSIONS:
            raise ValueError(
                f"namespace(): api_version is {self.api_version!r}; the versions are "
                + ", ".join(map(repr, (*VERSIONS, "draft")))
            )
        for name in (*(each.name for each in fields(self)[1:6]), "poison_views"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise TypeError(f"namespace(): {name} must be True or False, not {value!r}")
        if self.has_unknown_extents and self.poison_views:
            raise ValueError("namespace(): poison_views=True contradicts unknown extents")
        if "complex floating" in dict(self.default_dtypes) and not self.has_complex:
            raise ValueError(
                "namespace(): default_dtypes has one of 'complex floating', which came with "
                f"2022.12; the namespace is strict, of version {self.api_version!r}"
            )

    @property
    def has_unknown_extents(self) -> bool:
        """Whether shapes may depend on elements that are not known yet."""
        return self.lazy and (self.boolean_indexing or self.data_dependent_shapes)

    @property
    def name(self) -> str:
        """The module name: refarray, the modes, and a version that is not the newest."""
        modes = [name for name in ("strict", "immutable", "lazy") if getattr(self, name)]
        for name in ("boolean_indexing", "data_dependent_shapes"):
            if getattr(self, name) == self.lazy:
                modes.append(f"{'with' if self.lazy else 'without'}_{name}")
        modes += [f"without_{name}" for name in refarray._EXTENSIONS if name not in self.extensions]
        modes += [f"with_{each.name}" for each in self.devices]
        modes += [str(dtype) for _, dtype in self.default_dtypes]
        if self.poison_views:
            modes.append("poison_views")
        if self.api_version != NEWEST:
            modes.append(self.api_version.replace(".", "_"))
        return "_".join(["refarray", *modes])

    @property
    def has_complex(self) -> bool:
        """Whether it has the dtypes that came with version 2022.12."""
        return not self.strict or self.api_version > "2021.12"

    def refusals(self) -> tuple[bool, ...]:
        """What the extension module refuses, in the order of its first fields."""
        without = not self.boolean_indexing, not self.data_dependent_shapes
        return (self.strict, self.immutable, self.lazy, *without, self.poison_views)

    def arguments(self) -> dict[str, Any]:
        """The arguments of namespace() that are not the defaults."""
        default = Modes()
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        out = {name: value for name, value in own.items() if value != getattr(default, name)}
        if self.lazy:  # where their default is another one
            out["boolean_indexing"] = self.boolean_indexing
            out["data_dependent_shapes"] = self.data_dependent_shapes
        if "default_dtypes" in out:
            out["default_dtypes"] = dict(self.default_dtypes)
        return out


class OwnNamespace(Namespace):
    """A namespace with an array type of its own."""

    _names: Namespace  # those of all versions
    _places: Places  # its devices
    _rebuild: dict[Any, Callable[..., Any]]  # unpickle an array of a device
    _versions: dict[str, Namespace]  # what its arrays returned for api_version=
    _unknowns: Unknowns  # of namespaces with unknown extents only
    _strict: bool
    _function: tuple[str, dict[str, Any]]  # what names it: by_name.FUNCTIONS, and the arguments

    _class_module: str  # by which pickle finds the class Array

    def _name(self, function: str, arguments: dict[str, Any]) -> None:
        self._function = function, arguments
        self._module = self._class_module = self._module_with()

    def _module_with(self, **more: Any) -> str:
        function, arguments = self._function
        return by_name.module_name(function, {**arguments, **more})

    def _in_version(self, version: str) -> ModuleType:
        """The names of another version, for the same arrays."""
        if version not in self._versions:
            self._versions.setdefault(version, make_in_version(self, version))
        return self._versions[version]


#: Those that somebody holds: by themselves, an array or a function.
MADE: WeakValueDictionary[Modes, OwnNamespace] = WeakValueDictionary()


def namespace(
    *,
    api_version: str = NEWEST,
    strict: bool = False,
    immutable: bool = False,
    lazy: bool = False,
    boolean_indexing: bool | None = None,
    data_dependent_shapes: bool | None = None,
    extensions: Iterable[str] | None = None,
    devices: Iterable[VirtualDevice] = (),
    default_dtypes: Mapping[str, Any] | None = None,
    poison_views: bool = False,
) -> RefarrayNamespace:
    """Return a namespace of the array API standard: a module with an array type of its own.

    api_version: a version of the standard, or "draft" for the next one, "2026.12". The namespace
        has its functions, with the results that they had in it.
    strict: True refuses what the standard does not promise: names, attributes, arguments, dtypes,
        indices and conversions that are refarray's own, or of a later version than api_version.
    immutable: True makes arrays that cannot be written to. x += y assigns a new array to the
        variable, and exported memory is read-only.
    lazy: True makes arrays that are not converted to Python numbers: bool(), int(), float(),
        complex() and use as an index raise ValueError. Exports compute.
    boolean_indexing: False refuses masks as indices. None is True unless lazy; True in a lazy
        namespace makes arrays with an unknown extent, None in their shape.
    data_dependent_shapes: False refuses nonzero(), unique_all() and its like, and repeat() by an
        array. None and True are as for boolean_indexing.
    extensions: the extensions of the standard that it has; None is "fft" and "linalg".
    devices: virtual devices besides the CPU, of the type VirtualDevice.
    default_dtypes: the default dtypes of the CPU that differ, by kind, as for VirtualDevice.
    poison_views: True makes a write raise ValueError if the elements have another owner: a view, an
        exported tensor, the exporter of imported memory.

    Equal arguments return the same object; without arguments it is the module refarray. Results of
    a namespace's functions, and of the operators and methods of its arrays, belong to it, and
    x.__array_namespace__() returns it. Arrays of two namespaces do not mix; asarray() and
    from_dlpack() of a namespace take those of others.

    Raises ValueError for an unknown version and for modes that contradict each other.
    """
    masks = not lazy if boolean_indexing is None else boolean_indexing
    counting = not lazy if data_dependent_shapes is None else data_dependent_shapes
    version = versions.DRAFT if api_version == "draft" else api_version
    modes = Modes(
        *(version, strict, immutable, lazy, masks, counting),
        extensions=to_extensions(extensions, version),
        devices=to_devices(devices),
        default_dtypes=to_defaults(default_dtypes or {}),
        poison_views=poison_views,
    )
    found = refarray if modes == Modes() else MADE.get(modes)
    if found is None:
        # No lock: a signal handler or a finalizer may call this function during make(). Of two
        # namespaces made at once, the first in the dict is the one.
        found = MADE.setdefault(modes, make(modes))
    return cast("RefarrayNamespace", found)


# --- the arguments


def to_extensions(names: Iterable[str] | None, version: Any) -> tuple[str, ...]:
    if names is None:
        return refarray._EXTENSIONS
    if isinstance(names, str):
        raise TypeError(f"namespace(): extensions is a list of names, not {names!r}")
    given = set(names)
    if not given <= set(refarray._EXTENSIONS):
        unknown = sorted(map(repr, given - set(refarray._EXTENSIONS)))
        raise ValueError(
            f"namespace(): there is no extension {unknown[0]}; there are 'fft', 'linalg'"
        )
    for name in sorted(given):
        since = versions.EXTENSIONS[name]
        if str(version) < since:
            raise ValueError(
                f"namespace(): extensions has {name!r}, which came with {since}; api_version is "
                f"{version!r}"
            )
    return tuple(name for name in refarray._EXTENSIONS if name in given)


def to_devices(given: Iterable[VirtualDevice]) -> tuple[VirtualDevice, ...]:
    out = tuple(given)
    for each in out:
        if not isinstance(each, VirtualDevice):
            raise TypeError(f"namespace(): devices are refarray.VirtualDevice, not {each!r}")
    if len(set(out)) < len(out) or len({each.dlpack for each in out}) < len(out):
        raise ValueError(f"namespace(): two of the devices {out} are equal or have the same id")
    return out


def to_defaults(given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    full = check_defaults(given, STANDARD)
    return tuple((kind, each) for kind, each in full.items() if each != DEFAULTS[kind])


# --- the namespace


def make(modes: Modes) -> OwnNamespace:
    out = OwnNamespace(modes.name, refarray.__doc__)
    out._origin = unpickle_namespace, (modes.arguments(),)
    out._name("namespace", modes.arguments())
    devices: list[Any] = [refarray.Device("cpu"), *modes.devices]
    fill_native(out, modes, devices, functools.partial(unpickle_array, modes.arguments()))
    versions.fill_with_extensions(out, out._names, modes.api_version, strict=modes.strict)
    return with_unknown_extents(out, modes) if modes.has_unknown_extents else out


def with_unknown_extents(inner: OwnNamespace, modes: Modes) -> OwnNamespace:
    """A namespace around another, whose arrays may have unknown extents."""
    out = OwnNamespace(modes.name, refarray.__doc__)
    out._origin = inner._origin
    out._name(*inner._function)
    out._strict = inner._strict
    out._places, out._rebuild, out._versions = inner._places, inner._rebuild, {}
    out._unknowns = Unknowns(inner, out, strict=modes.strict, immutable=modes.immutable)
    out._names = unknown.names_of(inner._names, out._unknowns)
    out._names._module = out._module
    out._names.adopt_functions()
    versions.fill_with_extensions(out, out._names, modes.api_version, strict=modes.strict)
    return out


def fill_native(
    out: OwnNamespace, modes: Modes, devices: list[Any], rebuild: Callable[..., Any]
) -> None:
    """Make the modules of a namespace's devices, the first of which is on the host."""
    out._strict = modes.strict
    out._rebuild = {}
    places = []
    for number, each in enumerate(devices):
        on_host = number == 0
        name = out._class_module if on_host else out._module_with(place=number)
        native = make_native(name, out, modes, each, (len(devices) > 1, not on_host))
        own = isinstance(each, VirtualDevice)
        each = each if own else native.empty(0).device
        out._rebuild[each] = native._rebuild
        native._rebuild = functools.partial(rebuild, each)  # what pickles refer to
        dtypes = tuple(
            own_dtype(native, dtype)
            for dtype in (each.dtypes if own else STANDARD)
            if modes.has_complex or str(dtype) not in COMPLEX
        )
        defaults = each.default_dtypes if own else {**DEFAULTS, **dict(modes.default_dtypes)}
        defaults = {kind: own_dtype(native, dtype) for kind, dtype in defaults.items()}
        places.append(Place(each, on_host, dtypes, defaults, native))
    out._places = Places(places)
    names, *others = [names_of(each.native, modes) for each in places]
    names._module = out._module
    if others or not places[0].is_usual:
        device_functions.merge(names, others, out._places, names._module)
        if "__array_namespace_info__" in names.__all__:
            names.__array_namespace_info__ = device_functions.info(
                refarray.__array_namespace_info__, out._places, modes
            )
    names.adopt_functions()
    out._names = names
    out._versions = {}


def make_native(
    name: str, out: OwnNamespace, modes: Modes, device: Any, flags: tuple[bool, ...]
) -> Any:
    spec = ModuleSpec(name, None)
    of_device = device if isinstance(device, VirtualDevice) else None
    native = _native._make_namespace(spec, out, (*modes.refusals(), *flags), of_device)
    native._set_year(int(modes.api_version[:4]))
    return native


def unpickle_namespace(arguments: dict[str, Any]) -> RefarrayNamespace:
    return namespace(**arguments)


def unpickle_array(arguments: dict[str, Any], device: Any, *array: Any) -> Any:
    space: Any = namespace(**arguments)
    return space._rebuild[device](*array)


def in_version(space: OwnNamespace, version: str) -> ModuleType:
    """Implement __array_namespace__(api_version=...)."""
    return space if version == space.__array_api_version__ else space._in_version(version)


def make_in_version(space: OwnNamespace, version: str) -> Namespace:
    out = Namespace(f"{space.__name__}.v{version.replace('.', '_')}", space.__doc__)
    out._origin = in_version, (space, version)
    out._module = space._module_with(version=version)
    versions.fill_with_extensions(out, space._names, version, strict=space._strict)
    return out
