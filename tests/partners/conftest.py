"""Registers one marker per partner and hands out the partner modules; a missing one is a failure.

A run that has only some partners selects them: `pytest tests/partners -m "numpy or tvm_ffi"`.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

PARTNERS = ("numpy", "torch", "jax", "tvm_ffi", "ml_dtypes")


def pytest_configure(config: pytest.Config) -> None:
    for name in PARTNERS:
        config.addinivalue_line("markers", f"{name}: needs the partner {name}")


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    return importlib.import_module("torch")


@pytest.fixture(scope="session")
def jax() -> ModuleType:
    """JAX with 64-bit types: without them it narrows what it imports (see limits.py)."""
    module = importlib.import_module("jax")
    module.config.update("jax_enable_x64", True)
    return module


@pytest.fixture(scope="session")
def tvm_ffi() -> ModuleType:
    return importlib.import_module("tvm_ffi")


@pytest.fixture(scope="session")
def ml_dtypes() -> ModuleType:
    return importlib.import_module("ml_dtypes")
