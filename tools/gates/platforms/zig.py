"""Toolchains for other systems: zig's clang, C++ library and system headers, all in one package.

zig's own linker cannot make a module for macOS (`-bundle`), and takes no list of exports there.
Modules are linked by LLVM's linker, with zig's C++ library inside: the list hides its `operator
new` and `delete`, which would replace those of other libraries.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import re
import shlex
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import debian
from common import ROOT, output

WORK = ROOT / "build" / "platforms"
MACOS = "13.0"  # the oldest macOS that a module is for
LLVM = ["lld-19", "llvm-19"]
#: What the linker calls the processor that zig calls aarch64.
APPLE_NAMES = {"aarch64": "arm64", "x86_64": "x86_64"}
TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME {system})
set(CMAKE_SYSTEM_PROCESSOR {processor})
set(CMAKE_CXX_COMPILER "{folder}/c++")
set(CMAKE_AR "{folder}/ar")
set(CMAKE_RANLIB "{folder}/ranlib")
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_SKIP_RPATH ON)  # zig's linker has no such option for macOS
"""
#: Of Windows: what a Python there has. Without Python_LIBRARY, which no module is linked with,
#: FindPython asks this machine's Python for libraries; the last it takes from the libraries' names.
FOR_WINDOWS = """
set(CMAKE_RC_COMPILER "{folder}/rc")
set(Python_INCLUDE_DIR "{python}/include" CACHE PATH "" FORCE)
set(Python_LIBRARY "{python}/python3.lib" CACHE FILEPATH "" FORCE)
set(Python_SABI_LIBRARY "{python}/python3.lib" CACHE FILEPATH "" FORCE)
set(Python_FREE_THREADED OFF CACHE BOOL "" FORCE)
"""
#: What CMake calls the system that zig calls so.
SYSTEMS = {"macos": "Darwin", "linux-musl": "Linux", "windows": "Windows"}


@functools.cache
def zig() -> Path:
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        sys.exit("the package ziglang is missing")
    return Path(found.origin).parent / "zig"


@functools.cache
def llvm(name: str) -> list[str]:
    """The command of one of LLVM's tools."""
    prefix = debian.unpacked(LLVM, [], "main")
    tools = prefix / "usr" / "lib" / "llvm-19"
    libraries = [prefix / "usr" / "lib" / f"{platform.machine()}-linux-gnu", tools / "lib"]
    path = os.pathsep.join(map(str, libraries))
    return ["env", f"LD_LIBRARY_PATH={path}", str(tools / "bin" / name)]


@dataclass(frozen=True)
class Zig:
    """A system and processor as zig calls them: `macos`, `linux-musl` or `windows`; `aarch64` or
    `x86_64`."""

    processor: str
    system: str

    @property
    def name(self) -> str:
        return f"{self.processor}-{self.system}"

    @property
    def is_apple(self) -> bool:
        return self.system == "macos"

    @property
    def is_windows(self) -> bool:
        return self.system == "windows"

    @property
    def folder(self) -> Path:
        return WORK / self.name

    @property
    def target(self) -> str:
        """The flag -mmacosx-version-min is ignored."""
        if self.is_windows:
            return f"{self.name}-gnu"
        return f"{self.name}.{MACOS}" if self.is_apple else self.name

    @property
    def tag(self) -> str:
        """The platform tag of a wheel."""
        if self.is_apple:
            return f"macosx_{MACOS.replace('.', '_')}_{APPLE_NAMES[self.processor]}"
        return "win_amd64" if self.is_windows else f"musllinux_1_2_{self.processor}"

    def write_toolchain(self, python: Path | None = None) -> Path:
        """Writes the tools and CMake's toolchain file, which names them. `python`: of Windows."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(Path(__file__).with_name("zig_compiler.py"))]
        command += [str(zig()), "c++", "-target", self.target]
        if self.is_apple:
            command += ["--link", *self.link_command()]
        self.write_script("c++", *command, "--")
        for tool in ("ar", "ranlib", "rc"):
            self.write_script(tool, str(zig()), tool)
        toolchain = self.folder / "toolchain.cmake"
        text = TOOLCHAIN.format(
            system=SYSTEMS[self.system],
            processor=APPLE_NAMES[self.processor] if self.is_apple else self.processor,
            folder=self.folder,
        )
        if python is not None:
            text += FOR_WINDOWS.format(folder=self.folder, python=python)
        toolchain.write_text(text, encoding="utf-8")
        return toolchain

    def c_compiler(self, *flags: str) -> str:
        return shlex.join([str(zig()), "cc", "-target", self.target, *flags])

    def write_script(self, name: str, *command: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def link_command(self) -> list[str]:
        """LLVM's linker with what every module for macOS is linked with."""
        linker = [*llvm("ld64.lld"), "-arch", APPLE_NAMES[self.processor]]
        linker += ["-platform_version", "macos", MACOS, MACOS, "-dead_strip"]
        return [*linker, *self.cxx_library(), str(self.system_library())]

    def cxx_library(self) -> list[str]:
        """zig's C++ library as archives, which the first link of a target compiles."""
        source = self.folder / "empty.cpp"
        source.write_text("int main() {}\n", encoding="utf-8")
        command = [zig(), "c++", "-target", self.target, "-v", source, "-o", source.with_suffix("")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return re.findall(r"\S+/lib(?:c\+\+|c\+\+abi|compiler_rt)\.a", done.stderr)

    def system_library(self) -> Path:
        """The symbols of macOS's system library, without processors that LLVM 19 does not know."""
        text = (zig().parent / "lib" / "libc" / "darwin" / "libSystem.tbd").read_text("utf-8")
        text = re.sub(r",\s*arm64e\.\w+-\w+|arm64e\.\w+-\w+,\s*", "", text)
        path = self.folder / "libSystem.tbd"
        path.write_text(text.replace("arm64e-", "arm64-"), encoding="utf-8")
        return path

    def system_symbols(self) -> set[str]:
        """What the C library exports, as far as a module may need it."""
        if self.is_apple:
            words = re.findall(r"\w+", self.system_library().read_text("utf-8"))
            return {each.removeprefix("_") for each in words}
        stub = zig().parent / "lib" / "libc" / "musl" / "libc.S"
        return set(re.findall(r"^(?:\.globl|\.weak|WEAK\w+) (\w+)", stub.read_text("utf-8"), re.M))

    def emulator(self) -> str:
        """The emulator of another processor's Linux; empty for this one's, and for macOS."""
        if self.is_apple or self.processor == platform.machine():
            return ""
        packages = debian.unpacked([], ["qemu-user-static"], "main")
        return str(packages / "usr" / "bin" / f"qemu-{self.processor}-static")

    def symbols(self, module: Path, *options: str) -> set[str]:
        """The names of a module's symbols, without the underscore that Mach-O adds."""
        table = [] if self.is_apple else ["--dynamic"]
        names = output(
            [*llvm("llvm-nm"), "--format=just-symbols", *table, *options, module]
        ).split()
        return {name.removeprefix("_") if self.is_apple else name.split("@")[0] for name in names}
