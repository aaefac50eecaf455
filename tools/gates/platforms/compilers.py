"""The C++ layers, their tests and the public headers by compilers of the distribution, which are
unpacked and not installed: clang with libc++, and mingw-w64 for Windows.

The extension is not compiled: clang's is by zig, and a Python for Windows is missing.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import debian
from common import ROOT, build, dlpack_include, quiet, run, say, tool
from zig import WORK

CLANG = ["clang-19"]
#: Of the same clang: its own headers, and libc++ with what its shared library needs.
LIBCXX = [
    *("libclang-common-19-dev", "libc++-19-dev", "libc++1-19"),
    *("libc++abi-19-dev", "libc++abi1-19", "libunwind-19-dev", "libunwind-19"),
]
MINGW = ["g++-mingw-w64-x86-64-posix"]
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wno-sign-conversion", "-Werror")


@dataclass(frozen=True)
class Compiler:
    """`flags` find the C++ library; `cmake` selects the system. `runs`: the tests run here."""

    name: str
    path: Path
    runs: bool
    flags: Sequence[str] = ()
    cmake: Sequence[str] = ()

    def options(self) -> list[str]:
        flags = " ".join(self.flags)
        return [
            "-DREFARRAY_PYTHON=OFF",
            "-DREFARRAY_DEVELOPER=ON",
            f"-DCMAKE_CXX_COMPILER={self.path}",
            f"-DCMAKE_CXX_FLAGS={flags}",
            *self.cmake,
        ]


def clang() -> Compiler:
    prefix = debian.unpacked(CLANG, LIBCXX, "main")
    llvm = prefix / "usr" / "lib" / "llvm-19"
    libraries = prefix / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(
        filter(None, [str(llvm / "lib"), str(libraries), os.environ.get("LD_LIBRARY_PATH")])
    )
    headers = ["-nostdinc++", f"-isystem{llvm}/include/c++/v1"]
    link = ["-stdlib=libc++", f"-L{llvm}/lib", "-Wno-unused-command-line-argument"]
    return Compiler("clang", llvm / "bin" / "clang++", True, [*headers, *link])


def mingw() -> Compiler:
    prefix = debian.unpacked(MINGW, [], "main")
    return Compiler(
        "mingw-w64",
        prefix / "usr" / "bin" / "x86_64-w64-mingw32-g++-posix",
        False,
        # Nothing runs, so nothing is optimised: that takes a third of the time, and larger frames.
        ["-Wno-error=frame-larger-than="],
        cmake=[
            "-DCMAKE_SYSTEM_NAME=Windows",
            "-DCMAKE_SYSTEM_PROCESSOR=AMD64",
            "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
        ],
    )


def public_headers() -> Iterator[str]:
    """The headers of `include` that need no Python."""
    for path in sorted((ROOT / "include").rglob("*.hpp")):
        if "Python.h" not in path.read_text(encoding="utf-8"):
            yield path.relative_to(ROOT / "include").as_posix()


def compile_headers(compiler: Compiler) -> int:
    """Compiles each public header alone, twice included, with warnings as errors; returns how many
    there are."""
    folder = WORK / "headers"
    folder.mkdir(parents=True, exist_ok=True)
    command = [compiler.path, *compiler.flags, "-std=c++20", "-fsyntax-only", *WARNINGS]
    command += [f"-I{ROOT / 'include'}", f"-isystem{dlpack_include()}"]
    headers = list(public_headers())
    for header in headers:
        source = folder / f"{header.replace('/', '_')}.cpp"
        source.write_text(f"#include <{header}>\n" * 2, encoding="utf-8")
        quiet([*command, source])
    return len(headers)


def try_compiler(compiler: Compiler) -> dict[str, str]:
    """Compiles and links the layers and their tests, with warnings as errors; runs the tests that
    can run here. Returns its row of the table."""
    say(f"{compiler.name}: the public headers, core, runtime, dlpack, compute and their tests")
    headers = compile_headers(compiler)
    folder = build(f"platforms/{compiler.name}", options=compiler.options())
    objects = len(list(folder.rglob("*.o"))) + len(list(folder.rglob("*.obj")))
    row = {"compiled": f"{objects} objects, {headers} headers", "linked": "test programs"}
    if compiler.runs:
        say(f"{compiler.name}: C++ tests")
        run([tool("ctest"), "--test-dir", folder, "--output-on-failure", "--quiet"])
        row["C++ tests"] = "pass"
    return row
