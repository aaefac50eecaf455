"""Loads a program of tools as a module."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parents[2] / "tools"
FOLDER = TOOLS / "gates"


def load_tool(name: str) -> Any:
    """tools/NAME.py under another module name: a package `coverage` exists."""
    spec = importlib.util.spec_from_file_location(f"{name}_tool", TOOLS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(FOLDER))
    try:
        sys.modules[spec.name] = module  # dataclasses look the module up there
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


def load_gate(name: str) -> Any:
    return load_tool(f"gates/{name}")
