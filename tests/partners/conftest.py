"""Provides the partner modules; a missing one fails its tests.

A run that has only some partners selects them: `pytest tests/partners -m "numpy or tvm_ffi"`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from . import limits

HEAVY = Path(__file__).resolve().parent / "heavy"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "quirk(id): shows what limits.toml records under this id")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collects tests of heavy partners only if they are named: they need their own environments."""
    named = any("heavy" in argument for argument in config.args)
    return True if collection_path == HEAVY and not named else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    gone = []
    for item in items:
        for mark in item.iter_markers("quirk"):
            quirk = limits.QUIRKS.get(mark.args[0])
            if quirk is None:
                raise pytest.UsageError(f"{item.nodeid}: limits.toml has no quirk {mark.args[0]}")
            if item.get_closest_marker(quirk.partner) is None:
                raise pytest.UsageError(f"{item.nodeid}: {quirk.id} is one of {quirk.partner}'s")
            if quirk.is_gone:
                gone.append(item)
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item not in gone]


@pytest.fixture(autouse=True)
def quirks_of_this_version(request: pytest.FixtureRequest) -> None:
    """Runs the test of a quirk only with the versions for which it is recorded."""
    for mark in request.node.iter_markers("quirk"):
        quirk = limits.QUIRKS[mark.args[0]]
        version = limits.installed(quirk.partner)
        assert limits.concerns(quirk.partner, quirk.versions), f"{version} is new: review {quirk}"
        limits.SHOWN.add(quirk)


@pytest.fixture(scope="session", autouse=True)
def counts(record_testsuite_property: Callable[[str, object], None]) -> Iterator[None]:
    """Prints the limits and quirks met, for tools/gates/partners/partner_tests.py."""
    yield
    record_testsuite_property("limits met", len(limits.MET))
    record_testsuite_property("quirks shown", len(limits.SHOWN))


def module(name: str) -> Any:
    """A fixture of the partner's module."""
    return pytest.fixture(scope="session", name=name)(lambda: importlib.import_module(name))


torch, tvm_ffi, ml_dtypes = module("torch"), module("tvm_ffi"), module("ml_dtypes")
pyarrow, array_api_strict = module("pyarrow"), module("array_api_strict")


@pytest.fixture(scope="session")
def jax() -> ModuleType:
    """JAX with 64-bit types enabled, which it otherwise converts to 32 bits (see limits.toml)."""
    module = importlib.import_module("jax")
    module.config.update("jax_enable_x64", True)
    return module


@pytest.fixture(scope="session")
def nanobind() -> ModuleType:
    """The tests' extension written with nanobind, compiled if needed."""
    from .nanobind import build

    return build.module()
