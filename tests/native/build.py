"""Builds the extension `adversary` on first use, in a cache folder keyed by its inputs."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parents[1] / "src" / "refarray" / "conformance" / "native"
FLAGS = (
    "-std=c++20 -O1 -g -fPIC -shared -pthread -fvisibility=hidden "
    "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
)


def compiler_environment() -> dict[str, str]:
    """The environment without LD_PRELOAD: a sanitizer would report the compiler's leaks."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def dlpack_include() -> Path:
    """The folder that contains dlpack/dlpack.h: $DLPACK_INCLUDE_DIR, as for the package's build,
    else tvm_ffi's copy, else refarray's."""
    if given := os.environ.get("DLPACK_INCLUDE_DIR"):
        return Path(given)
    found = importlib.util.find_spec("tvm_ffi")
    folders = (
        [Path(folder) / "include" for folder in (found.submodule_search_locations or [])]
        if found
        else []
    )
    if not any((folder / "dlpack" / "dlpack.h").is_file() for folder in folders):
        import refarray

        folders = [Path(refarray.get_include())]
    return next(folder for folder in folders if (folder / "dlpack" / "dlpack.h").is_file())


def sources(suffix: str) -> list[Path]:
    """The sources of the shipped adversary without its parts.cpp, and those in this folder."""
    left = ("parts.cpp", "system_windows.cpp")
    shared = (path for path in SHIPPED.glob(f"*{suffix}") if path.name not in left)
    return sorted([*shared, *HERE.glob(f"*{suffix}")])


def command() -> list[str]:
    """The compiler command without the output. $CXX and $CXXFLAGS apply, so that sanitizer runs
    cover the adversary."""
    include = [sysconfig.get_path("include"), str(dlpack_include())]
    return [
        *shlex.split(os.environ.get("CXX", "g++")),
        *shlex.split(FLAGS),
        *shlex.split(os.environ.get("CXXFLAGS", "")),
        "-fno-sanitize=null",  # a handler for abi::__forced_unwind binds a null reference
        *(f"-isystem{folder}" for folder in include),
        f"-I{SHIPPED}",
        *(str(source) for source in sources(".cpp")),
    ]


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "refarray-tests"


def compiled(file: Path, line: list[str]) -> Path:
    """The file, made by the compiler command if it does not exist."""
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(suffix=".so", dir=file.parent)
        os.close(handle)
        subprocess.run([*line, "-o", unfinished], check=True, env=compiler_environment())
        Path(unfinished).replace(file)  # atomic: several test runs may build at once
    return file


def build() -> Path:
    """The folder of the built module. Compiles it if sources, flags or Python changed."""
    line = command()
    digest = hashlib.sha256(repr((line, sys.version)).encode())
    for source in [*sources(".cpp"), *sources(".hpp")]:
        digest.update(source.read_bytes())
    digest.update((dlpack_include() / "dlpack" / "dlpack.h").read_bytes())
    folder = cache_folder() / digest.hexdigest()[:20]
    name = "adversary" + importlib.machinery.EXTENSION_SUFFIXES[0]
    return compiled(folder / name, line).parent


def build_library(source: Path) -> Path:
    """The library of one source, whose functions it exports. Compiles it if needed."""
    line = [*shlex.split(os.environ.get("CXX", "g++")), *shlex.split(FLAGS), str(source)]
    digest = hashlib.sha256(repr(line).encode() + source.read_bytes()).hexdigest()[:20]
    line = [flag for flag in line if flag != "-fvisibility=hidden"]
    return compiled(cache_folder() / f"{source.stem}-{digest}.so", line)


def build_heap_faults() -> Path:
    """The LD_PRELOAD library that makes C heap allocations fail."""
    return build_library(HERE / "preload" / "heap_faults.cpp")


def build_rounding() -> Path:
    """The comparison of float32 results with the C library's functions."""
    return build_library(HERE / "reference" / "rounding.cpp")


if __name__ == "__main__":
    print(build())
