"""The installed package: files, metadata, exported symbols, headers, and how CMake finds
dlpack.h."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
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


# --- how CMake finds dlpack.h

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(finds NONE)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
list(APPEND CMAKE_MODULE_PATH "{root}/cmake")
find_package(DLPack 1.3 MODULE REQUIRED)
message(STATUS "found ${{DLPack_VERSION}} ${{DLPack_ORIGIN}}")
"""
OPTIONS = (
    "-DDLPACK_INCLUDE_DIR=",
    "libdlpack-dev",
    "apache-tvm-ffi>=0.1.12",
    "REFARRAY_DOWNLOAD_DLPACK",
)


def header(folder: Path, major: int, minor: int) -> Path:
    """An include folder with a dlpack.h of this version."""
    path = folder / "dlpack" / "dlpack.h"
    path.parent.mkdir(parents=True)
    lines = [f"#define DLPACK_MAJOR_VERSION {major}", f"#define DLPACK_MINOR_VERSION {minor}"]
    path.write_text("\n".join(lines) + "\n" if major else "#define DLPACK_VERSION 60\n")
    return folder


class Finder:
    """Configures a project that only finds dlpack.h, independent of this machine's copies."""

    def __init__(self, folder: Path) -> None:
        self.source, self.build = folder / "source", folder / "build"
        self.source.mkdir()
        (self.source / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))

    def __call__(self, *settings: str, env: dict[str, str] | None = None) -> tuple[bool, str]:
        shutil.rmtree(self.build, ignore_errors=True)
        cmake = shutil.which(
            "cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        )
        assert cmake is not None
        clean = {name: value for name, value in os.environ.items() if name != "DLPACK_INCLUDE_DIR"}
        result = subprocess.run(
            [
                cmake,
                "-S",
                self.source,
                "-B",
                self.build,
                *[f"-D{it}" for it in settings],
            ],
            check=False,
            capture_output=True,
            text=True,
            env=clean | (env or {}),
        )
        return result.returncode == 0, result.stdout + result.stderr


@pytest.fixture
def find(tmp_path: Path) -> Finder:
    return Finder(tmp_path)


def test_given_folder_is_used(find: Finder, tmp_path: Path) -> None:
    folder = header(tmp_path / "given", 1, 3)
    other = header(tmp_path / "other" / "include", 1, 9).parent
    ok, text = find(f"DLPACK_INCLUDE_DIR={folder}", f"CMAKE_PREFIX_PATH={other}")
    assert ok, text
    assert "found 1.3 given" in text
    ok, text = find(env={"DLPACK_INCLUDE_DIR": str(folder)})
    assert ok, text
    assert "found 1.3 given" in text


def test_given_folder_without_the_header_is_an_error(find: Finder, tmp_path: Path) -> None:
    good = header(tmp_path / "good" / "include", 1, 3).parent
    ok, text = find(f"DLPACK_INCLUDE_DIR={tmp_path / 'missing'}", f"CMAKE_PREFIX_PATH={good}")
    assert not ok
    assert f"{tmp_path / 'missing'}, which has no dlpack/dlpack.h" in text


@pytest.mark.parametrize(("major", "minor", "named"), [(0, 6, "0.6"), (1, 0, "1.0"), (1, 2, "1.2")])
def test_header_that_is_too_old_is_an_error(
    find: Finder, tmp_path: Path, major: int, minor: int, named: str
) -> None:
    folder = header(tmp_path / "include", major, minor)
    for setting in (f"DLPACK_INCLUDE_DIR={folder}", f"CMAKE_PREFIX_PATH={tmp_path}"):
        ok, text = find(setting)
        assert not ok
        assert f'too old: version "{named}"' in text
        assert all(option in text for option in OPTIONS)


def test_newer_header_is_used(find: Finder, tmp_path: Path) -> None:
    ok, text = find(f"DLPACK_INCLUDE_DIR={header(tmp_path / 'include', 1, 10)}")
    assert ok, text
    assert "found 1.10 given" in text


def test_old_system_header_does_not_hide_the_build_requirement(
    find: Finder, tmp_path: Path
) -> None:
    header(tmp_path / "usr" / "include", 0, 6)
    header(tmp_path / "site-packages" / "tvm_ffi" / "include", 1, 3)
    prefixes = f"{tmp_path / 'usr'};{tmp_path / 'site-packages'}"
    ok, text = find(f"CMAKE_PREFIX_PATH={prefixes}")
    assert ok, text
    assert "found 1.3 build requirement" in text
    header(tmp_path / "conda" / "include", 1, 4)
    ok, text = find(f"CMAKE_PREFIX_PATH={prefixes};{tmp_path / 'conda'}")
    assert ok, text
    assert "found 1.4 system" in text


def test_missing_header_message_names_the_options(find: Finder) -> None:
    ok, text = find()
    assert not ok
    assert text.count("CMake Error") == 1
    assert all(option in text for option in OPTIONS)


def test_download_is_opt_in_and_verified(find: Finder, tmp_path: Path) -> None:
    file = header(tmp_path / "server", 1, 3) / "dlpack" / "dlpack.h"
    url = f"REFARRAY_DLPACK_URL={file.as_uri()}"
    right = f"REFARRAY_DLPACK_SHA256={hashlib.sha256(file.read_bytes()).hexdigest()}"
    ok, text = find(url, right)
    assert not ok  # downloads are opt-in
    ok, text = find("REFARRAY_DOWNLOAD_DLPACK=ON", url, right)
    assert ok, text
    assert "found 1.3 download" in text

    ok, text = find("REFARRAY_DOWNLOAD_DLPACK=ON", url)  # the pinned SHA-256 is upstream's
    assert not ok
    assert "was refused: its SHA-256 is" in text
    assert hashlib.sha256(file.read_bytes()).hexdigest() in text
    assert not list(find.build.rglob("dlpack.h*"))

    ok, text = find(
        "REFARRAY_DOWNLOAD_DLPACK=ON", f"REFARRAY_DLPACK_URL={file.as_uri()}.gone", right
    )
    assert not ok
    assert "could not be downloaded" in text
