"""The installed headers for extension authors: each compiles alone, one can be copied, CMake and
pkg-config find them, and the code of the manual's page compiles."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from helpers.extensions import configure, tool
from native.build import compiler_environment

import refarray

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = Path(refarray.get_include())
HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.glob("refarray/**/*.h*"))
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
COMPILERS = [name for name in (os.environ.get("CXX", "g++"), "clang++-19") if shutil.which(name)]


def compile_only(
    code: str, folder: Path, *includes: Path, compiler: str = COMPILERS[0], name: str = "code.cpp"
) -> None:
    (folder / name).write_text(code)
    standard = "-std=c11" if name.endswith(".c") else "-std=c++20"
    paths = [f"-I{path}" for path in includes]
    command = [*compiler.split(), standard, *WARNINGS, "-fsyntax-only", *paths, name]
    done = subprocess.run(
        command, cwd=folder, env=compiler_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def python_include() -> Path:
    return Path(sysconfig.get_path("include"))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone(tmp_path: Path, header: str, compiler: str) -> None:
    """Twice, to prove that it may be included twice; without Python.h's folder where it can."""
    needs_python = header.startswith("refarray/python/")
    folders = [INCLUDE, *([python_include()] if needs_python else [])]
    line = f"#include <{header}>\n"
    compile_only(line + line, tmp_path, *folders, compiler=compiler)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("header", [name for name in HEADERS if name.endswith(".hpp")])
def test_an_older_standard_is_named_in_the_first_error(
    tmp_path: Path, header: str, compiler: str
) -> None:
    (tmp_path / "code.cpp").write_text(f"#include <{header}>\n")
    command = [*compiler.split(), "-std=c++17", "-fsyntax-only", f"-I{INCLUDE}"]
    done = subprocess.run(
        [*command, f"-I{python_include()}", "code.cpp"],
        cwd=tmp_path,
        env=compiler_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    first = next(line for line in done.stderr.splitlines() if "error:" in line)
    assert "refarray's C++ headers need C++20; compile with -std=c++20 or newer" in first


def test_the_c_header_is_c(tmp_path: Path) -> None:
    code = "#include <refarray/python/c_api.h>\n"
    c = os.environ.get("CC", "gcc")
    # The unused function is the header's; -Wpedantic also checks Python's own headers.
    folders = [INCLUDE, python_include()]
    compile_only(code, tmp_path, *folders, compiler=c, name="code.c")


def test_one_header_can_be_copied(tmp_path: Path) -> None:
    shutil.copy(INCLUDE / "refarray" / "dlpack" / "exchange.hpp", tmp_path / "mine.hpp")
    (tmp_path / "dlpack").mkdir()
    shutil.copy(INCLUDE / "dlpack" / "dlpack.h", tmp_path / "dlpack")
    code = """
#include "mine.hpp"
int main() {
  float* none = nullptr;
  auto tensor = refarray::export_tensor(std::vector<int>{1}, none, {0}, {1});
  return refarray::managed_tensor(std::move(tensor)).fields().ndim;
}
"""
    compile_only(code, tmp_path, tmp_path)


def test_every_header_of_the_source_tree_is_installed() -> None:
    sources = (ROOT / "include").rglob("*.h*")
    assert sorted(path.relative_to(ROOT / "include").as_posix() for path in sources) == HEADERS


# --- the packages


def test_pkg_config(tmp_path: Path) -> None:
    folder = refarray.get_pkgconfig_dir()

    def ask(*options: str) -> str:
        done = subprocess.run(
            [tool("pkg-config"), *options, "refarray"],
            env=os.environ | {"PKG_CONFIG_PATH": folder},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert ask("--modversion") == refarray.__version__
    flags = ask("--cflags").split()
    assert [Path(flag.removeprefix("-I")).resolve() for flag in flags] == [INCLUDE.resolve()]
    assert ask("--libs") == ""


PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(uses LANGUAGES {language})
find_package(refarray {version} CONFIG REQUIRED)
message(STATUS "found ${{refarray_VERSION}} in ${{refarray_INCLUDE_DIR}}")
find_package(refarray CONFIG REQUIRED)  # a second time
"""


def find_package(
    folder: Path, version: str = "", where: str | None = None, language: str = "CXX"
) -> tuple[bool, str]:
    source = folder / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT.format(version=version, language=language))
    done = configure(source, folder / "build", where or f"refarray_DIR={refarray.get_cmake_dir()}")
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("language", ["CXX", "C", "NONE"])
def test_cmake_finds_the_package(tmp_path: Path, language: str) -> None:
    ok, text = find_package(tmp_path, refarray.__version__, language=language)
    assert ok, text
    assert f"found {refarray.__version__} in {INCLUDE}" in text


def test_cmake_finds_the_package_below_a_prefix(tmp_path: Path) -> None:
    """What scikit-build-core sets from the entry point of the group cmake.prefix."""
    prefix = Path(refarray.__file__).parent
    if not (prefix / "share").is_dir():  # an editable installation
        prefix = INCLUDE.parent
    ok, text = find_package(tmp_path, where=f"CMAKE_PREFIX_PATH={prefix}", language="NONE")
    assert ok, text


def test_newer_version_is_not_found(tmp_path: Path) -> None:
    ok, text = find_package(tmp_path, "99.0", language="NONE")
    assert not ok
    assert f"version: {refarray.__version__}" in text


def test_incomplete_installation_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(refarray.get_cmake_dir(), tmp_path / "a" / "share" / "cmake" / "refarray")
    ok, text = find_package(tmp_path, where=f"CMAKE_PREFIX_PATH={tmp_path / 'a'}", language="NONE")
    assert not ok
    assert "has no dlpack/dlpack.h: the installation of refarray is incomplete" in " ".join(
        text.split()
    )


# --- the page of the manual


def blocks(language: str) -> str:
    page = (ROOT / "docs" / "extensions.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL))


def test_code_of_the_manual_compiles(tmp_path: Path) -> None:
    prelude = """
#include <refarray/array_view.hpp>
#include <refarray/python/exchange.hpp>
#include <refarray/python/producer.hpp>
struct Samples { PyObject ob_base; std::vector<float> values; };
Samples& samples_of(PyObject* self) { return *reinterpret_cast<Samples*>(self); }
"""
    compile_only(prelude + blocks("cpp"), tmp_path, INCLUDE, python_include())
    code = "#include <Python.h>\n#include <string.h>\n" + blocks("c")
    caller = "PyObject* use(void);\nPyObject* use(void) { return zeros_like_my_grid(); }\n"
    c = os.environ.get("CC", "gcc")
    compile_only(code + caller, tmp_path, INCLUDE, python_include(), compiler=c, name="code.c")
