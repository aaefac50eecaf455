"""Environments of other projects' released packages, in build/partners, with refarray's wheel."""

from __future__ import annotations

import functools
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from common import ROOT, pip, run, say, with_venv

WORK = ROOT / "build" / "partners"
PYTHON = "3.13"
"""The CPython of an environment that names none: it has wheels of the newest releases."""
TOOLS = ["pytest>=8"]
# Only what names it may install PyTorch, whose wheel may install CUDA.
UNWANTED = "torch"


@dataclass(frozen=True)
class Environment:
    """What is installed in the folder of this name: `requires`, then `no_deps` without what they
    require, then refarray. The `variables` are of its processes."""

    name: str
    requires: list[str]
    no_deps: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    version: str = PYTHON

    @property
    def folder(self) -> Path:
        return WORK / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def interpreter(version: str) -> Path:
    """The CPython of that version, or the next older one that refarray supports and that is here:
    the exact requirements of partners have wheels for all of them."""
    for minor in range(int(version.removeprefix("3.")), 10, -1):
        if (found := with_venv(f"3.{minor}")) is not None:
            return found
    raise SystemExit(f"no Python {version} with venv was found, which these partners need")


def make(environment: Environment) -> None:
    """Creates the environment, again if its requirements have changed."""
    stamp = environment.folder / "ready"
    wanted = repr((environment.version, environment.requires, environment.no_deps, TOOLS))
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    say(f"environment of {environment.name}: {', '.join(environment.requires)}")
    base = interpreter(environment.version)
    run([base, "-m", "venv", "--clear", environment.folder])
    pip(environment.python, "install", *TOOLS, *environment.requires)
    if environment.no_deps:
        pip(environment.python, "install", "--no-deps", *environment.no_deps)
    asked = any(each.startswith(f"{UNWANTED}==") for each in environment.requires)
    if not asked and version(environment, UNWANTED) is not None:
        raise SystemExit(
            f"{environment.name} has installed {UNWANTED}: list its requirements explicitly"
        )
    stamp.write_text(wanted, encoding="utf-8")


@functools.cache
def build_wheel(version: str) -> Path:
    """Builds refarray's wheel for a CPython."""
    say(f"the wheel of refarray for Python {version}")
    dist = WORK / "dist" / version
    shutil.rmtree(dist, ignore_errors=True)
    pip(interpreter(version), "wheel", "--no-deps", "--wheel-dir", dist, ROOT)
    (wheel,) = dist.glob("refarray-*.whl")
    return wheel


def install_refarray(environment: Environment) -> None:
    wheel = build_wheel(environment.version)
    pip(environment.python, "install", "--no-deps", "--force-reinstall", wheel)


def version(environment: Environment, distribution: str) -> str | None:
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    done = subprocess.run(
        [environment.python, "-c", code], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None
