"""The gate `platforms`: what its compiler passes on."""

from __future__ import annotations

import os

import pytest
from helpers.gate_loading import load_gate

pytestmark = pytest.mark.repository

compiler = load_gate("platforms/zig_compiler")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What zig_compiler.py executes."""
    executed: list[str] = []
    monkeypatch.setattr(os, "execvp", lambda _, words: executed.extend(words))
    return executed


def test_a_module_for_macos_is_linked_by_the_linker(command: list[str]) -> None:
    given = (
        "-O3 -bundle -Wl,-exported_symbol,_PyInit_m -Xlinker -undefined -o m.so a.o l.a -lpthread"
    )
    compiler.main(["zig", "c++", "--link", "lld", "-arch", "arm64", "--", *given.split()])
    passed_on = "-bundle -exported_symbol _PyInit_m -undefined -o m.so a.o l.a"
    assert command == ["lld", "-arch", "arm64", *passed_on.split()]


def test_everything_else_is_compiled_with_the_level_as_zig_calls_it(command: list[str]) -> None:
    compiler.main(["zig", "c++", "--link", "lld", "--", "-march=x86-64-v3", "-c", "a-march.cpp"])
    assert command == ["zig", "c++", "-march=x86_64_v3", "-c", "a-march.cpp"]
