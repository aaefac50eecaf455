"""Virtual devices: host memory that only its namespace's functions use, as if it were a device's.

A namespace with devices has a module refarray._native and an array type for each. Its functions
call those of the device that the arguments are on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import refarray
from refarray import _native
from refarray._namespaces.info import DEFAULTS, DTYPES, Frozen, Info

STANDARD = tuple(getattr(_native, name) for name in DTYPES)
#: The kinds of the dtypes that may be defaults for a kind.
KINDS = {**{kind: kind for kind in DEFAULTS}, "indexing": "integral"}


class VirtualDevice(metaclass=Frozen):
    """A device of namespaces for tests: namespace(devices=[VirtualDevice("gpu")]).

    Its arrays are in host memory, which nothing but the namespace reads: NumPy, buffers and DLPack
    get a copy on the host only if they ask for one. DLPack sees the type kDLExtDev.

    name: what repr() shows.
    id: the number of the device for DLPack.
    dtypes: the dtypes of the standard that it has. Others raise ValueError.
    default_dtypes: the defaults that differ, by kind: "real floating", "complex floating",
        "integral", "indexing".

    Devices with equal arguments are equal.
    """

    __slots__ = {"_facts": "name, id, dtypes and default dtypes"}

    def __init__(
        self,
        name: str,
        *,
        id: int = 0,
        dtypes: Iterable[Any] = STANDARD,
        default_dtypes: Mapping[str, Any] | None = None,
    ) -> None:
        own: Any = name, id
        if not isinstance(own[0], str) or not name:
            raise TypeError(f"VirtualDevice(): name must be a str with characters, not {name!r}")
        if not isinstance(own[1], int) or not 0 <= id < 2**31:
            raise ValueError(f"VirtualDevice(): id is {id!r}; DLPack has 0 to 2**31 - 1")
        taken = check_dtypes(dtypes)
        defaults = check_defaults(default_dtypes or {}, taken)
        self._facts = (name, id, taken, tuple(defaults.items()))

    @property
    def name(self) -> str:
        """The name."""
        return self._facts[0]

    @property
    def dlpack(self) -> tuple[int, int]:
        """The pair that __dlpack_device__() of its arrays returns."""
        return (refarray.DLDeviceType.kDLExtDev, self._facts[1])

    @property
    def dtypes(self) -> tuple[Any, ...]:
        """The dtypes that it has, in the standard's order."""
        return self._facts[2]

    @property
    def default_dtypes(self) -> dict[str, Any]:
        """The default dtypes by kind."""
        return dict(self._facts[3])

    def __repr__(self) -> str:
        return f"refarray.VirtualDevice({self.name!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VirtualDevice):
            return NotImplemented
        return type(self) is type(other) and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self._facts[:2])

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_device, self._facts


def unpickle_device(name: str, id: int, dtypes: tuple[Any, ...], defaults: Any) -> VirtualDevice:
    return VirtualDevice(name, id=id, dtypes=dtypes, default_dtypes=dict(defaults))


def check_dtypes(dtypes: Iterable[Any]) -> tuple[Any, ...]:
    """The dtypes in the standard's order. Raises ValueError for others."""
    given = list(map(open_dtype, dtypes))
    strange = [each for each in given if each not in STANDARD]
    if strange:
        raise ValueError(f"dtypes are those of the standard, not {strange[0]!r}")
    return tuple(filter(given.__contains__, STANDARD))


def open_dtype(dtype: Any) -> Any:
    """The dtype of refarray for one of a strict namespace, which equals nothing else."""
    try:
        return refarray.DType(dtype)
    except (TypeError, ValueError):
        return dtype


def check_defaults(defaults: Mapping[str, Any], dtypes: tuple[Any, ...]) -> dict[str, Any]:
    """All default dtypes. What `dtypes` lacks has the widest of its kind in its place; a kind that
    it lacks has the usual one."""
    out = {}
    for kind in defaults:
        if kind not in DEFAULTS:
            raise ValueError(f"default_dtypes are of {', '.join(DEFAULTS)}, not {kind!r}")
    for kind, usual in DEFAULTS.items():
        signed = "signed integer" if KINDS[kind] == "integral" else kind
        of_kind = [each for each in dtypes if _native.isdtype(each, signed)]
        usual = usual if usual in dtypes or not of_kind else of_kind[-1]
        out[kind] = open_dtype(defaults.get(kind, usual))
        if kind in defaults and out[kind] not in (of_kind or [usual]):
            raise ValueError(f"the default dtype of {kind} is {out[kind]!r}, not one of {of_kind}")
    return out


@dataclass(frozen=True, eq=False)
class Place:
    """A device of one namespace: its own functions, by the names of refarray._native."""

    device: Any  # a VirtualDevice, or refarray.Device("cpu")
    on_host: bool
    dtypes: tuple[Any, ...]  # of the namespace, as the defaults
    defaults: Mapping[str, Any]
    native: Any

    def own(self, dtype: Any) -> Any:
        """The dtype of the namespace for one of refarray."""
        return getattr(self.native, str(dtype), dtype)

    @property
    def is_usual(self) -> bool:
        """Whether it has all dtypes, and the default ones."""
        usual = {kind: self.own(dtype) for kind, dtype in DEFAULTS.items()}
        return len(self.dtypes) == len(STANDARD) and dict(self.defaults) == usual

    def require(self, dtype: Any) -> None:
        """Raise ValueError for a dtype of the standard that it lacks."""
        if dtype in map(self.own, STANDARD) and dtype not in self.dtypes:
            name = open_dtype(dtype)
            raise ValueError(f"{self.device!r} has no {name}; it has {', '.join(self.names())}")

    def names(self) -> list[str]:
        return [str(open_dtype(each)) for each in self.dtypes]

    def takes(self, x: Any) -> bool:
        return type(x) is self.native.Array

    def alias(self, x: Any) -> Any:
        """An array of another device's memory: of functions that use only dtype and shape."""
        self.require(x.dtype)
        return self.native._retyped(x)

    def move(self, x: Any, dtype: Any = None) -> Any:
        """A copy of an array of another device, as `dtype`: one transfer."""
        self.require(x.dtype if dtype is None else dtype)
        return self.native._moved(x, dtype)


class Places:
    """The devices of a namespace; the first is on the host and the default."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.all = tuple(places)
        self.types = tuple(each.native.Array for each in self.all)
        self.by_device = {each.device: each for each in self.all}
        # Keys are objects of these types: no foreign __hash__ runs.
        self.key_types = {str, _native.Device, *map(type, self.by_device)}

    def find(self, device: Any) -> Place:
        """The place of a device. Raises ValueError if the namespace has none such."""
        found = self.by_device.get(device) if type(device) in self.key_types else None
        if found is None:
            known = ", ".join(repr(each.device) for each in self.all)
            raise ValueError(f"the namespace has no device {device!r}; it has {known}")
        return found

    def of(self, x: Any) -> Place | None:
        """The place of an array, or None for other objects."""
        return next((each for each in self.all if each.takes(x)), None)


def to_device(x: Any, device: Any, stream: Any) -> Any:
    """Implement x.to_device(): a copy on another device, or the array itself."""
    places: Places = x.__array_namespace__()._places
    if stream is not None:
        raise ValueError(f"to_device(): virtual devices have no streams; stream is {stream!r}")
    target = places.find(device)
    return x if target.takes(x) else target.move(x)


def astype(x: Any, dtype: Any, copy: Any, device: Any) -> Any:
    """Implement x.astype(dtype, copy=copy, device=device)."""
    return x.__array_namespace__().astype(x, dtype, copy=copy, device=device)


class DeviceInfo(Info):
    """The inspection functions of a namespace with devices, or with default dtypes of its own."""

    def __init__(self, places: Places, **capabilities: bool) -> None:
        super().__init__(places.all[0].native.empty, places.all[0].own, **capabilities)
        self._places = places

    def _place(self, device: Any) -> Place:
        return self._places.all[0] if device is None else self._places.find(device)

    def default_device(self) -> Any:
        """Return the device of arrays that are created without `device=`."""
        return self._places.all[0].device

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the default dtypes of a device."""
        return dict(self._place(device).defaults)

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the dtypes of a device that are of a kind, by name."""
        place = self._place(device)
        found = super().dtypes(kind=kind)
        return {name: each for name, each in found.items() if each in place.dtypes}

    def devices(self) -> tuple[Any, ...]:
        """Return the devices."""
        return tuple(each.device for each in self._places.all)
