"""The installed package: files, metadata, exported symbols, and the headers for extension authors:
each compiles alone, CMake and pkg-config find them, and the code of the manual's page compiles."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from helpers.extensions import configure, load, tool
from helpers.processes import python
from native.build import compiler_environment

import refarray
from refarray import _native

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
MODULE = Path(_native.__file__)
INCLUDE = Path(refarray.get_include())


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


def test_embedded_parts_are_listed_with_the_versions_of_this_build() -> None:
    files = importlib.metadata.files("refarray") or []
    (listed,) = (path for path in files if path.match("*.dist-info/sboms/*"))
    assert listed.name == "refarray.cdx.json"
    sbom = json.loads(listed.read_text())
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    assert sbom["metadata"]["component"]["version"] == refarray.__version__
    parts = {part["name"]: part for part in sbom["components"]}
    assert parts.keys() - {"libc++", "libstdc++"} == {"dlpack", "eigen"}
    assert len(parts) == 3
    assert parts["dlpack"]["version"] == refarray.build_info()["dlpack"]
    assert re.fullmatch(r"3\.4\.\d+", parts["eigen"]["version"])
    licences = {name: part["licenses"][0]["expression"] for name, part in parts.items()}
    assert licences["dlpack"] == "Apache-2.0" and licences["eigen"] == "MPL-2.0"


def test_typing_files_are_installed() -> None:
    package = Path(refarray.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_native.pyi").is_file()


def test_only_header_only_code_is_shipped() -> None:
    public = ROOT / "include"
    headers = {path.relative_to(public).as_posix() for path in public.rglob("*.h*")}
    shipped = {path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h*")}
    assert shipped == {"dlpack/dlpack.h", *headers}


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


@pytest.mark.parametrize(
    ("line", "completed"),
    [("refarray ins", ["inspect "]), ("refarray check --onl", ["--only "]), ("refarray zz", [""])],
)
def test_shell_completes_commands_and_options(
    line: str, completed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "completed"),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = python("-m", "refarray")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "completed").read_text().split("\n") == completed


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
    """Two translation units with all headers, in one module."""
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

    consumer = load(tmp_path, "consumer")
    array = refarray.zeros((2, 3), dtype="bfloat16")
    capsule = array.__dlpack__(max_version=(1, 3))
    assert consumer.take(capsule) == "bfloat16 2 cpu"
    assert consumer.use_headers()
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        consumer.take(capsule)  # already consumed, hence renamed


# --- each header, by every compiler ---


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


ALONE = """
cmake_minimum_required(VERSION 3.25)
project(alone LANGUAGES CXX)
find_package(refarray CONFIG REQUIRED)
add_library(alone OBJECT alone.cpp)
target_link_libraries(alone PRIVATE refarray::refarray)
"""


def test_the_target_compiles_without_further_settings(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(ALONE)
    (source / "alone.cpp").write_text("#include <refarray/python/exchange.hpp>\n")
    done = configure(source, tmp_path / "build", f"refarray_DIR={refarray.get_cmake_dir()}")
    assert done.returncode == 0, done.stdout + done.stderr
    command = [tool("cmake"), "--build", tmp_path / "build"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr


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
