"""Owns the animals' common ground: a clean producer, forging capsules, and the register."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import refarray as ra
from refarray import _native
from refarray.conformance import Subject, _adversary
from refarray.conformance.subjects import REFARRAY

ANIMALS: dict[str, str] = {}
"""The requirement that each animal breaks, by the address of its Subject."""
KEPT: list[Any] = []  # what forged capsules point into; the process is short


class Array:
    """A clean producer: it does what refarray's arrays do."""

    def __init__(self, source: ra.Array) -> None:
        self.source = source

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        return self.source.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


def fields(capsule: Any) -> dict[str, Any]:
    """What a capsule holds, as the adversary takes it."""
    held = _native._inspect_capsule(capsule)
    out = {name: held[name] for name in ("device", "ndim", "dtype", "byte_offset")}
    out["shape"] = held["shape"] if held["ndim"] else ()
    out["strides"] = held["strides"] if held["strides"] is not None else None
    out["data"] = held["data"] or None
    out["versioned"] = held["version"] is not None
    if out["versioned"]:
        out |= {"version": held["version"], "flags": held["flags"]}
    return out


def forge(capsule: Any, **changes: Any) -> Any:
    """A capsule like another one, with other fields."""
    KEPT.append(capsule)
    return _adversary.make(**{**fields(capsule), **changes}).capsule()


def producer(kind: type) -> Subject:
    """A subject whose arrays are all of one class."""
    wrap = f"{kind.__name__}({{}})"
    return Subject(
        f"{kind.__module__}:{kind.__name__.lower()}",
        f"import refarray as ra; from {kind.__module__} import {kind.__name__}",
        arrays={name: wrap.format(text) for name, text in REFARRAY.arrays.items()},
        dtype=wrap.format(REFARRAY.dtype),
        dtypes=REFARRAY.dtypes,
    )


def consumer(function: Callable[..., Any]) -> Subject:
    """A subject that imports by one function, and has refarray's arrays."""
    return Subject(
        f"{function.__module__}:{function.__name__}_",
        f"import refarray as ra; from {function.__module__} import {function.__name__} as take",
        arrays=REFARRAY.arrays,
        dtype=REFARRAY.dtype,
        from_dlpack="take({})",
    )


def breaks(name: str) -> Callable[[Any], Any]:
    """Enters a class as a producer, or a function as a consumer, that breaks a requirement."""

    def enter(animal: Any) -> Any:
        made = producer(animal) if isinstance(animal, type) else consumer(animal)
        ANIMALS[made.name] = name
        vars(__import__("sys").modules[animal.__module__])[made.name.partition(":")[2]] = made
        return animal

    return enter
