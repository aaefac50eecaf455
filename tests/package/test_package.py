"""The installed package: files, metadata, exported symbols, and headers."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

import refarray
from refarray import _native

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
MODULE = Path(_native.__file__)
INCLUDE = Path(refarray.get_include())
SHIPPED_HEADERS = {
    "dlpack/dlpack.h",
    "refarray/array_view.hpp",
    "refarray/core/device.hpp",
    "refarray/core/dtype.hpp",
    "refarray/core/forced_unwind.hpp",
    "refarray/dlpack/exchange.hpp",
    "refarray/dlpack/managed.hpp",
    "refarray/dlpack/wire.hpp",
    "refarray/python/c_api.h",
    "refarray/python/exchange.hpp",
    "refarray/python/producer.hpp",
}


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# --- installed files and metadata


def test_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert refarray.__version__ == project["version"]
    assert importlib.metadata.version("refarray") == project["version"]
    assert refarray.build_info()["version"] == project["version"]


def test_package_has_no_runtime_dependencies() -> None:
    requires = importlib.metadata.requires("refarray") or []
    assert [entry for entry in requires if "extra ==" not in entry] == []


def test_licence_is_declared_and_shipped() -> None:
    metadata = importlib.metadata.metadata("refarray")
    assert metadata["License-Expression"] == "Apache-2.0 AND MPL-2.0"
    files = {"LICENSE", "NOTICE", "LICENSE.MPL-2.0"}
    assert set(metadata.get_all("License-File") or []) == files
    # DLPack's header is shipped with its licence and the names of its authors.
    assert (INCLUDE / "dlpack" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert "Copyright (c) 2017 by Contributors" in (INCLUDE / "dlpack" / "NOTICE").read_text()


def test_typing_files_are_installed() -> None:
    package = Path(refarray.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_native.pyi").is_file()


def test_only_header_only_code_is_shipped() -> None:
    headers = {path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h*")}
    assert headers == SHIPPED_HEADERS


def test_only_the_package_is_installed() -> None:
    files = importlib.metadata.files("refarray") or []
    tops = {path.parts[0] for path in files if ".." not in path.parts}
    assert tops - {"_editable_skbc_refarray.py", "_editable_skbc_refarray.pth", "__pycache__"} <= {
        "refarray",
        "refarray_strict.py",  # in the name of the classes of namespaces
        f"refarray-{refarray.__version__}.dist-info",
    }
    assert not [path for path in files if path.suffix in {".cpp", ".a", ".o"}]
    packages = {"refarrayConfig.cmake", "refarrayConfigVersion.cmake", "refarray.pc"}
    assert {path.name for path in files if "share" in path.parts} == packages


def test_entry_points() -> None:
    own = importlib.metadata.distribution("refarray").entry_points
    assert sorted((entry.group, entry.name, entry.value) for entry in own) == [
        ("cmake.prefix", "refarray", "refarray"),
        ("console_scripts", "refarray", "refarray.__main__:main"),
        ("pytest11", "refarray", "refarray.conformance.pytest_plugin"),
    ]


# --- the extension module's symbols and libraries


def test_module_exports_only_its_init_function() -> None:
    symbols = [
        line.split()[-1] for line in output("nm", "-D", "--defined-only", MODULE).splitlines()
    ]
    assert symbols == ["PyInit__native"]


def test_module_links_only_the_c_library_and_the_unwinder() -> None:
    dynamic = output("readelf", "-d", MODULE).splitlines()
    needed = {line.split("[")[1].split(".so")[0] for line in dynamic if "(NEEDED)" in line}
    assert needed <= {
        "libc",
        "libgcc_s",
        "libm",
        "libdl",
        "libpthread",
        "ld-linux-x86-64",
    }


def test_build_info_describes_this_build() -> None:
    info = refarray.build_info()
    limited = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert (".abi3." in MODULE.name) == limited
    own = f"cp{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    assert info["abi"] == ("abi3-cp312" if limited else own)
    assert info["dlpack_source"] in {"given", "system", "build requirement", "download"}
    header = (INCLUDE / "dlpack" / "dlpack.h").read_text(encoding="utf-8")
    major, minor = str(info["dlpack"]).split(".")
    assert f"#define DLPACK_MAJOR_VERSION {major}\n" in header
    assert f"#define DLPACK_MINOR_VERSION {minor}\n" in header


# --- a C++ consumer built against the installed headers


def test_a_consumer_compiles_and_links_with_the_headers_alone(tmp_path: Path) -> None:
    """One translation unit per header and one with all of them, in one module."""
    module = tmp_path / f"consumer{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = os.environ.get("CXX", "g++").split()
    flags = ["-std=c++20", "-O2", "-fPIC", "-shared"]
    flags += ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    # The interpreter defines Python's symbols; the headers must define every other one.
    flags += ["-Wl,--unresolved-symbols=ignore-all"]
    includes = [f"-I{INCLUDE}", f"-isystem{sysconfig.get_path('include')}"]
    sources = sorted((ROOT / "tests" / "package" / "consumer").glob("*.cpp"))
    subprocess.run([*compiler, *flags, *includes, *sources, "-o", module], check=True, cwd=tmp_path)
    undefined = output("nm", "-DC", "--undefined-only", module)
    assert "refarray" not in undefined

    spec = importlib.util.spec_from_file_location("consumer", module)
    assert spec is not None
    assert spec.loader is not None
    consumer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(consumer)
    array = refarray.zeros((2, 3), dtype="bfloat16")
    capsule = array.__dlpack__(max_version=(1, 3))
    assert consumer.take(capsule) == "bfloat16 2 cpu"
    assert consumer.use_headers()
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        consumer.take(capsule)  # already consumed, hence renamed
