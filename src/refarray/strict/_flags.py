"""The flags of array-api-strict: the version of the standard, and what is optional in it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from refarray._namespaces.info import Frozen
from refarray._namespaces.modes import NEWEST, VERSIONS
from refarray._namespaces.versions import DRAFT, EXTENSIONS

VARIABLES = ("API_VERSION", "BOOLEAN_INDEXING", "DATA_DEPENDENT_SHAPES", "ENABLED_EXTENSIONS")


class Flags(NamedTuple):
    """The settings of the process."""

    api_version: str = NEWEST
    boolean_indexing: bool = True
    data_dependent_shapes: bool = True
    enabled_extensions: tuple[str, ...] = tuple(EXTENSIONS)


def change(
    flags: Flags,
    api_version: str | None,
    boolean_indexing: bool | None,
    data_dependent_shapes: bool | None,
    enabled_extensions: Collection[str] | None,
) -> Flags:
    """The flags with other values; None keeps the value. Raises ValueError for unknown ones."""
    version = flags.api_version if api_version is None else api_version
    if version not in VERSIONS:
        known = ", ".join(map(repr, VERSIONS))
        raise ValueError(f"api_version is {version!r}; the versions are {known}")
    for name, value in (
        ("boolean_indexing", boolean_indexing),
        ("data_dependent_shapes", data_dependent_shapes),
    ):
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"{name} must be True, False or None, not {value!r}")
    if enabled_extensions is None:
        kept = [name for name in flags.enabled_extensions if EXTENSIONS[name] <= version]
    else:
        kept = list(check_extensions(enabled_extensions, version))
    return Flags(
        version,
        flags.boolean_indexing if boolean_indexing is None else boolean_indexing,
        flags.data_dependent_shapes if data_dependent_shapes is None else data_dependent_shapes,
        tuple(kept),
    )


def check_extensions(names: Collection[str], version: str) -> Collection[str]:
    if isinstance(names, str):
        raise TypeError(f"enabled_extensions is a list of names, not {names!r}")
    for name in names:
        if name not in EXTENSIONS:
            raise ValueError(f"there is no extension {name!r}; there are 'linalg' and 'fft'")
        if EXTENSIONS[name] > version:
            raise ValueError(f"the extension {name} is in versions from {EXTENSIONS[name]} on")
    return names


def of_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """The flags that variables ARRAY_API_STRICT_* set, as arguments."""
    out: dict[str, Any] = {}
    for name in VARIABLES:
        text = variables.get(f"ARRAY_API_STRICT_{name}")
        if text is None:
            continue
        if name == "API_VERSION":
            out["api_version"] = text
        elif name == "ENABLED_EXTENSIONS":
            out["enabled_extensions"] = [each for each in text.split(",") if each]
        else:
            out[name.lower()] = text.lower() == "true"
    return out


# --- the public functions


def set_array_api_strict_flags(
    *,
    api_version: str | None = None,
    boolean_indexing: bool | None = None,
    data_dependent_shapes: bool | None = None,
    enabled_extensions: Collection[str] | None = None,
) -> None:
    """Set flags for the process; None keeps the value.

    api_version: a version of the standard, of which "2026.12" is the draft; the module has its
        names only.
    boolean_indexing: whether masks are indices.
    data_dependent_shapes: whether there are nonzero(), unique_all() and its like, and repeat() by
        an array.
    enabled_extensions: the extensions that the module has.
    """
    if api_version == "2021.12":
        warnings.warn("array-api-strict has the names of 2022.12 for 2021.12", stacklevel=2)
    if api_version == DRAFT:
        warnings.warn(f"{DRAFT} is the draft of the standard, which may change", stacklevel=2)
    space = strict_module()
    space._set(
        change(
            space._settings,
            api_version,
            boolean_indexing,
            data_dependent_shapes,
            enabled_extensions,
        )
    )


def get_array_api_strict_flags() -> dict[str, Any]:
    """Return the flags, as arguments of set_array_api_strict_flags()."""
    flags: Flags = strict_module()._settings
    return flags._asdict()


def reset_array_api_strict_flags() -> None:
    """Set the flags to their defaults, whatever the environment variables say."""
    strict_module()._set(Flags())


class ArrayAPIStrictFlags(metaclass=Frozen):
    """A context manager that sets flags and restores the former ones."""

    __slots__ = ("_arguments", "_former")

    def __init__(
        self,
        *,
        api_version: str | None = None,
        boolean_indexing: bool | None = None,
        data_dependent_shapes: bool | None = None,
        enabled_extensions: Collection[str] | None = None,
    ) -> None:
        self._arguments: dict[str, Any] = {
            "api_version": api_version,
            "boolean_indexing": boolean_indexing,
            "data_dependent_shapes": data_dependent_shapes,
            "enabled_extensions": enabled_extensions,
        }
        self._former: Flags = strict_module()._settings

    def __enter__(self) -> None:
        self._former = strict_module()._settings
        set_array_api_strict_flags(**self._arguments)

    def __exit__(self, *exception: object) -> None:
        strict_module()._set(self._former)


def strict_module() -> Any:
    return sys.modules["refarray.strict"]


def initial_flags() -> Flags:
    """The flags that the environment asks for."""
    arguments = dict.fromkeys(Flags._fields)
    return change(Flags(), **{**arguments, **of_environment(os.environ)})
