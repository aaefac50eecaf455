"""Builds a CPython for Linux with musl from the distribution's sources, with zlib and libffi
inside, and caches it. It runs on this machine, with musl's loader from a package."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import debian
from common import pip, quiet, say
from zig import Zig

VERSION = "3.13"
#: The source packages and the release of Debian that has them: served, and with a `configure`.
SOURCES = {"zlib": "bookworm", "libffi": "bookworm", f"python{VERSION}": "trixie"}
#: Parts of Python that take long and no test needs.
LEFT_OUT = ("--without-ensurepip", "--with-pkg-config=no")
BUILD_TOOLS = ("pip", "scikit-build-core", "setuptools")
#: zig makes a warning an error: CPython shows when it was compiled.
FLAGS = ("-O2", "-fno-sanitize=undefined", "-Wno-date-time")
PROBE = "import ctypes, sysconfig, zlib; print(sysconfig.get_config_var('EXT_SUFFIX'))"


def loader(platform: Zig) -> Path:
    """musl itself, at least as new as the one that zig links for."""
    packages = debian.unpacked([], ["musl"], "main", suite="sid")
    (path,) = packages.rglob(f"ld-musl-{platform.processor}.so.1")
    return path


def fetch(name: str, work: Path) -> Path:
    """Downloads and unpacks the upstream sources of a package; returns their folder."""
    folder = work / name
    folder.mkdir(parents=True)
    debian.Apt(folder / "apt", suite=SOURCES[name], kind="deb-src").run(
        "source", "--download-only", name, cwd=folder
    )
    (archive,) = (path for path in folder.glob("*.orig.tar.*") if path.suffix != ".asc")
    subprocess.run(["tar", "xf", archive], check=True, cwd=folder)
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir() and path.name != "apt")
    return unpacked


def compile_package(sources: Path, options: list[str], variables: dict[str, str]) -> None:
    log = sources.with_suffix(".log")
    with log.open("wb") as output:
        for command in (["./configure", *options], ["make", "-j2"], ["make", "install"]):
            done = subprocess.run(
                command,
                cwd=sources,
                env={**os.environ, **variables},
                stdout=output,
                stderr=output,
                check=False,
            )
            if done.returncode != 0:
                raise SystemExit(f"{shlex.join(command)} failed; see {log}")


def build(platform: Zig, prefix: Path) -> None:
    """Configures, compiles and installs the two libraries and CPython."""
    work = prefix.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    say(f"CPython {VERSION} for {platform.name}, from source: some minutes")
    libraries, host = work / "libraries", f"{platform.processor}-pc-linux-musl"
    tools = {
        "CC": platform.c_compiler("-dynamic", f"-Wl,--dynamic-linker={loader(platform)}"),
        "AR": str(platform.folder / "ar"),
        "RANLIB": str(platform.folder / "ranlib"),
        "CFLAGS": shlex.join(FLAGS),
    }
    compile_package(fetch("zlib", work), [f"--prefix={libraries}", "--static"], tools)
    static = [
        f"--prefix={libraries}",
        f"--host={host}",
        "--disable-shared",
        "--disable-exec-static-tramp",
    ]
    compile_package(fetch("libffi", work), static, tools)
    # configure knows musl by a macro of its <stdarg.h>; zig takes clang's.
    tools["CPP"] = platform.c_compiler("-E", "-D__DEFINED_va_list")
    found = {"CPPFLAGS": f"-I{libraries}/include", "LDFLAGS": f"-L{libraries}/lib"}
    options = [f"--prefix={prefix}", f"--build={host}", *LEFT_OUT]
    compile_package(fetch(f"python{VERSION}", work), options, {**tools, **found})
    shutil.rmtree(work)
    (prefix / "ready").touch()


def musl_python(platform: Zig) -> Path:
    """Returns the interpreter; builds it if necessary."""
    recipe = repr((VERSION, SOURCES, LEFT_OUT, FLAGS, loader(platform)))
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:12]
    prefix = debian.cache_folder("musl") / f"{platform.processor}-{digest}"
    with debian.locked(prefix.with_suffix(".lock")):
        if not (prefix / "ready").is_file():
            build(platform, prefix)
    python = prefix / "bin" / f"python{VERSION}"
    subprocess.run([python, "-c", PROBE], check=True)
    return python


def build_from_source(platform: Zig, python: Path, package: str, site: Path) -> Path:
    """Builds the wheel of a package that has none for musl, with what is installed in `site`."""
    work = platform.folder / package
    shutil.rmtree(work, ignore_errors=True)
    pip(sys.executable, "download", "--no-deps", f"--no-binary={package}", "--dest", work, package)
    pip(sys.executable, "install", "--target", work / "tools", *BUILD_TOOLS)
    (sources,) = work.glob("*.tar.gz")
    command = [python, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(work / "tools"), str(site)]),
        "CXX": str(platform.folder / "c++"),
    }
    quiet([*command, "--no-index", "--wheel-dir", work, sources], variables)
    (wheel,) = work.glob("*.whl")
    return wheel
