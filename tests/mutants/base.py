"""Shared parts of the mutants: a correct producer, forged capsules, and the registry of mutants."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import refarray as ra
from refarray.conformance import Subject, _adversary
from refarray.conformance.subjects.libraries import REFARRAY
from refarray.conformance.suite.producer.lifetime import BIG

MUTANTS: dict[str, str] = {}
"""Subject name (`module:attribute`) of each mutant → the requirement that it breaks."""
KEPT: list[Any] = []  # keeps the memory of forged capsules alive until the process exits


class Array:
    """A correct producer: forwards both methods to a refarray array. Mutants override `export`,
    which receives all keywords of `__dlpack__` as a dict."""

    def __init__(self, source: ra.Array) -> None:
        self.source = source

    def tolist(self) -> Any:
        return self.source.tolist()

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()

    def export(self, keywords: dict[str, Any]) -> Any:
        return self.source.__dlpack__(**keywords)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        return self.export(
            {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        )


class Relabelled(Array):
    """An array that exports other fields than its own."""

    def __init__(self, source: Any, **changes: Any) -> None:
        super().__init__(source)
        self.changes = changes

    def export(self, keywords: dict[str, Any]) -> Any:
        capsule = super().export(keywords)
        place = {"capsule": capsule}
        held = {**fields(capsule), **self.changes, "deleter": place.clear}
        return _adversary.make(**held).capsule()


def native() -> Any:
    """The adversary as built for the tests, with functions that the shipped module lacks."""
    folder = Path(__file__).resolve().parent.parent / "native"
    sys.path.insert(0, str(folder))
    build = importlib.import_module("build")
    sys.path[0] = str(build.build())
    return importlib.import_module("adversary")


def fields(capsule: Any) -> dict[str, Any]:
    """The fields of a capsule's tensor, as keyword arguments for `_adversary.make`."""
    held = _adversary.fields(capsule)
    out = {name: held[name] for name in ("device", "ndim", "dtype", "byte_offset")}
    out["shape"] = held["shape"] if held["ndim"] else ()
    out["strides"] = held["strides"] if held["strides"] is not None else None
    out["data"] = held["data"] or None
    out["versioned"] = held["version"] is not None
    if out["versioned"]:
        out |= {"version": held["version"], "flags": held["flags"]}
    return out


def forge(capsule: Any, **changes: Any) -> Any:
    """A copy of a capsule with some fields changed. The deleter releases tensors of BIG elements or
    more; smaller ones stay alive until the process exits."""
    held = {**fields(capsule), **changes}
    if max(held["shape"] or (0,)) < BIG:
        KEPT.append(capsule)
        return _adversary.make(**held).capsule()
    place = {"capsule": capsule}
    return _adversary.make(**{**held, "deleter": place.clear}).capsule()


def producer(kind: type, **more: Any) -> Subject:
    """A subject whose arrays are instances of `kind`, including the kinds that its `lacks`
    names."""
    wrap = f"{kind.__name__}({{}})"
    arrays = {name: wrap.format(text) for name, text in REFARRAY.arrays.items()}
    for name in getattr(kind, "lacks", ()):
        arrays[name] = f"{kind.__name__}.of({name!r})"
    return Subject(
        f"{kind.__module__}:{kind.__name__.lower()}",
        f"import refarray as ra; from {kind.__module__} import {kind.__name__}",
        **{
            "arrays": arrays,
            "dtype": wrap.format(REFARRAY.dtype),
            "ramp": wrap.format(REFARRAY.ramp),
            "strides": "{}.source.strides",
            "dtypes": REFARRAY.dtypes,
            "big": wrap.format(REFARRAY.big),
            "subclass": hasattr(kind, "as_subclass"),
            "array_api": True,
            **more,
        },
    )


def consumer(function: Callable[..., Any], **more: Any) -> Subject:
    """A subject that imports with `function` and makes refarray's arrays."""
    return Subject(
        f"{function.__module__}:{function.__name__}_",
        f"import refarray as ra; from {function.__module__} import {function.__name__} as take",
        dtype=REFARRAY.dtype,
        ramp=REFARRAY.ramp,
        **{
            "arrays": REFARRAY.arrays,
            "from_dlpack": "take({})",
            "array_api": True,
            **more,
        },
    )


def breaks(name: str, **more: Any) -> Callable[[Any], Any]:
    """Registers a class (a producer) or a function (a consumer) as a mutant that breaks the
    requirement `name`; `more` are further fields of its Subject."""

    def register(mutant: Any) -> Any:
        made = (producer if isinstance(mutant, type) else consumer)(mutant, **more)
        MUTANTS[made.name] = name
        vars(sys.modules[mutant.__module__])[made.name.partition(":")[2]] = made
        return mutant

    return register


def results(requirement: str) -> Callable[[Callable[[Any, Any, Any], Any]], Any]:
    """Registers `result(taken, x, copy)` as a consumer of x, which returns that in place of what
    refarray has taken."""

    def register(result: Callable[[Any, Any, Any], Any]) -> Any:
        def take(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
            return result(ra.from_dlpack(x, device=device, copy=copy), x, copy)

        return breaks(requirement)(named(take, result.__name__, result.__module__))

    return register


def named(mutant: Any, name: str, module: str) -> Any:
    """The mutant, a class or a function, as `name` of a module: for those that a table makes."""
    mutant.__name__ = mutant.__qualname__ = name
    mutant.__module__ = module
    vars(sys.modules[module])[name] = mutant
    return mutant
