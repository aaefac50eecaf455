"""The gate `compilers`: which headers it compiles, and that it refuses one with a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.gate_loading import load_gate

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def gate() -> Any:
    return load_gate("compilers")


@pytest.fixture
def tree(gate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one public header."""
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    (tmp_path / "include" / "refarray").mkdir(parents=True)
    return tmp_path


def write(tree: Path, text: str) -> None:
    (tree / "include" / "refarray" / "one.hpp").write_text(f"#pragma once\n{text}\n")


def test_every_header_without_python_is_compiled(gate: Any) -> None:
    named = list(gate.public_headers())
    assert len(named) == len(set(named)) and "refarray/dlpack/exchange.hpp" in named
    with_python = {path.name for path in (ROOT / "include" / "refarray" / "python").iterdir()}
    others = {path.name for path in (ROOT / "include").rglob("*.hpp")} - with_python
    assert {Path(name).name for name in named} >= others
    assert not [name for name in named if "/python/" in name]


def test_header_that_compiles(gate: Any, tree: Path) -> None:
    write(tree, "#include <dlpack/dlpack.h>\ninline DLDevice host() { return {kDLCPU, 0}; }")
    assert gate.compile_headers(gate.Compiler("g++", Path("g++"))) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("inline void wait() { pause(); }", "pause"),
        ("inline int narrow(long x) { return x; }", "conversion"),
        ("inline int unused(int x) { return 1; }", "unused"),
    ],
)
def test_header_that_is_refused(gate: Any, tree: Path, text: str, problem: str) -> None:
    write(tree, text)
    with pytest.raises(SystemExit, match=problem):
        gate.compile_headers(gate.Compiler("g++", Path("g++")))


def test_flags_and_system_reach_the_build(gate: Any) -> None:
    compiler = gate.Compiler("c", Path("/a/c++"), ["-isystem/b"], ["-DCMAKE_SYSTEM_NAME=Windows"])
    assert {
        "-DCMAKE_CXX_COMPILER=/a/c++",
        "-DCMAKE_CXX_FLAGS=-isystem/b",
        "-DCMAKE_SYSTEM_NAME=Windows",
        "-DREFARRAY_DEVELOPER=ON",
    } <= set(compiler.options())
