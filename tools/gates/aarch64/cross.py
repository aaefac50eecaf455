"""The cross compiler and the emulator for Linux on aarch64: distribution packages, unpacked and not
installed, with an arm64 Python beside them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import debian

TRIPLE = "aarch64-linux-gnu"
COMPILER = [f"g++-{TRIPLE}", "qemu-user-static"]
PYTHON = ["python3-dev", "libstdc++6"]
#: C++ tests of code that depends on the processor. Matrix products do not here: ARM has one level.
CPP = (
    *("copy_test", "dtype_test", "elementwise_test", "kernels_test", "layout_test"),
    *("managed_test", "reduction_test"),
    *("compute_fuzz", "copy_fuzz", "layout_fuzz"),
)


@dataclass(frozen=True)
class Cross:
    """`host`: what runs here, the compiler and the emulator. `sysroot`: what runs under it."""

    host: Path
    sysroot: Path

    @property
    def compiler(self) -> Path:
        return self.host / "usr" / "bin" / f"{TRIPLE}-g++"

    @property
    def readelf(self) -> Path:
        return self.host / "usr" / "bin" / f"{TRIPLE}-readelf"

    @property
    def emulator(self) -> list[str]:
        return [str(self.host / "usr" / "bin" / "qemu-aarch64-static"), "-L", str(self.sysroot)]

    @property
    def version(self) -> str:
        """The arm64 Python's version, such as "3.11"."""
        (python,) = self.sysroot.glob("usr/bin/python3.[0-9]*[0-9]")
        return python.name.removeprefix("python")

    @property
    def python(self) -> Path:
        return self.sysroot / "usr" / "bin" / f"python{self.version}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which the compiler finds its own libraries."""
        folders = [str(self.host / "usr" / "lib" / f"{platform.machine()}-linux-gnu")]
        if before := os.environ.get("LD_LIBRARY_PATH"):
            folders.append(before)
        return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}

    def cmake(self) -> list[str]:
        """CMake's options. FindPython needs the emulator to ask a foreign interpreter."""
        include = self.sysroot / "usr" / "include" / f"python{self.version}"
        library = self.sysroot / "usr" / "lib" / TRIPLE / f"libpython{self.version}.so"
        return [
            "-DCMAKE_SYSTEM_NAME=Linux",
            "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
            f"-DCMAKE_CXX_COMPILER={self.compiler}",
            f"-DCMAKE_CROSSCOMPILING_EMULATOR={';'.join(self.emulator)}",
            f"-DPython_EXECUTABLE={self.python}",
            f"-DPython_INCLUDE_DIR={include}",
            f"-DPython_LIBRARY={library}",
        ]


def relocate(host: Path, triple: str = TRIPLE) -> None:
    """Linker scripts of the C library name its files by absolute paths; without a folder, the
    linker looks beside the script."""
    for script in (host / "usr" / triple / "lib").glob("lib*.so"):
        if script.is_file() and not script.is_symlink():
            text = script.read_bytes()
            if text.startswith(b"/* GNU ld script"):
                script.write_bytes(text.replace(f"/usr/{triple}/lib/".encode(), b""))


def place_pyconfig(sysroot: Path) -> None:
    """Debian's pyconfig.h includes that of the architecture by a path which only the
    architecture's own compiler searches; the latter takes its place."""
    for header in sysroot.glob(f"usr/include/{TRIPLE}/python3.*/pyconfig.h"):
        shutil.copyfile(header, sysroot / "usr" / "include" / header.parent.name / "pyconfig.h")


def cross() -> Cross:
    """Unpacks what is missing; exits with the reason if that is impossible."""
    try:
        host = debian.unpacked(COMPILER, [], "main")
        sysroot = debian.unpacked(PYTHON, [], "main", architecture="arm64")
    except debian.Unavailable as error:
        sys.exit(f"the packages for aarch64 are unavailable: {error}")
    relocate(host)
    place_pyconfig(sysroot)
    return Cross(host, sysroot)


def pip_platform(python_version: str) -> Sequence[str]:
    """pip's options that select wheels for this machine and Python."""
    platforms = [f"manylinux_2_{minor}_aarch64" for minor in (28, 27, 17)]
    named = [f"--platform={each}" for each in [*platforms, "manylinux2014_aarch64"]]
    return [*named, f"--python-version={python_version}", "--only-binary=:all:"]


def is_aarch64(readelf_header: str) -> bool:
    return re.search(r"^\s*Machine:\s+AArch64$", readelf_header, re.MULTILINE) is not None
