"""Owns the way from a library's name to the adapter that the kit tries it by."""

from __future__ import annotations

from importlib import import_module, metadata

from refarray.conformance.subjects.adapters import OTHERS
from refarray.conformance.subjects.subject import SUBJECTS, Subject, array_api


def generic(module: str) -> Subject:
    """An adapter for a module with the array API's names, under its own."""
    return Subject(
        module,
        f"import {module}",
        arrays=array_api(module),
        dtype=f"{module}.ones(3, dtype={module}.{{}})",
        from_dlpack=f"{module}.from_dlpack({{}})",
    )


def subject(name: str) -> Subject:
    """The adapter of that name: ours; `module:attribute`; one that an installed package registers
    under the entry point group `refarray.conformance.subjects.subject`; or the generic one."""
    if name in SUBJECTS:
        return SUBJECTS[name]
    if name in OTHERS:
        return OTHERS[name]
    module, _, attribute = name.partition(":")
    if attribute:
        return _checked(getattr(import_module(module), attribute), name)
    for entry in metadata.entry_points(group="refarray.conformance.subjects.subject", name=name):
        return _checked(entry.load(), entry.value)
    return generic(name)


def _checked(found: object, where: str) -> Subject:
    if not isinstance(found, Subject):
        raise TypeError(f"{where} is a {type(found).__name__}, not a Subject")
    return found


def version_of(name: str) -> str:
    """The installed version of a library by its own or its adapter's name; empty when unknown."""
    return {**SUBJECTS, **OTHERS}.get(name, Subject(name, "")).version
