"""Counts the exchanges of each test in which refarray took part, and the shared substitutes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import refarray

_count = 0


def note(exchanges: int = 1) -> None:
    """Counts exchanges between refarray and the library under test. Call it after refarray has
    accepted or refused something, or before another library is given an array of refarray."""
    global _count
    _count += exchanges


def imported(array: Any) -> Any:
    """An array of refarray over the memory of an ndarray, counted; the ndarray itself if refarray
    does not have its dtype."""
    try:
        taken = refarray.from_numpy(array)
    except BufferError:
        return array
    note()
    return taken


def take() -> int:
    """The number of exchanges since the last call."""
    global _count
    taken, _count = _count, 0
    return taken


class Namespace:
    """A module, some of whose names are replaced."""

    def __init__(self, module: ModuleType, **replaced: Any) -> None:
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class StandIn(type):
    """The type of classes made by stand_in()."""

    stood_for: type
    make: Callable[..., Any]

    def __instancecheck__(cls, obj: Any) -> bool:
        return isinstance(obj, cls.stood_for)

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        return cls.make(*arguments, **keywords)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.stood_for, name)


def stand_in(cls: type, make: Callable[..., Any] | None = None, **replaced: Any) -> type:
    """A class for isinstance, calls and attributes in the place of `cls`, some of whose attributes
    are replaced; `make` is called to create an object."""
    static = {name: staticmethod(value) for name, value in replaced.items()}
    body = {"stood_for": cls, "make": staticmethod(make or cls), **static}
    return StandIn(cls.__name__, (), body)


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose every call is an exchange."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        note()
        return function(*arguments, **keywords)

    return call


#: The functions of refarray that consume, counted.
from_dlpack = counted(refarray.from_dlpack)
from_buffer = counted(refarray.from_buffer)
from_array_interface = counted(refarray.from_array_interface)
asarray = counted(refarray.asarray)


def made_by(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function that creates a NumPy array: returns an array of refarray over its memory,
    which the test hands to the library under test. Arrays that refarray refuses stay NumPy's."""

    def make(*arguments: Any, **keywords: Any) -> Any:
        array = function(*arguments, **keywords)
        try:
            made = refarray.asarray(array, copy=False)
        except BufferError:
            return array
        note()
        return made

    return make


#: Formats that refarray reads (docs/interop.md): a native number.
FORMATS = frozenset("?cbBhHiIlLqQnNefdFD") | {"Ze", "Zf", "Zd"}

PREFIXES = ("@", "^", "=", "<" if sys.byteorder == "little" else ">")


def is_supported(view: memoryview) -> bool:
    """Whether refarray must accept a buffer: one native number per element, no suboffsets, strides
    that are multiples of the item size where elements are addressed with them."""
    strides = [
        stride % view.itemsize
        for extent, stride in zip(view.shape, view.strides, strict=True)
        if extent > 1
    ]
    prefix, fmt = view.format[:1], view.format
    if prefix in PREFIXES or (prefix in ("<", ">", "!") and view.itemsize == 1):
        fmt = fmt[1:]
    return (
        fmt.removeprefix("1") in FORMATS
        and not any(suboffset >= 0 for suboffset in view.suboffsets)
        and not (view.nbytes > 0 and any(strides))
    )


def is_asked_once(obj: Any) -> bool:
    """Whether its class gives the buffer by a method in Python, whose calls a test may count."""
    return inspect.isfunction(getattr(type(obj), "__buffer__", None))


def through(obj: Any) -> memoryview:
    """A memoryview of the buffer of `obj` that refarray has imported and exports again. A buffer of
    a kind that refarray does not support must be refused; it is passed on without being counted."""
    if is_asked_once(obj):
        return memoryview(from_buffer(obj))
    direct = memoryview(obj)
    if is_supported(direct):
        return memoryview(from_buffer(obj))
    try:
        refarray.from_buffer(obj)
    except BufferError:
        return direct
    raise AssertionError(f"refarray has accepted the format {direct.format!r}")
