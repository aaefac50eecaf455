"""Compiles the extension `nanobind_arrays` on first use and keeps it in the tests' cache folder."""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

from native.build import cache_folder, compiler_environment

HERE = Path(__file__).resolve().parent
NAME = "nanobind_arrays"
SOURCE = HERE / "arrays.cpp"
BASE = "-std=c++20 -O0 -fPIC -fvisibility=hidden -fno-strict-aliasing"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"  # for arrays.cpp only


def build() -> Path:
    """The folder that holds the built module; compiles when the source, nanobind or Python
    changed."""
    import nanobind

    package = Path(nanobind.__file__).parent
    runtime = Path(nanobind.source_dir()) / "nb_combined.cpp"
    folders = [
        sysconfig.get_path("include"),
        nanobind.include_dir(),
        package / "ext" / "robin_map" / "include",
    ]
    compiler = [
        *shlex.split(os.environ.get("CXX", "g++")),
        *shlex.split(BASE),
        *(f"-isystem{folder}" for folder in folders),
    ]
    state = (compiler, WARNINGS, nanobind.__version__, sys.version, SOURCE.read_text())
    digest = hashlib.sha256(repr(state).encode()).hexdigest()[:20]
    folder = cache_folder() / f"nanobind-{digest}"
    module = folder / (NAME + importlib.machinery.EXTENSION_SUFFIXES[0])
    if not module.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            ours, theirs, linked = (Path(scratch) / name for name in ("a.o", "nb.o", "m.so"))
            commands = [
                [*compiler, *shlex.split(WARNINGS), "-c", str(SOURCE), "-o", str(ours)],
                [*compiler, "-c", str(runtime), "-o", str(theirs)],
                [*compiler, "-shared", str(ours), str(theirs), "-o", str(linked)],
            ]
            for command in commands:
                subprocess.run(command, check=True, env=compiler_environment())
            linked.replace(module)  # atomic: test runs may build concurrently
    return folder


def module() -> ModuleType:
    """The extension, compiled when needed."""
    folder = str(build())
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(NAME)
    finally:
        sys.path.remove(folder)
