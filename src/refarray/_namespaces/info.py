"""__array_namespace_info__(): what this implementation of the array API standard supports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from refarray import _native

if TYPE_CHECKING:
    from refarray._native import Array, Device, DType, _DeviceLike

# In the standard's order. Dtypes outside the standard must not be listed.
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
MAX_DIMENSIONS = 64
#: The dtypes that are defaults for their kinds.
DEFAULTS = {
    "real floating": _native.float64,
    "complex floating": _native.complex128,
    "integral": _native.int64,
    "indexing": _native.int64,
}


class Frozen(type):
    """The metaclass of classes whose attributes do not change, as those of the types in C.

    type.__setattr__() gives way: they are Python's own.
    """

    def __setattr__(cls, name: str, value: object) -> None:
        raise TypeError(f"cannot set {name!r} attribute of immutable type {cls.__qualname__!r}")

    def __delattr__(cls, name: str) -> None:
        raise TypeError(f"cannot delete {name!r} attribute of immutable type {cls.__qualname__!r}")


class Info(metaclass=Frozen):
    """The inspection functions of the array API standard, version 2025.12."""

    def __init__(
        self,
        empty: Callable[..., Array] = _native.empty,  # it says which devices there are
        own: Callable[[Any], Any] = lambda dtype: dtype,  # the dtype of the namespace
        *,
        boolean_indexing: bool = True,
        data_dependent_shapes: bool = True,
    ) -> None:
        self._empty, self._own = empty, own
        self._capabilities = boolean_indexing, data_dependent_shapes

    def capabilities(self) -> dict[str, Any]:
        """Return what is optional in the standard, and the largest ndim."""
        return {
            "boolean indexing": self._capabilities[0],
            "data-dependent shapes": self._capabilities[1],
            "max dimensions": MAX_DIMENSIONS,
        }

    def default_device(self) -> Device:
        """Return the device of arrays that are created without `device=`: the CPU."""
        return self.devices()[0]

    def default_dtypes(self, *, device: _DeviceLike | None = None) -> dict[str, DType]:
        """Return the default dtypes, which are the same on every device."""
        self._empty(0, device=device)
        return {kind: self._own(each) for kind, each in DEFAULTS.items()}

    def dtypes(
        self, *, device: _DeviceLike | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes of a kind, by name; `kind` is as in isdtype()."""
        self._empty(0, device=device)
        all_of_them: dict[str, DType] = {name: self._own(getattr(_native, name)) for name in DTYPES}
        if kind is None:
            return all_of_them
        return {name: each for name, each in all_of_them.items() if _native.isdtype(each, kind)}

    def devices(self) -> tuple[Device, ...]:
        """Return the devices whose arrays every function takes: the CPU."""
        return (self._empty(0).device,)

    def __repr__(self) -> str:
        return "<refarray.__array_namespace_info__()>"


def __array_namespace_info__() -> Info:
    """Return an object with the inspection functions of the array API standard.

    Its methods are capabilities(), default_device(), default_dtypes(), devices() and dtypes().
    They raise ValueError for a device or a kind that does not exist.

    Array API standard, inspection functions, since 2023.12.
    """
    return Info()
