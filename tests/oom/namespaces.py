"""The recipes again with other namespaces in the place of refarray, on their devices."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import oom
import refarray
import refarray.strict

from .recipe import NOT_CALLABLE, REFUSALS, Recipe

GPU = refarray.VirtualDevice("gpu", id=7)
#: By kind: the arguments of namespace().
ARGUMENTS: dict[str, dict[str, Any]] = {
    "strict": {"strict": True},
    "immutable": {"immutable": True},
    "lazy": {"lazy": True},
    "unknown extents": {"lazy": True, "boolean_indexing": True, "data_dependent_shapes": True},
    "poisoned views": {"poison_views": True},
    "known shapes": {
        "boolean_indexing": False,
        "data_dependent_shapes": False,
        "extensions": ["linalg"],
    },
    "2021.12": {"api_version": "2021.12", "strict": True},
    "other defaults": {"default_dtypes": {"real floating": refarray.float32}},
    "beside a device": {"devices": [GPU]},
    "virtual device": {"devices": [GPU]},
    "strict device": {"strict": True, "devices": [GPU]},
}
ON_GPU = ("virtual device", "strict device")
#: By kind: a namespace, and the device of its arrays if it is not the default.
SPACES: dict[str, tuple[Any, Any]] = {
    **{
        kind: (refarray.namespace(**arguments), GPU if kind in ON_GPU else None)
        for kind, arguments in ARGUMENTS.items()
    },
    "refarray.strict": (refarray.strict, refarray.strict.Device("no_x64")),
}
#: Modules with recipes of functions and methods.
MODULES = ("arrays", "computations", "devices", "exchange", "fourier", "linalg")
#: Functions that make arrays where their argument `device` says.
PLACED = ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")


class InPlaceOf(ModuleType):
    """A module of refarray, with the names of a namespace's before its own, and with a device as
    the default."""

    def __init__(self, usual: ModuleType, own: Any, device: Any) -> None:
        super().__init__(usual.__name__)
        self._facts = usual, own, device

    def __getattr__(self, name: str) -> Any:
        usual, own, device = self._facts
        value = getattr(own if hasattr(own, name) else usual, name)
        if name in refarray._EXTENSIONS:
            return InPlaceOf(getattr(usual, name), value, device)
        if device is not None and name in PLACED:
            return partial(value, device=device)
        return value


def recipes() -> Iterator[Recipe]:
    for kind, (space, device) in SPACES.items():
        yield from of_kind(kind, space, InPlaceOf(refarray, space, device))


def of_kind(kind: str, space: Any, stand_in: ModuleType) -> Iterator[Recipe]:
    """All recipes of methods, and one of each function, whose arguments the namespace makes; and
    reads of the members that are left."""
    source = imported_again(stand_in)
    seen = set()
    for each in source.RECIPES:
        is_method = each.name.startswith("Array.")
        if (is_method or (each.name not in seen and is_own(each.name, space))) and can_make(each):
            seen.add(each.name)
            yield Recipe(**{**vars(each), "raises": None, "kind": kind})
    for name in members(source.matrix()):
        if f"Array.{name}" not in seen:
            call = partial(read, name)
            yield Recipe(f"Array.{name}", "read", call, source.matrix, None, kind=kind)


def can_make(recipe: Recipe) -> bool:
    try:
        recipe.make()
    except REFUSALS:
        return False
    return True


def imported_again(stand_in: ModuleType) -> Any:
    """The module oom.recipe, with the recipes of MODULES, imported again under another name while
    `stand_in` is the module refarray."""
    package = ModuleType("oom_again")
    package.__path__ = oom.__path__
    names = [f"oom_again.{name}" for name in ("recipe", *MODULES)]
    sys.modules.update({"oom_again": package, "refarray": stand_in})
    try:
        first, *_ = map(importlib.import_module, names)
        return first
    finally:
        sys.modules["refarray"] = refarray
        for name in ("oom_again", *names):
            sys.modules.pop(name, None)


def is_own(name: str, space: Any) -> bool:
    """Whether the namespace has the function, and it is not refarray's own."""
    extension, dot, function = name.rpartition(".")
    if dot and extension not in (set(refarray._EXTENSIONS) & set(space.__all__)):
        return False
    own, usual = (getattr(each, extension) if dot else each for each in (space, refarray))
    value = getattr(own, function) if function in own.__all__ else None
    return value not in (None, getattr(usual, function)) and not isinstance(value, type)


def members(x: Any) -> list[str]:
    """The public attributes and special methods of an array's type."""
    found = {name for cls in type(x).__mro__[:-1] for name in vars(cls)} - NOT_CALLABLE
    return sorted(name for name in found if name.startswith("__") or not name.startswith("_"))


def read(name: str, x: Any) -> None:
    getattr(x, name)
