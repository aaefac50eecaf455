#!/usr/bin/env python3
"""Builds the sdist and a wheel for each kind of CPython on this machine into dist/, without
containers, audits them, and prints their tags, sizes and the glibc that they need.

`wheels FOLDER` takes the kernels from another build of the same sources; see REFARRAY_OBJECTS in
CMakeLists.txt. Without it they are compiled once for all wheels."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools" / "gates"), str(Path(__file__).parent)]

import old_glibc  # noqa: E402
from common import configure, output, quiet, run, say, tool  # noqa: E402
from wheel_builder import WORK, build_wheel, interpreters  # noqa: E402

DIST = ROOT / "dist"
POLICY = f"manylinux_{old_glibc.LIMIT[0]}_{old_glibc.LIMIT[1]}_{platform.machine()}"
OBJECTS = r"refarray_(?:kernels|math|operations|products)_\w+|refarray_decompositions"


def compiled_objects() -> Path:
    """Compiles the kernels and decompositions, which know no Python, once for all wheels."""
    folder = ROOT / "build" / "wheel-objects"
    say("kernels and decompositions, once for all wheels")
    configure(folder, "-DREFARRAY_TESTS=OFF")
    listed = output([tool("ninja"), "-C", folder, "-t", "targets", "all"])
    targets = sorted(set(re.findall(rf"^({OBJECTS}): phony", listed, re.MULTILINE)))
    if not targets:
        sys.exit(f"the build in {folder} has no targets {OBJECTS}")
    quiet([tool("ninja"), "-C", folder, *targets])
    return folder


def audit(wheel: Path) -> Path:
    """Gives the wheel its platform tag; fails if it needs more than the policy allows."""
    before = set(DIST.glob("*.whl"))
    folder = Path(tool("patchelf")).parent  # auditwheel looks for it on PATH
    with_patchelf = {**os.environ, "PATH": os.pathsep.join([str(folder), os.environ["PATH"]])}
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", POLICY, "-w", DIST, wheel]
    quiet(command, with_patchelf)
    (repaired,) = set(DIST.glob("*.whl")) - before
    if "-abi3-" in repaired.name:
        run([sys.executable, "-m", "abi3audit", "--strict", "--summary", repaired])
    return repaired


def glibc_floor(wheel: Path) -> str:
    """The newest version of glibc that a module of the wheel asks for."""
    needed: set[tuple[int, ...]] = set()
    folder = WORK / "unpacked" / wheel.stem
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        modules = [name for name in archive.namelist() if name.endswith(".so")]
        archive.extractall(folder, modules)
    for module in modules:
        symbols = subprocess.run(
            ["nm", "-D", "--undefined-only", folder / module],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for name, version in re.findall(r" [Uw] (\S+?)(?:@+(\S+))?$", symbols, re.MULTILINE):
            if found := old_glibc.number(version):
                needed.add(found)
            elif not version and not re.match(r"_?Py|_ITM_|__gmon_start__$|__cxa_finalize$", name):
                sys.exit(f"{module} of {wheel.name} uses {name} without a version")
    if not needed:
        sys.exit(f"no module of {wheel.name} uses glibc")
    return ".".join(map(str, max(needed)))


def print_wheels(paths: list[Path]) -> None:
    say("in dist/")
    for path in paths:
        size = f"{path.stat().st_size / 1e6:.2f} MB"
        if path.suffix != ".whl":
            print(f"{path.name}  {size}")
            continue
        with zipfile.ZipFile(path) as archive:
            contents = archive.infolist()
        unpacked = sum(each.file_size for each in contents) / 1e6
        files = f"{len(contents)} files of {unpacked:.1f} MB"
        print(f"{path.name}  {size}, {files}, glibc {glibc_floor(path)}")


def main(arguments: list[str]) -> None:
    os.chdir(ROOT)
    found = interpreters()
    if not found:
        sys.exit("no interpreter was found that a wheel can be built with")
    shutil.rmtree(DIST, ignore_errors=True)
    say("sdist")
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation"]
    quiet([*build, "--skip-dependency-check", "--outdir", DIST, ROOT])
    objects = Path(arguments[0]).absolute() if arguments else compiled_objects()
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    libraries = old_glibc.link_libraries(compiler, WORK / "old-glibc")
    defined = {
        "REFARRAY_OBJECTS": objects,
        "CMAKE_CXX_STANDARD_LIBRARIES": shlex.join(libraries),
    }
    wheels = [audit(build_wheel(kind, python, **defined)) for kind, python in found.items()]
    print_wheels([*DIST.glob("*.tar.gz"), *wheels])


if __name__ == "__main__":
    main(sys.argv[1:])
