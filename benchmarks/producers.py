"""Producers of the A16 cases: Python classes around NumPy arrays, an extension type, partners."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .environment import Environment

HERE = Path(__file__).resolve().parent
HEADERS = "REFARRAY_BENCH_DLPACK"  # the folder of dlpack.h, for an interpreter without tvm-ffi


class Plain:
    """A class with the two methods."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Second(Plain): ...


class Third(Second): ...


class Fourth(Third): ...


class Deep(Fourth):
    """Inherits both methods through four levels."""


class Slots:
    """Its methods are bound methods of its array, in slots."""

    __slots__ = ("__dlpack__", "__dlpack_device__")

    def __init__(self, array: Any) -> None:
        self.__dlpack__ = array.__dlpack__
        self.__dlpack_device__ = array.__dlpack_device__


def extension_type() -> type:
    """The heap type of extension_type.cpp, compiled now. Raises what the compiler run raises."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise FileNotFoundError("no C++ compiler; set CXX")
    folder = Path(tempfile.mkdtemp())
    library = folder / "extension_type.so"
    command = [compiler, "-O2", "-std=c++20", "-shared", "-fPIC", "-I", dlpack_folder()]
    command += ["-I", sysconfig.get_path("include"), str(HERE / "extension_type.cpp")]
    subprocess.run([*command, "-o", str(library)], check=True, capture_output=True, text=True)
    spec = importlib.util.spec_from_file_location("extension_type", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shutil.rmtree(folder)
    return module.Exporter


def dlpack_folder() -> str:
    if HEADERS in os.environ:
        return os.environ[HEADERS]
    command = [str(Path(sys.executable).parent / "tvm-ffi-config"), "--dlpack-includedir"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def producers(environment: Environment, array: Any) -> dict[str, tuple[str, Callable[[], Any]]]:
    """id → what it needs, and how to make it around the NumPy array `array`."""
    partners = environment.partners
    np = partners.get("numpy")
    return {
        "class": ("numpy", lambda: Plain(array)),
        "deep": ("numpy", lambda: Deep(array)),
        "slots": ("numpy", lambda: Slots(array)),
        "ndarray": ("numpy", lambda: array.view(type("Sub", (np.ndarray,), {}))),
        "cython": ("numpy", lambda: extension_type()(array)),
        "jax": ("jax", lambda: partners["jax"].numpy.asarray(array)),
        "pyarrow": ("pyarrow", lambda: partners["pyarrow"].array(array)),
        "strict": ("array_api_strict", lambda: partners["array_api_strict"].asarray(array)),
        "tvm": ("tvm_ffi", lambda: partners["tvm_ffi"].from_dlpack(array)),
    }


TITLES = {
    "class": "a Python class",
    "deep": "a class four levels deep",
    "slots": "a class with methods in slots",
    "ndarray": "an ndarray subclass",
    "cython": "an extension type, as Cython makes them",
    "jax": "JAX",
    "pyarrow": "PyArrow",
    "strict": "array-api-strict",
    "tvm": "tvm-ffi",
}
