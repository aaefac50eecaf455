"""How CMake finds Eigen: a given folder, the system, the build requirement, a verified download."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(finds NONE)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
list(APPEND CMAKE_MODULE_PATH "{root}/cmake")
find_package(Eigen 3.4 MODULE REQUIRED)
message(STATUS "found ${{Eigen_VERSION}} ${{Eigen_ORIGIN}}")
"""
OPTIONS = (
    "-DEIGEN_INCLUDE_DIR=",
    "libeigen3-dev",
    "cmeel-eigen>=3.4,<4",
    "REFARRAY_DOWNLOAD_EIGEN",
)


def headers(folder: Path, world: int, major: int, minor: int) -> Path:
    """An include folder with an Eigen of this version."""
    macros = folder / "Eigen" / "src" / "Core" / "util" / "Macros.h"
    macros.parent.mkdir(parents=True)
    numbers = {"WORLD": world, "MAJOR": major, "MINOR": minor}
    lines = [f"#define EIGEN_{name}_VERSION {number}" for name, number in numbers.items()]
    macros.write_text("\n".join(lines) + "\n")
    (folder / "Eigen" / "Core").write_text("\n")
    return folder


class Finder:
    """Configures a project that only finds Eigen, independent of this machine's copies."""

    def __init__(self, folder: Path) -> None:
        self.source, self.build = folder / "source", folder / "build"
        self.source.mkdir()
        (self.source / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))

    def __call__(self, *settings: str, env: dict[str, str] | None = None) -> tuple[bool, str]:
        shutil.rmtree(self.build, ignore_errors=True)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        cmake = shutil.which("cmake", path=path)
        assert cmake is not None
        clean = {name: value for name, value in os.environ.items() if name != "EIGEN_INCLUDE_DIR"}
        result = subprocess.run(
            [cmake, "-S", self.source, "-B", self.build, *[f"-D{it}" for it in settings]],
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
    folder = headers(tmp_path / "given", 3, 4, 0)
    other = headers(tmp_path / "other" / "include" / "eigen3", 3, 4, 9).parents[1]
    ok, text = find(f"EIGEN_INCLUDE_DIR={folder}", f"CMAKE_PREFIX_PATH={other}")
    assert ok, text
    assert "found 3.4.0 given" in text
    ok, text = find(env={"EIGEN_INCLUDE_DIR": str(folder)})
    assert ok, text
    assert "found 3.4.0 given" in text


def test_given_folder_without_eigen_is_an_error(find: Finder, tmp_path: Path) -> None:
    good = headers(tmp_path / "good" / "include", 3, 4, 0).parent
    ok, text = find(f"EIGEN_INCLUDE_DIR={tmp_path / 'missing'}", f"CMAKE_PREFIX_PATH={good}")
    assert not ok
    assert f"{tmp_path / 'missing'}, which has no Eigen/Core" in text


@pytest.mark.parametrize("version", [(3, 3, 9), (4, 0, 0), (5, 0, 1)])
def test_other_version_is_an_error(
    find: Finder, tmp_path: Path, version: tuple[int, int, int]
) -> None:
    folder = headers(tmp_path / "include", *version)
    for setting in (f"EIGEN_INCLUDE_DIR={folder}", f"CMAKE_PREFIX_PATH={tmp_path}"):
        ok, text = find(setting)
        assert not ok
        assert f'not supported: version "{".".join(map(str, version))}"' in text
        assert all(option in text for option in OPTIONS)


def test_old_system_copy_does_not_hide_the_build_requirement(find: Finder, tmp_path: Path) -> None:
    headers(tmp_path / "usr" / "include" / "eigen3", 3, 3, 9)
    headers(tmp_path / "site-packages" / "cmeel.prefix" / "include" / "eigen3", 3, 4, 1)
    prefixes = f"{tmp_path / 'usr'};{tmp_path / 'site-packages'}"
    ok, text = find(f"CMAKE_PREFIX_PATH={prefixes}")
    assert ok, text
    assert "found 3.4.1 build requirement" in text
    headers(tmp_path / "conda" / "include" / "eigen3", 3, 4, 0)
    ok, text = find(f"CMAKE_PREFIX_PATH={prefixes};{tmp_path / 'conda'}")
    assert ok, text
    assert "found 3.4.0 system" in text


def test_message_names_the_options(find: Finder) -> None:
    ok, text = find()
    assert not ok
    assert text.count("CMake Error") == 1
    assert all(option in text for option in OPTIONS)


def test_download_is_opt_in_and_verified(find: Finder, tmp_path: Path) -> None:
    folder = headers(tmp_path / "eigen-3.4.1", 3, 4, 1)
    file = tmp_path / "eigen.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder, arcname="eigen-3.4.1")
    url = f"REFARRAY_EIGEN_URL={file.as_uri()}"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    right = f"REFARRAY_EIGEN_SHA256={digest}"
    ok, text = find(url, right)
    assert not ok  # downloads are opt-in
    ok, text = find("REFARRAY_DOWNLOAD_EIGEN=ON", url, right)
    assert ok, text
    assert "found 3.4.1 download" in text

    ok, text = find("REFARRAY_DOWNLOAD_EIGEN=ON", url)  # the pinned SHA-256 is upstream's
    assert not ok
    assert "was refused: its SHA-256 is" in text
    assert digest in text
    ok, text = find("REFARRAY_DOWNLOAD_EIGEN=ON", f"{url}.gone", right)
    assert not ok
    assert "could not be downloaded" in text
