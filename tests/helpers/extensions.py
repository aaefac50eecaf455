"""Builds the example extensions against the installed package, in a cache keyed by the inputs."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from native.build import cache_folder, compiler_environment

import refarray

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "extensions"
#: The module of each example, and the package that it is written with.
MODULES = {
    "raw_c_api": ("example_raw", ""),
    "nanobind": ("example_nanobind", "nanobind"),
    "pybind11": ("example_pybind11", "pybind11"),
    "cython": ("example_cython", "cython"),
}
#: Debug: the tests measure nothing, and compiling takes half as long.
SETTINGS = ("CMAKE_BUILD_TYPE=Debug", "CMAKE_CXX_FLAGS=-Wall -Wextra -Werror=unused")


def tool(name: str) -> str:
    """A program of this environment, else of PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which(name, path=path)
    assert found is not None, f"{name} is needed"
    return found


def key(example: str) -> str:
    package = MODULES[example][1]
    inputs: list[object] = [sys.version, sys.executable, SETTINGS, os.environ.get("CXX")]
    inputs.append(metadata.version(package) if package else "")
    digest = hashlib.sha256(repr(inputs).encode())
    headers = Path(refarray.get_include()).rglob("*.h*")
    package_files = Path(refarray.get_cmake_dir()).glob("*")
    sources = (path for path in (EXAMPLES / example).iterdir() if path.is_file())
    for path in sorted([*sources, *headers, *package_files]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def configure(source: Path, build: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    """Runs CMake with this interpreter and the generator Ninja."""
    defined = [f"-D{it}" for it in (f"Python_EXECUTABLE={sys.executable}", *settings)]
    return subprocess.run(
        [tool("cmake"), "-G", "Ninja", "-S", source, "-B", build, *defined],
        env=compiler_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def compile_example(example: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        build = Path(temporary)
        done = configure(
            EXAMPLES / example, build, f"refarray_DIR={refarray.get_cmake_dir()}", *SETTINGS
        )
        assert done.returncode == 0, done.stdout + done.stderr
        done = subprocess.run(
            [tool("cmake"), "--build", build],
            env=compiler_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        folder.mkdir()
        for module in build.glob(f"{MODULES[example][0]}.*so"):
            shutil.copy(module, folder)


def build_example(example: str) -> Path:
    """The folder of the built module; several test processes may ask at once."""
    folder = cache_folder() / f"{example}-{key(example)}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            compile_example(example, folder)
    return folder


def load(folder: Path, name: str) -> Any:
    path = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not path.is_file():  # nanobind and pybind11 may name it otherwise
        [path] = folder.glob(f"{name}.*so")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def example_module(example: str) -> Any:
    return load(build_example(example), MODULES[example][0])
