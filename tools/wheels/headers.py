#!/usr/bin/env python3
"""Unpacks the headers that a build needs, dlpack.h and Eigen, from their packages' wheels.

Their packages have no wheels for musl or for free-threaded CPython 3.13, but headers are the same
everywhere. `headers.py FOLDER` makes FOLDER/dlpack and FOLDER/eigen, which DLPACK_INCLUDE_DIR and
EIGEN_INCLUDE_DIR then name."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
#: The folder of the headers in each wheel, and the name that it gets.
FOLDERS = {
    "apache-tvm-ffi": ("tvm_ffi/include/dlpack/", "dlpack/dlpack/"),
    "cmeel-eigen": ("cmeel.prefix/include/eigen3/Eigen/", "eigen/Eigen/"),
}
ANY_WHEEL = (
    "--only-binary=:all:",
    "--platform=manylinux_2_28_x86_64",
    "--python-version=3.12",
    "--no-deps",
)


def requirement(package: str) -> str:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    (found,) = (
        each
        for each in project["build-system"]["requires"]
        if re.match(rf"{re.escape(package)}\b", each)
    )
    return str(found)


def download(package: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-qq"]
    subprocess.run([*command, *ANY_WHEEL, "-d", folder, requirement(package)], check=True)
    (wheel,) = folder.glob(f"{package.replace('-', '_')}-*.whl")
    return wheel


def unpack(wheel: Path, inside: str, to: Path) -> int:
    """Extracts the files below `inside`; returns their number."""
    count = 0
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if member.filename.startswith(inside) and not member.is_dir():
                path = to / member.filename.removeprefix(inside)
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)
                count += 1
    return count


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: headers.py FOLDER")
    for package, (inside, name) in FOLDERS.items():
        with tempfile.TemporaryDirectory() as scratch:
            wheel = download(package, Path(scratch))
            if not unpack(wheel, inside, Path(arguments[0]) / name):
                sys.exit(f"{wheel.name} has no files below {inside}")


if __name__ == "__main__":
    main(sys.argv[1:])
