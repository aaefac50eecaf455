#!/usr/bin/env python3
"""The gate `aarch64`: the extension and the C++ tests, built by a cross compiler, under emulation
with an arm64 Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from common import ROOT, TESTS, configure, dlpack_include, located, output, quiet, run, say, tool
from cross import CPP, Cross, cross, is_aarch64, pip_platform

FOLDER = ROOT / "build" / "aarch64"
#: Tests that start no other process, which the emulator cannot.
FILES = (
    "test_same_bits.py",
    "test_export.py",
    "test_copying.py",
    "test_astype.py",
    "test_convert.py",
    "test_elements.py",
    "test_assignment.py",
    "test_indexing.py",
)
#: The tests in FILES that start one; they are left out.
IN_PROCESSES = (
    "test_settings_from_the_environment",
    "test_threaded_copies_work_before_and_after_a_fork",
)
REQUIREMENTS = ("pytest>=8", "numpy>=2.2.5", "ml_dtypes>=0.5", "hypothesis>=6")
#: Kills processes that share arrays. arena_test is left out: the emulator ignores RLIMIT_AS and
#: makes every clone() a fork(), so that two of its cases fail.
KILL_TEST = "kill_test"
#: kill_test waits for orphans, but the emulator does not pass PR_SET_CHILD_SUBREAPER to the kernel.
#: It is set here instead, and stays set when the emulator is executed.
ADOPT_ORPHANS = """
import ctypes, os, sys
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
PROBE = "import platform, refarray; print(platform.machine(), refarray._native.__file__)"


def build(target: Cross) -> None:
    say("build in build/aarch64, by a cross compiler")
    options = ("-DREFARRAY_PYTHON=ON", "-DREFARRAY_TESTS=ON", "-DCMAKE_BUILD_TYPE=Release")
    configure(FOLDER, *options, *target.cmake(), environment=target.environment)
    build = [tool("cmake"), "--build", FOLDER, "--target", "_native", "_adversary", *CPP, KILL_TEST]
    quiet([*build, "--", "--quiet"], target.environment)


def site(target: Cross) -> Path:
    """A folder with the requirements' wheels for the arm64 Python."""
    folder = FOLDER / f"site-{target.version}"
    stamp = folder / "ready"
    wanted = repr(REQUIREMENTS)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        say("wheels for aarch64")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
        where = ["--upgrade", "--target", folder]
        run([*pip, *where, *pip_platform(target.version), *REQUIREMENTS])
        stamp.write_text(wanted, encoding="utf-8")
    return folder


def check_machine(target: Cross) -> None:
    """Exits if the module was built for another machine."""
    (module,) = (FOLDER / "python" / "refarray").glob("_native*.so")
    header = output([target.readelf, "-h", module], target.environment)
    if not is_aarch64(header):
        sys.exit(f"{module} is not for aarch64:\n{header}")


def environment(target: Cross) -> dict[str, str]:
    include = target.sysroot / "usr" / "include" / f"python{target.version}"
    return {
        **target.environment,
        "PYTHONPATH": os.pathsep.join([str(FOLDER / "python"), str(site(target))]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(FOLDER / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
        "DLPACK_INCLUDE_DIR": dlpack_include(),
        # The adversary is compiled for the emulated Python too.
        "CXX": str(target.compiler),
        "CXXFLAGS": f"-isystem{include}",
    }


def files(arguments: list[str]) -> list[str]:
    return [str(path) for path in (arguments or map(located, FILES))]


def main(arguments: list[str]) -> None:
    target = cross()
    build(target)
    check_machine(target)
    plain = environment(target)
    python = [*target.emulator, str(target.python)]
    run([*python, "-c", PROBE], plain)
    if not arguments:
        say("C++ tests under emulation")
        named = f"^({'|'.join(CPP)})$"
        run([tool("ctest"), "--test-dir", FOLDER, "--output-on-failure", "-R", named])
        kill = [*target.emulator, FOLDER / "tests" / "cpp" / KILL_TEST]
        run([sys.executable, "-c", ADOPT_ORPHANS, *kill], {**plain, "KILLS": "1000"})
    quiet([*python, TESTS / "native" / "build.py"], plain)
    say("pytest under emulation")
    pytest = [*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    run([*pytest, "-k", f"not ({' or '.join(IN_PROCESSES)})", *files(arguments)], plain)


if __name__ == "__main__":
    os.chdir(ROOT)
    main(sys.argv[1:])
