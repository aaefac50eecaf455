"""Classes whose attributes do not change, as those of the types in C."""

from __future__ import annotations


class Frozen(type):
    """The metaclass of such classes. type.__setattr__() gives way: they are Python's own."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise TypeError(f"cannot set {name!r} attribute of immutable type {cls.__qualname__!r}")

    def __delattr__(cls, name: str) -> None:
        raise TypeError(f"cannot delete {name!r} attribute of immutable type {cls.__qualname__!r}")
