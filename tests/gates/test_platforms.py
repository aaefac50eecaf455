"""The gate `platforms`: what its compiler passes on, and what it refuses in modules for Windows."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from helpers.gate_loading import load_gate

pytestmark = pytest.mark.repository

compiler = load_gate("platforms/zig_compiler")
windows = load_gate("platforms/windows")


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


EXPORTS = """
Export {
  Ordinal: 1
  Name: PyInit__native
  RVA: 0x1000
}
"""
IMPORTS = """
Import {
  Name: python3.dll
  Symbol: PyList_New (0)
}
Import {
  Name: api-ms-win-crt-heap-l1-1-0.dll
  Symbol: malloc (0)
}
"""


@pytest.mark.parametrize(
    ("exports", "imports", "says"),
    [
        (EXPORTS, IMPORTS, ""),
        (EXPORTS * 2 + "  Name: _Znwy\n", IMPORTS, "_native.pyd exports _Znwy"),
        ("", IMPORTS, "_native.pyd exports PyInit__native"),
        (EXPORTS, f"{IMPORTS}Import {{\n  Name: libc++.dll\n}}\n", "needs libc++.dll"),
        (EXPORTS, IMPORTS.replace("python3", "python312"), "needs python312.dll"),
        (EXPORTS, "", "_native.pyd needs no python3.dll"),
    ],
)
def test_the_audit_of_a_module_for_windows(
    monkeypatch: pytest.MonkeyPatch, exports: str, imports: str, says: str
) -> None:
    monkeypatch.setattr(windows, "llvm", lambda name: [name])
    monkeypatch.setattr(
        windows, "output", lambda words: exports if "--coff-exports" in words else imports
    )
    with pytest.raises(SystemExit, match=re.escape(says)) if says else nullcontext():
        windows.audit(Path("_native.pyd"))
