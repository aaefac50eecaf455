"""Generates static assertions from our declarations of the drivers' ABIs, and compiles them against
the vendors' headers."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from native.build import compiler_environment

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[2] / "src"
RUNTIME = SOURCES / "runtime"
MEMBER = re.compile(r"^  .*\(\*(\w+)\)\(", re.MULTILINE)
CUDA_SYMBOL = re.compile(r'\{"(cu\w+)", (\d+), \w+, slot\(calls\.([\w.]+)\)\}')
HIP_SYMBOL = re.compile(r'\{"(hip\w+)", (?:nullptr|"hip\w+"), \w+, slot\(calls\.([\w.]+)\)\}')


def text_of(name: str) -> str:
    return (RUNTIME / "drivers" / name).read_text(encoding="utf-8")


def members(header: str) -> set[str]:
    """The functions of `struct Calls`, and of the part of it that both vendors have."""
    declared, both = text_of(header), text_of("shareable.hpp")
    shared = MEMBER.findall(both[both.index("struct ShareableCalls") :])
    own = MEMBER.findall(declared[declared.index("struct Calls") :])
    return {*own, *(f"shareable.{name}" for name in shared)}


def cuda_symbols() -> list[tuple[str, int, str]]:
    """(name, requested version, member of Calls)."""
    rows = CUDA_SYMBOL.findall(text_of("cuda_symbols.cpp"))
    return [(name, int(version), member) for name, version, member in rows]


def hip_symbols() -> list[tuple[str, str]]:
    return HIP_SYMBOL.findall(text_of("hip.cpp"))


def type_of(member: str) -> str:
    *part, name = member.split(".")
    return f"decltype({'ShareableCalls' if part else 'Calls'}::{name})"


def cuda_functions() -> Iterator[str]:
    """Assertions for each function in its requested version, if the headers declare it."""
    for name, version, member in cuda_symbols():
        yield f"#if CUDA_VERSION >= {version}"
        yield f"static_assert(same<{type_of(member)}, PFN_{name}_v{version}>);"
        yield "#endif"


def hip_functions() -> Iterator[str]:
    for name, member in hip_symbols():
        needed = {"hipStreamGetDevice": 50600000}.get(name, 0)
        yield f"#if HIP_VERSION >= {needed}"
        yield f"static_assert(same<{type_of(member)}, decltype(&{name})>);"
        yield "#endif"


def errors(vendor: str, include: Path, folder: Path) -> str:
    """The compiler's errors with the headers in `include`; empty if all declarations agree."""
    functions = cuda_functions() if vendor == "cuda" else hip_functions()
    (folder / "functions.inc").write_text("\n".join(functions) + "\n", encoding="utf-8")
    compiler = os.environ.get("CXX", "g++").split()
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    command.append("-Wno-unused-command-line-argument")  # zig adds -c
    command += [f"-I{SOURCES}", f"-I{folder}", "-isystem", str(include)]
    done = subprocess.run(
        [*command, HERE / f"{vendor}_abi.cpp"],
        capture_output=True,
        text=True,
        check=False,
        env=compiler_environment(),
    )
    return "" if done.returncode == 0 else done.stderr or "the compiler failed"
