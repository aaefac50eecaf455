#!/usr/bin/env python3
"""The gate `compilers`: the C++ layers, their tests and the public headers by the compilers of
macOS and Windows, as far as Linux has them.

clang with libc++, the C++ library of macOS: everything is built with warnings as errors, and the
C++ tests run. mingw-w64: everything is compiled with warnings as errors and linked for Windows;
nothing runs. Both come from distribution packages, which are unpacked and not installed. The
extension is not compiled: a Python for Windows is missing.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import debian
from common import ROOT, build, dlpack_include, quiet, run, say, tool

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
    """`flags` find the C++ library; `cmake` selects the system."""

    name: str
    path: Path
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
    return Compiler("clang", llvm / "bin" / "clang++", [*headers, *link])


def mingw() -> Compiler:
    prefix = debian.unpacked(MINGW, [], "main")
    return Compiler(
        "mingw-w64",
        prefix / "usr" / "bin" / "x86_64-w64-mingw32-g++-posix",
        # Nothing runs, so nothing is optimised: that takes a third of the time.
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
    folder = ROOT / "build" / "compilers" / "headers"
    folder.mkdir(parents=True, exist_ok=True)
    command = [compiler.path, *compiler.flags, "-std=c++20", "-fsyntax-only", *WARNINGS]
    command += [f"-I{ROOT / 'include'}", f"-isystem{dlpack_include()}"]
    headers = list(public_headers())
    for header in headers:
        source = folder / f"{header.replace('/', '_')}.cpp"
        source.write_text(f"#include <{header}>\n" * 2, encoding="utf-8")
        quiet([*command, source])
    return len(headers)


def main() -> None:
    try:
        by_clang, by_mingw = clang(), mingw()
    except debian.Unavailable as error:
        sys.exit(f"the packages of the compilers are unavailable: {error}")
    for compiler in (by_clang, by_mingw):
        say(f"{compiler.name}: the public headers")
        print(f"{compile_headers(compiler)} headers compile alone")
    say("clang with libc++: core, runtime, dlpack and their tests")
    tests = build("compilers/clang", options=by_clang.options())
    say("mingw-w64: core, runtime, dlpack and their tests, for Windows")
    programs = build("compilers/mingw-w64", options=by_mingw.options()).rglob("*_test.exe")
    print(f"{len(list(programs))} test programs linked")
    say("C++ tests, compiled by clang with libc++")
    run([tool("ctest"), "--test-dir", tests, "--output-on-failure", "--quiet"])
    print("all pass")


if __name__ == "__main__":
    main()
