"""Loads a program of tools as a module."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parents[2] / "tools"
FOLDER = TOOLS / "gates"


def load_tool(name: str) -> Any:
    """tools/NAME.py under another module name: a package `coverage` exists. It finds the modules
    beside it and those of gates."""
    path = TOOLS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_tool", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folders = [str(path.parent), str(FOLDER)]
    sys.path[:0] = folders
    try:
        sys.modules[spec.name] = module  # dataclasses look the module up there
        spec.loader.exec_module(module)
    finally:
        for folder in folders:
            sys.path.remove(folder)
    return module


def load_gate(name: str) -> Any:
    return load_tool(f"gates/{name}")
