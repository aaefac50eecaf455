"""Looks up adapters by library name, `module:attribute` or entry point."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module, metadata

from refarray.conformance.subjects.capsule_libraries import CAPSULE_LIBRARIES
from refarray.conformance.subjects.libraries import LIBRARIES
from refarray.conformance.subjects.runtime_libraries import RUNTIME_LIBRARIES
from refarray.conformance.subjects.subject import Subject, array_api

ADAPTERS = {
    name: replace(each, versions_differ=True)
    for name, each in {**LIBRARIES, **RUNTIME_LIBRARIES, **CAPSULE_LIBRARIES}.items()
}
"""The adapters that come with the kit, by name."""
GROUP = "refarray.conformance.subjects"
"""The entry point group under which packages register adapters."""


def generic(module: str) -> Subject:
    """An adapter for a module that follows the array API."""
    return Subject(
        module,
        f"import {module}",
        arrays=array_api(module),
        dtype=f"{module}.ones(3, dtype={module}.{{}})",
        from_dlpack=f"{module}.from_dlpack({{}})",
        array_api=True,
        versions_differ=True,
    )


def subject(name: str) -> Subject:
    """The adapter named `name`: one of the kit's; `module:attribute`; one that an installed package
    registers under the entry point group GROUP; or the generic adapter for a module."""
    if name in ADAPTERS:
        return ADAPTERS[name]
    module, _, attribute = name.partition(":")
    if attribute:
        return _check(getattr(import_module(module), attribute), name)
    for entry in metadata.entry_points(group=GROUP, name=name):
        return _check(entry.load(), entry.value)
    return generic(name)


def find_registered() -> dict[str, str]:
    """The adapters that installed packages register: the attribute by name."""
    return {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}


def list_names() -> list[str]:
    """The names of the adapters: the kit's, then the registered ones."""
    return [*ADAPTERS, *find_registered()]


def _check(found: object, where: str) -> Subject:
    if not isinstance(found, Subject):
        raise TypeError(f"{where} is a {type(found).__name__}, not a Subject")
    return found


@cache
def version_of(name: str) -> str:
    """The installed version of a library, by its name or its adapter's; empty if unknown."""
    return ADAPTERS.get(name, Subject(name, "")).version
