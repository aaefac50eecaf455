"""How CMake finds dlpack.h and Eigen: a given folder, the system, the build requirement, a verified
download."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.extensions import tool

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(finds NONE)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
list(APPEND CMAKE_MODULE_PATH "{root}/cmake")
find_package({name} {least} MODULE REQUIRED)
message(STATUS "found ${{{name}_VERSION}} ${{{name}_ORIGIN}}")
"""
Version = tuple[int, ...]


def text_of(version: Version) -> str:
    return ".".join(map(str, version))


def dlpack(folder: Path, version: Version) -> Path:
    """An include folder with a dlpack.h of this version."""
    path = folder / "dlpack" / "dlpack.h"
    path.parent.mkdir(parents=True)
    names = zip(("MAJOR", "MINOR"), version, strict=True)
    lines = [f"#define DLPACK_{name}_VERSION {number}" for name, number in names]
    path.write_text("\n".join(lines) + "\n" if version[0] else "#define DLPACK_VERSION 60\n")
    return folder


def eigen(folder: Path, version: Version) -> Path:
    """An include folder with an Eigen of this version."""
    macros = folder / "Eigen" / "src" / "Core" / "util" / "Macros.h"
    macros.parent.mkdir(parents=True)
    names = zip(("WORLD", "MAJOR", "MINOR"), version, strict=True)
    lines = [f"#define EIGEN_{name}_VERSION {number}" for name, number in names]
    macros.write_text("\n".join(lines) + "\n")
    (folder / "Eigen" / "Core").write_text("\n")
    return folder


@dataclass(frozen=True)
class Library:
    """Headers that the build needs."""

    name: str
    headers: Callable[[Path, Version], Path]
    file: str
    versions: tuple[Version, Version, Version]  # the least that is good, and two newer ones
    bad: tuple[Version, ...]
    refusal: str
    system: str  # folders below a prefix
    requirement: str
    options: tuple[str, ...]

    @property
    def variable(self) -> str:
        return f"{self.name.upper()}_INCLUDE_DIR"


DLPACK = Library(
    "DLPack",
    dlpack,
    "dlpack/dlpack.h",
    versions=((1, 3), (1, 4), (1, 10)),
    bad=((0, 6), (1, 0), (1, 2)),
    refusal="too old",
    system="include",
    requirement="tvm_ffi/include",
    options=("libdlpack-dev", "apache-tvm-ffi>=0.1.12"),
)
EIGEN = Library(
    "Eigen",
    eigen,
    "Eigen/Core",
    versions=((3, 4, 0), (3, 4, 1), (3, 4, 9)),
    bad=((3, 3, 9), (4, 0, 0), (5, 0, 1)),
    refusal="not supported",
    system="include/eigen3",
    requirement="cmeel.prefix/include/eigen3",
    options=("libeigen3-dev", "cmeel-eigen>=3.4,<4"),
)


class Finder:
    """Configures a project that only finds one library, independent of this machine's copies."""

    def __init__(self, library: Library, folder: Path) -> None:
        self.library = library
        self.source, self.build = folder / "source", folder / "build"
        self.source.mkdir()
        least = text_of(library.versions[0][:2])
        text = PROJECT.format(root=ROOT, name=library.name, least=least)
        (self.source / "CMakeLists.txt").write_text(text)

    def __call__(self, *settings: str, env: dict[str, str] | None = None) -> tuple[bool, str]:
        shutil.rmtree(self.build, ignore_errors=True)
        clean = {name: it for name, it in os.environ.items() if name != self.library.variable}
        result = subprocess.run(
            [tool("cmake"), "-S", self.source, "-B", self.build, *[f"-D{it}" for it in settings]],
            check=False,
            capture_output=True,
            text=True,
            env=clean | (env or {}),
        )
        return result.returncode == 0, result.stdout + result.stderr

    def finds(self, found: str, *settings: str, env: dict[str, str] | None = None) -> None:
        ok, text = self(*settings, env=env)
        assert ok, text
        assert f"found {found}" in text

    def names_the_options(self, text: str) -> bool:
        name = self.library.name.upper()
        options = (f"-D{name}_INCLUDE_DIR=", f"REFARRAY_DOWNLOAD_{name}", *self.library.options)
        return all(option in text for option in options)


@pytest.fixture(params=[DLPACK, EIGEN], ids=lambda library: library.name)
def library(request: pytest.FixtureRequest) -> Library:
    found: Library = request.param
    return found


@pytest.fixture
def find(library: Library, tmp_path: Path) -> Finder:
    return Finder(library, tmp_path)


def test_given_folder_is_used(find: Finder, library: Library, tmp_path: Path) -> None:
    least, _, newest = library.versions
    given = library.headers(tmp_path / "given", least)
    library.headers(tmp_path / "other" / library.system, newest)
    found, other = f"{text_of(least)} given", f"CMAKE_PREFIX_PATH={tmp_path / 'other'}"
    find.finds(found, f"{library.variable}={given}", other)
    find.finds(found, env={library.variable: str(given)})


def test_given_folder_without_the_headers_is_an_error(
    find: Finder, library: Library, tmp_path: Path
) -> None:
    library.headers(tmp_path / "good" / "include", library.versions[0])
    missing = tmp_path / "missing"
    ok, text = find(f"{library.variable}={missing}", f"CMAKE_PREFIX_PATH={tmp_path / 'good'}")
    assert not ok
    assert f"{missing}, which has no {library.file}" in text


@pytest.mark.parametrize("number", range(3))
def test_another_version_is_an_error(
    find: Finder, library: Library, tmp_path: Path, number: int
) -> None:
    version = library.bad[number]
    folder = library.headers(tmp_path / "include", version)
    for setting in (f"{library.variable}={folder}", f"CMAKE_PREFIX_PATH={tmp_path}"):
        ok, text = find(setting)
        assert not ok
        assert f'{library.refusal}: version "{text_of(version)}"' in text
        assert find.names_the_options(text)


def test_newer_version_is_used(find: Finder, library: Library, tmp_path: Path) -> None:
    newest = library.versions[-1]
    folder = library.headers(tmp_path / "include", newest)
    find.finds(f"{text_of(newest)} given", f"{library.variable}={folder}")


def test_old_system_copy_does_not_hide_the_build_requirement(
    find: Finder, library: Library, tmp_path: Path
) -> None:
    least, newer, _ = library.versions
    library.headers(tmp_path / "usr" / library.system, library.bad[0])
    library.headers(tmp_path / "site-packages" / library.requirement, newer)
    prefixes = f"CMAKE_PREFIX_PATH={tmp_path / 'usr'};{tmp_path / 'site-packages'}"
    find.finds(f"{text_of(newer)} build requirement", prefixes)
    library.headers(tmp_path / "conda" / library.system, least)
    find.finds(f"{text_of(least)} system", f"{prefixes};{tmp_path / 'conda'}")


def test_message_names_the_options(find: Finder) -> None:
    ok, text = find()
    assert not ok
    assert text.count("CMake Error") == 1
    assert find.names_the_options(text)


def served(library: Library, folder: Path) -> Path:
    """What a server has: dlpack.h, or an archive of Eigen."""
    headers = library.headers(folder / "eigen-3.4.1", library.versions[1])
    if library is DLPACK:
        return headers / library.file
    file = folder / "eigen.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        archive.add(headers, arcname=headers.name)
    return file


def test_download_is_opt_in_and_verified(find: Finder, library: Library, tmp_path: Path) -> None:
    file, name = served(library, tmp_path), library.name.upper()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    url, right = f"REFARRAY_{name}_URL={file.as_uri()}", f"REFARRAY_{name}_SHA256={digest}"
    ok, text = find(url, right)
    assert not ok  # downloads are opt-in
    download = f"REFARRAY_DOWNLOAD_{name}=ON"
    find.finds(f"{text_of(library.versions[1])} download", download, url, right)

    ok, text = find(download, url)  # the pinned SHA-256 is upstream's
    assert not ok
    assert "was refused: its SHA-256 is" in text
    assert digest in text
    assert not list(find.build.rglob(f"{Path(library.file).name}*"))

    ok, text = find(download, f"{url}.gone", right)
    assert not ok
    assert "could not be downloaded" in text
