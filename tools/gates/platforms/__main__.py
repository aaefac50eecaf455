#!/usr/bin/env python3
"""The gate `platforms`: other systems, processors and compilers, from this machine.

For macOS, Windows and Linux with musl, everything is compiled by zig's clang and linked, as the
wheel is optimised; the modules' symbols are audited, and the wheel gets its tag. The C++ tests for
Windows run under wine, those for musl as they are, those of another processor under emulation, and
on this one the whole suite on a CPython built with musl. clang with libc++ compiles the layers and
their tests. `platforms NAME...` tries some; a table at the end says what was done.
"""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "aarch64"))
sys.path.append(str(Path(__file__).resolve().parents[2] / "wheels"))

import abi3
import compilers
import debian
import i386_python
import windows
import windows_python
from common import (
    ROOT,
    TESTS,
    dlpack_include,
    ignore,
    output,
    pip,
    quiet,
    run,
    run_pytest,
    say,
    tool,
)
from cross import CPP
from musl_python import VERSION, build_from_source, musl_python
from wheel_builder import build_wheel, interpreters
from zig import WORK, Zig

COLUMNS = ("compiled", "linked", "audited", "C++ tests", "Python tests")
#: The packages without a wheel for a platform. Anything else that is missing there is a failure.
NO_WHEEL = Path(__file__).with_name("no_wheel.toml")
#: Tests that count glibc's heap or make its allocations fail: musl has neither mallinfo2() nor
#: backtrace(). The last two open a simulated driver by its name, which musl does not find.
NEED_GLIBC = (
    *("allocation_failures", "before_anything_is_allocated", "failure_of_any", "the_sweep"),
    *("finds_no_memory", "repeated_use_leaves_no_memory", "example_fails_for", "example_on_other"),
)
ORACLE = "ml_dtypes"  # has no wheel for musl; too many tests take their expected values from it
#: Pages and extensions of heavy partners.
NEED_PARTNERS = [TESTS / "package" / f"test_{name}.py" for name in ("docs", "extensions")]
Row = dict[str, str]


def audit_symbols(platform: Zig, module: Path) -> None:
    """Fails if a module exports more than its entry point, or needs what neither CPython's stable
    ABI nor the system has."""
    entry = f"PyInit_{module.name.split('.')[0]}"
    exported = platform.symbols(module, "--extern-only", "--defined-only")
    if exported != {entry}:
        sys.exit(f"{module.name} exports {', '.join(sorted(exported ^ {entry}))}")
    needed = platform.symbols(module, "--undefined-only", "--no-weak") - platform.system_symbols()
    if foreign := {name for name in needed if not name.startswith(("Py", "_Py"))}:
        sys.exit(f"{module.name} needs {', '.join(sorted(foreign))}")


def audit(platform: Zig, wheel: Path, launcher: str | Path) -> str:
    folder = WORK / platform.name / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith((".so", ".pyd"))]
        archive.extractall(folder, names)
    modules = [folder / name for name in names]
    for module in modules:
        if platform.is_windows:
            windows.audit(module)
        else:
            audit_symbols(platform, module)
    if platform.is_windows:
        windows.load(modules, platform.c_compiler(), Path(launcher))
    run([sys.executable, "-m", "abi3audit", "--strict", "--summary", wheel])
    return f"{len(modules)} modules"


def run_cpp_tests(platform: Zig, tree: Path) -> str:
    """Runs the C++ tests; under emulation those of code that depends on the processor."""
    chosen = ["-R", f"^({'|'.join(CPP)})$"] if platform.emulator() else []
    ctest = [tool("ctest"), "--test-dir", tree, *chosen, "-E", "needs_no_python"]
    quiet([*ctest, "--output-on-failure"])
    total = output([*ctest, "--show-only"]).splitlines()[-1]
    return f"{total.split()[-1]} pass"


def install_requirements(platform: Zig, folder: Path) -> str:
    """Installs the wheels of the tests' requirements for this platform; returns pytest's choice of
    tests, without those of partners that have none."""
    left = tomllib.loads(NO_WHEEL.read_text(encoding="utf-8"))[platform.tag]["partners"]
    wanted = output([sys.executable, ROOT / "tools" / "requirements.py", "test"]).splitlines()
    chosen = [each for each in wanted if not each.startswith((*left.values(), ORACLE))]
    where = ["--platform", platform.tag, "--python-version", VERSION, "--implementation", "cp"]
    where += ["--abi", f"cp{VERSION.replace('.', '')}", "--abi", "abi3", "--abi", "none"]
    pip(sys.executable, "install", "--target", folder, "--only-binary=:all:", *where, *chosen)
    names = sorted({*left, *abi3.HEAVY, "repository"})
    return " and ".join(f"not {each}" for each in names)


def run_python_tests(platform: Zig, wheel: Path) -> str:
    """Runs the whole suite but for heavy partners on a CPython with this C library."""
    python = musl_python(platform)
    folder = WORK / platform.name / "site"
    shutil.rmtree(folder, ignore_errors=True)
    choice = install_requirements(platform, folder)
    for each in (wheel, build_from_source(platform, python, ORACLE, folder)):
        with zipfile.ZipFile(each) as archive:
            archive.extractall(folder)
    say(f"{platform.name}: pytest")
    variables = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "DLPACK_INCLUDE_DIR": dlpack_include(),
        "CXX": str(platform.folder / "c++"),
        "XDG_CACHE_HOME": str(WORK / platform.name / "cache"),
    }
    options = ["-m", choice, "--numprocesses=auto", "--maxprocesses=4", "--dist=worksteal"]
    options += ["-k", f"not ({' or '.join(NEED_GLIBC)})"]
    log = WORK / platform.name / "pytest.log"
    return run_pytest(python, log, variables, *options, *ignore(NEED_PARTNERS), "tests")


def prepare_windows(platform: Zig) -> tuple[Path, Path, str]:
    """The toolchain, what runs the tests, and what was compiled with it: the public headers."""
    toolchain = platform.write_toolchain(windows.python())
    say(f"{platform.name}: the public headers")
    headers = compilers.compile_headers(compilers.Compiler(platform.name, platform.folder / "c++"))
    return toolchain, windows.write_launcher(platform.folder), f", {headers} headers"


def try_zig(platform: Zig) -> Row:
    kind = platform.name
    toolchain, launcher, headers = (
        prepare_windows(platform)
        if platform.is_windows
        else (platform.write_toolchain(), platform.emulator(), "")
    )
    say(f"{platform.name}: a wheel")
    wheel = build_wheel(
        kind,
        interpreters()["abi3"],
        CMAKE_TOOLCHAIN_FILE=toolchain,
        REFARRAY_DEVELOPER="ON",
        REFARRAY_LTO="OFF",
        REFARRAY_TESTS="OFF" if platform.is_apple else "ON",
        CMAKE_TEST_LAUNCHER=launcher,
    )
    tree = ROOT / "build" / f"wheel-{kind}"
    quiet(
        [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", platform.tag, wheel]
    )
    (wheel,) = wheel.parent.glob("*.whl")
    row = {
        "compiled": f"{len([*tree.rglob('*.o'), *tree.rglob('*.obj')])} objects{headers}",
        "linked": f"{wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB",
        "audited": audit(platform, wheel, launcher),
    }
    if not platform.is_apple:
        row["C++ tests"] = run_cpp_tests(platform, tree)
    if platform.system == "linux-musl" and not platform.emulator():
        row["Python tests"] = run_python_tests(platform, wheel)
    if platform.is_windows:
        row["Python tests"] = windows_python.run_python_tests(platform, wheel, Path(launcher))
    return row


def try_i686() -> Row:
    # SSE rounds once, the x87 unit twice.
    compiler = compilers.gcc("i686", "-msse2", "-mfpmath=sse", emulated=False)
    return compilers.try_compiler(compiler) | {"Python tests": i386_python.run_tests(compiler)}


ZIG = [
    Zig("aarch64", "macos"),
    Zig("x86_64", "windows"),
    Zig("x86_64", "macos"),
    Zig("x86_64", "linux-musl"),
    Zig("aarch64", "linux-musl"),
]
PLATFORMS: dict[str, Callable[[], Row]] = {
    "clang": lambda: compilers.try_compiler(compilers.clang()),
    **{each.name: partial(try_zig, each) for each in ZIG},
    "s390x": lambda: compilers.try_compiler(compilers.gcc("s390x", emulated=True)),
    "i686": try_i686,
}


def main(names: list[str]) -> None:
    if unknown := set(names) - PLATFORMS.keys():
        sys.exit(f"no platform {', '.join(unknown)}; there are {', '.join(PLATFORMS)}")
    try:
        rows = {name: PLATFORMS[name]() for name in names or PLATFORMS}
    except debian.Unavailable as error:
        sys.exit(f"the packages of the compilers are unavailable: {error}")
    say("what was done")
    print(f"| platform | {' | '.join(COLUMNS)} |")
    print(f"| --- |{' --- |' * len(COLUMNS)}")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(row.get(column, '') for column in COLUMNS)} |")


if __name__ == "__main__":
    os.chdir(ROOT)
    main(sys.argv[1:])
