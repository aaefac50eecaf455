"""The C++ layers, their tests and the public headers by compilers of the distribution, which are
unpacked and not installed: clang with libc++, and GCC for s390x, whose numbers are big-endian, and
for i686, whose pointers have 32 bits. The extension is compiled by zig's clang."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import debian
from common import ROOT, build, dlpack_include, output, quiet, run, say, tool
from cross import relocate
from zig import WORK

CLANG = ["clang-19"]
#: Of the same clang: its own headers, and libc++ with what its shared library needs.
LIBCXX = [
    *("libclang-common-19-dev", "libc++-19-dev", "libc++1-19"),
    *("libc++abi-19-dev", "libc++abi1-19", "libunwind-19-dev", "libunwind-19"),
]
#: C++ tests that another machine's programs cannot run here, by machine.
CANNOT_RUN = {
    "s390x": (
        *("arena_test", "kill_test"),  # the emulator makes every clone() a fork()
        "device_plan_test",  # reads the words of devices, which are little-endian
        "needs_no_python",  # nm is this machine's
    ),
    "i686": ("needs_no_python",),
}
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wno-sign-conversion", "-Werror")


@dataclass(frozen=True)
class Compiler:
    """`flags` find the C++ library; `cmake` selects the system. The tests run here, but for those
    in `cannot_run`."""

    name: str
    path: Path
    flags: Sequence[str] = ()
    cmake: Sequence[str] = ()
    cannot_run: Sequence[str] = ()

    def options(self) -> list[str]:
        flags = " ".join(self.flags)
        return [
            "-DREFARRAY_PYTHON=OFF",
            "-DREFARRAY_DEVELOPER=ON",
            f"-DCMAKE_CXX_COMPILER={self.path}",
            f"-DCMAKE_CXX_FLAGS={flags}",
            *self.cmake,
        ]


def load_libraries(prefix: Path, *folders: Path) -> None:
    """Lets unpacked programs find their own libraries."""
    own = [*folders, prefix / "usr" / "lib" / f"{platform.machine()}-linux-gnu"]
    before = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join([*map(str, own), *([before] if before else [])])


def clang() -> Compiler:
    prefix = debian.unpacked(CLANG, LIBCXX, "main")
    llvm = prefix / "usr" / "lib" / "llvm-19"
    load_libraries(prefix, llvm / "lib")
    headers = ["-nostdinc++", f"-isystem{llvm}/include/c++/v1"]
    link = ["-stdlib=libc++", f"-L{llvm}/lib", "-Wno-unused-command-line-argument"]
    return Compiler("clang", llvm / "bin" / "clang++", [*headers, *link])


def gcc(machine: str, *flags: str, emulated: bool) -> Compiler:
    """For Linux on another machine. The programs are static: no library of it is here."""
    triple = f"{machine}-linux-gnu"
    prefix = debian.unpacked([f"g++-{triple}", "qemu-user-static"], [], "main")
    relocate(prefix, triple)
    load_libraries(prefix)
    emulator = prefix / "usr" / "bin" / f"qemu-{machine}-static"
    return Compiler(
        machine,
        prefix / "usr" / "bin" / f"{triple}-g++",
        ["-static", "-Wno-error=frame-larger-than=", *flags],
        cmake=[
            "-DCMAKE_BUILD_TYPE=Release",  # under emulation the rest takes long enough
            "-DCMAKE_SYSTEM_NAME=Linux",
            f"-DCMAKE_SYSTEM_PROCESSOR={machine}",
            *([f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator}"] if emulated else []),
        ],
        cannot_run=CANNOT_RUN[machine],
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
    say(f"{compiler.name}: C++ tests")
    left = ["-E", "|".join(compiler.cannot_run)] if compiler.cannot_run else []
    ctest = [tool("ctest"), "--test-dir", folder, *left]
    run([*ctest, "--output-on-failure", "--quiet"])
    return {
        "compiled": f"{len(list(folder.rglob('*.o')))} objects, {headers} headers",
        "linked": "test programs",
        "C++ tests": f"{output([*ctest, '--show-only']).split()[-1]} pass",
    }
