"""The arrays of lazy namespaces with unknown extents, and the numbers that stand for these.

_namespaces/unknown.py says what probes are.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from refarray._namespaces.info import Frozen

if TYPE_CHECKING:
    from refarray._namespaces.unknown import Unknowns

COUNTER = itertools.count()
#: The extents of large probes. No program compares so many unknown extents at once.
FIRST, LAST = 101, 2100


def is_prime(number: int) -> bool:
    return all(number % each for each in range(2, math.isqrt(number) + 1))


PRIMES = tuple(filter(is_prime, range(FIRST, LAST)))


def fresh_extent(real: int) -> int:
    """The extent of a large probe that stands for an unknown one, which is `real` in the array. It
    is prime: reshape to (3, -1) must not succeed because the probe happens to be divisible."""
    number = PRIMES[next(COUNTER) % len(PRIMES)]
    return number if number > real else next(filter(is_prime, itertools.count(real + number)))


@functools.lru_cache(maxsize=4096)
def sliced_extent(real: int, *_slice: int | None) -> int:
    """That of a slice: one number for equal slices of equal extents."""
    return fresh_extent(real)


class LazyArray(metaclass=Frozen):
    """An array of a lazy namespace whose extents may be unknown: None in its shape.

    It has the attributes of the standard.
    """

    __slots__ = ("__weakref__", "_probes", "_real")
    __hash__ = None  # type: ignore[assignment]
    _space: Unknowns  # of the subclass
    _real: Any
    _probes: tuple[Any, ...]  # large and small, which may be None; empty if the shape is known

    def __init_subclass__(cls) -> None:
        if cls.__base__ is not LazyArray:  # of a namespace, whose class is final
            raise TypeError("type 'Array' is not an acceptable base type")

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents; None where they are unknown."""
        shapes = [self._real.shape, *(each.shape for each in self._probes if each is not None)]
        return tuple(
            extents[0] if len(set(extents)) == 1 else None for extents in zip(*shapes, strict=True)
        )

    @property
    def size(self) -> int | None:
        """The number of elements; None if an extent is unknown."""
        return None if self._probes else self._real.size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        out: int = self._real.ndim
        return out

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self._real.dtype

    @property
    def device(self) -> Any:
        """The device."""
        return self._real.device

    @property
    def T(self) -> Any:
        """The transpose of a matrix."""
        return self._space.call("T", lambda x: x.T, self)

    @property
    def mT(self) -> Any:
        """The transposes of a stack of matrices."""
        return self._space.call("mT", lambda x: x.mT, self)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Copy the array to a device."""
        own = {} if stream is None else {"stream": stream}
        return self._space.call("to_device", lambda x: x.to_device(device, **own), self)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Return the namespace, or that of another version for the same arrays."""
        space = self._space.namespace
        if api_version is None or api_version == space.__array_api_version__:
            out: ModuleType = space
            return out
        self._real.__array_namespace__(api_version=api_version)  # raises for unknown versions
        other: ModuleType = space._in_version(api_version)
        return other

    def __getitem__(self, key: Any) -> Any:
        return self._space.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._space.setitem(self, key, value)

    def __iter__(self) -> Iterator[Any]:
        iter(self._real)  # raises where it is not defined
        if self.shape[0] is None:
            raise ValueError("iteration needs the extent of axis 0, which is unknown")
        return (self[i, ...] for i in range(self._real.shape[0]))

    # The array computes its elements for others, and knows its extents then.

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._real.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self._real.__dlpack_device__()

    def __buffer__(self, flags: int, /) -> memoryview:  # from Python 3.12 on
        return memoryview(self._real)

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any:
        return self._real.__array__(dtype, copy=copy)

    def __repr__(self) -> str:
        text = repr(self._real)
        return text if not self._probes else f"{text[:-1]}, shape={self.shape})"

    def __str__(self) -> str:
        return str(self._real)

    def __format__(self, specification: str) -> str:
        return format(self._real, specification)

    def __bool__(self) -> bool:
        return bool(self._real)

    def __int__(self) -> int:
        return int(self._real)

    def __index__(self) -> int:
        out: int = self._real.__index__()
        return out

    def __float__(self) -> float:
        return float(self._real)

    def __complex__(self) -> complex:
        return complex(self._real)

    def __copy__(self) -> Any:
        return self._space.call("copy", lambda x: x.__copy__(), self)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return unpickle, (self._space.namespace, self._real)


def unpickle(namespace: Any, real: Any) -> Any:
    """Unpickle an array, with known extents."""
    return namespace._unknowns.make(real, ())


def probes_of(x: Any) -> tuple[Any, ...]:
    out: tuple[Any, ...] = x._probes if isinstance(x, LazyArray) else ()
    return out


def probe_key(x: Any, entries: tuple[Any, ...]) -> tuple[Any, dict[int, int]]:
    """An index that is in bounds for probes, and the axes of the result that slices of unknown
    axes make, with their extents in the large probe."""
    named = sum(1 for each in entries if each is not None and each is not Ellipsis)
    plain: list[Any] = []
    extents: dict[int, int] = {}
    axis = out = 0
    for each in entries:
        if each is None:
            out += 1
        elif each is Ellipsis:
            axis, out = axis + x.ndim - named, out + x.ndim - named
        else:
            unknown = axis < x.ndim and x.shape[axis] is None
            if isinstance(each, slice):
                bounds = tuple(map(as_int, (each.start, each.stop, each.step)))
                if unknown and (bounds[:2] != (None, None) or bounds[2] not in (None, 1, -1)):
                    large, real = x._probes[0].shape[axis], x._real.shape[axis]
                    extents[out] = sliced_extent(real, large, *bounds)
                    each = slice(None)
                out += 1
            elif unknown and not isinstance(each, LazyArray):
                each = 0
            axis += 1
        plain.append(each)
    if extents and any(isinstance(each, LazyArray) for each in entries):
        raise IndexError("slices of unknown axes beside arrays of indices")
    return (plain[0] if len(entries) == 1 else tuple(plain)), extents


def as_int(bound: Any) -> int | None:
    return None if bound is None else bound.__index__()
