"""Builds a wheel in an environment that has only the build tools, with one of the CPythons on this
machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import common
from common import ROOT, headers, run, say
from interpreter import cache_folder

WORK = ROOT / "build" / "wheels"
#: The kinds of wheels: names of interpreters that build one. The first found of each is used.
KINDS = {
    "abi3": tuple(f"python3.{minor}" for minor in range(12, 20)),
    "cp311": ("python3.11",),
    "cp313t": ("python3.13t",),
    "cp314t": ("python3.14t",),
}
PROBE = """
import sys, sysconfig
free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print(f"python{sys.version_info.major}.{sys.version_info.minor}{free}")
print(sys.executable)
"""
#: What a wheel's build needs beside headers; with `--no-build-isolation` nothing else is installed.
TOOLS = ("scikit-build-core>=1.1,<2", "cmake>=3.26", "ninja")


def candidates(name: str) -> Iterator[Path]:
    """Those of common.candidates(); for a free-threaded one also FREETHREADED, and the one that the
    gate test-freethreaded has built."""
    yield from common.candidates(name)
    if name.endswith("t"):
        if given := os.environ.get("FREETHREADED"):
            yield Path(shutil.which(given) or given)
        yield from sorted(cache_folder().glob(f"plain-*/bin/{name}"))


def is_ready(python: Path, name: str) -> Path | None:
    """The interpreter's own path if it runs and is of that name; a pyenv shim may do neither."""
    try:
        probe = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, check=False)
    except OSError:
        return None
    lines = probe.stdout.splitlines()
    return Path(lines[1]) if probe.returncode == 0 and lines[0] == name else None


def interpreters() -> dict[str, Path]:
    found = {}
    for kind, names in KINDS.items():
        ready = (is_ready(path, name) for name in names for path in candidates(name))
        first = next(filter(None, ready), None)
        if first is None:
            say(f"no {kind} wheel: there is no {' or '.join(names[:2])} here")
        else:
            found[kind] = first
    return found


def environment(kind: str, python: Path) -> Path:
    """An environment with the build tools; a free-threaded interpreter may have no pip."""
    folder = WORK / "env" / kind
    run([python, "-m", "venv", "--clear", "--without-pip", folder])
    own = folder / "bin" / "python"
    pip(own, "install", *TOOLS)
    return own


def pip(python: Path, *arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    run([*command, "-qq", *arguments])


def build_wheel(kind: str, python: Path, **defined: str | Path) -> Path:
    """Builds a wheel with the build requirements' headers; `defined` are variables of CMake."""
    say(f"{kind}: {python.name}")
    folder = WORK / "raw" / kind
    shutil.rmtree(folder, ignore_errors=True)
    variables = [*headers(), *(f"-D{name}={value}" for name, value in defined.items())]
    given = [f"--config-settings=cmake.define.{each.removeprefix('-D')}" for each in variables]
    given.append(f"--config-settings=build-dir={ROOT}/build/wheel-{kind}")
    own = environment(kind, python)
    pip(own, "wheel", "--no-deps", "--no-build-isolation", *given, "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("refarray-*.whl")
    return wheel
