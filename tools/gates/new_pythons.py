#!/usr/bin/env python3
"""The gate `new-pythons`: the test suite with the abi3 wheel on CPythons that no release of Debian
has yet: all VERSIONS or those named, for all tests or the files named.

Their packages are unpacked, not installed, with their own C library. The partners are the newest
releases that have a wheel for them. On the newest CPython some tests run with modules of the stable
ABI for CPythons with and without a GIL, abi3t, too.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import abi3
import debian
from common import ROOT, TESTS, build, ignore, loaded, output, pip, quiet, run, say, tool

WORK = ROOT / "build" / "new-pythons"
VERSIONS = ("3.14", "3.15")
SUITE = "sid"
#: What runs with abi3t: all that makes, keeps and frees objects of ours.
ABI3T_TESTS = [TESTS / name for name in ("array", "dlpack", "hostile", "limits")]
#: Heavy partners that have wheels for new CPythons: extensions of the tests are built with them.
BINDINGS = ("nanobind>=3.1", "pybind11>=3", "cython>=3.1", "setuptools")
PAGES = TESTS / "package" / "test_docs.py"  # pages show heavy partners
#: On CPython 3.14 Hypothesis warns of its own random numbers, once a thread. Without the category,
#: which two interpreters cannot import at a time.
HYPOTHESIS = "ignore:It looks like `register_random`"


def interpreter(version: str) -> Path:
    """Unpacks a CPython that finds its own C library, and its headers one another."""
    packages = [f"python{version}", f"libpython{version}-dev", "libstdc++6"]
    prefix = debian.unpacked(packages, [], "main", suite=SUITE)
    triple = f"{platform.machine()}-linux-gnu"
    python = prefix / "usr" / "bin" / f"python{version}"
    libraries = prefix / "usr" / "lib" / triple
    link = prefix / "usr" / "include" / f"python{version}" / triple
    if not link.exists():
        link.symlink_to(Path("..") / triple)
    (loader,) = libraries.glob("ld-linux-*.so.*")
    if output([tool("patchelf"), "--print-interpreter", python]) != str(loader):
        patch = [tool("patchelf"), "--set-interpreter", loader]
        quiet([*patch, "--force-rpath", "--set-rpath", libraries, python])
    return python


def environment(version: str) -> Path:
    """An environment with the tests' requirements, made anew: they have no lock."""
    python = interpreter(version)
    folder = WORK / version
    say(f"environment for {output([python, '--version'])}")
    run([python, "-m", "venv", "--clear", "--without-pip", folder])
    (wheel,) = (WORK / "pip").glob("pip-*.whl")
    inside = folder / "bin" / "python"
    quiet([inside, wheel / "pip", "install", "-qq", wheel])
    run([inside, abi3.REQUIREMENTS, "--install", "test"])
    pip(inside, "install", *BINDINGS)
    return inside


def run_tests(python: Path, files: Sequence[str | Path], variables: dict[str, str]) -> int:
    """Runs the whole suite but for heavy partners, which have no wheels for new CPythons, and for
    tests of the repository; or some files."""
    chosen = f"{abi3.LIGHT} and not repository"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--numprocesses=auto", "--maxprocesses=4", "--dist=worksteal"]
    command += files or ["-m", chosen, *ignore([PAGES]), "tests"]
    # By a variable, which reaches the tests that run pytest too.
    variables = variables | {"PYTEST_ADDOPTS": f"-W {shlex.quote(HYPOTHESIS)}"}
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


def build_abi3t(python: Path) -> dict[str, str]:
    """Builds the modules for abi3t; returns environment variables that load them."""
    options = ["-DREFARRAY_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    options += [f"-DSKBUILD_SABI_VERSION={VERSIONS[-1]}", "-DPy_TARGET_ABI3T=ON"]
    folder = build("new-pythons/abi3t", python=python, options=options)
    return loaded(folder, python=python)


def main(arguments: list[str]) -> int:
    versions = [each for each in arguments if each in VERSIONS] or list(VERSIONS)
    files = [each for each in arguments if each not in VERSIONS]
    pip(sys.executable, "download", "--no-deps", "--dest", WORK / "pip", "pip")
    try:
        pythons = {version: environment(version) for version in versions}
    except debian.Unavailable as error:
        sys.exit(f"the packages of the interpreters are unavailable: {error}")
    say(f"one abi3 wheel, built in isolation by {versions[0]}")
    wheel = abi3.build_wheel(pythons[versions[0]], [])
    run([sys.executable, "-m", "abi3audit", "--strict", "--summary", wheel])
    failed = []
    for version, python in pythons.items():
        pip(python, "install", "--no-deps", "--force-reinstall", wheel)
        say(f"{wheel.name} on {version}")
        if run_tests(python, files, dict(os.environ)) != 0:
            failed.append(version)
    if newest := pythons.get(VERSIONS[-1]):
        variables = build_abi3t(newest)
        say(f"modules for abi3t on {VERSIONS[-1]}")
        if run_tests(newest, files or ABI3T_TESTS, variables) != 0:
            failed.append("abi3t")
    if failed:
        say(f"failed on {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
