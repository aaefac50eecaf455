"""The builds of refarray to count and compare: plain CMake with fixed flags."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from .environment import DISTRIBUTIONS
from .producers import HEADERS

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools" / "gates"))
from common import configure, dlpack_include, quiet, tool, with_venv  # noqa: E402

WORK = ROOT / "build" / "bench-check"
ABI3_FLOOR = "3.12"
# Environment variables that could change the flags of CMakeLists.txt.
FOREIGN_FLAGS = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")
FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DREFARRAY_PYTHON=ON",
    "-DREFARRAY_TESTS=OFF",
    "-DREFARRAY_LTO=ON",  # as in the wheel
)
_FACTS = """
import json, sys
from refarray import _native
print(json.dumps([_native.__file__, _native._build_info()["abi"]]))
"""


@dataclass(frozen=True)
class Build:
    """One build: its interpreter and its folder for PYTHONPATH."""

    abi: str
    python: Path
    folder: Path

    def environment(self) -> dict[str, str]:
        """Environment variables that load this build and make counts reproducible."""
        return {
            **os.environ,
            "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            HEADERS: dlpack_include(),
        }


def build(abi: str, partners: tuple[str, ...] = ()) -> Build:
    """Builds the ABI `abi` as in _native._build_info() (cp311, cp312, abi3-cp312 …), for an
    interpreter with the partners."""
    version = f"3.{abi.rpartition('cp3')[2]}"
    python = interpreter(version, partners)
    folder = WORK / abi
    options = [f"-DPython_EXECUTABLE={python}", *FLAGS]
    if abi.startswith("abi3"):
        options.append(f"-DSKBUILD_SABI_VERSION={version}")
    environment = {key: value for key, value in os.environ.items() if key not in FOREIGN_FLAGS}
    configure(folder, *options, environment=environment)
    quiet([tool("cmake"), "--build", folder, "--target", "_native"], environment)
    made = Build(abi, python, folder / "python")
    verify(made)
    return made


def verify(made: Build) -> None:
    """Checks that a process loads the build in its folder."""
    command = [str(made.python), "-c", _FACTS]
    done = subprocess.run(
        command, env=made.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{made.abi} cannot be imported:\n{done.stderr}")
    print(f"{made.abi}: {done.stdout.strip()}", flush=True)
    if str(made.folder) not in done.stdout or f'"{made.abi}"' not in done.stdout:
        sys.exit(f"{made.abi} is not what {made.python} loaded: {done.stdout.strip()}")


def interpreter(version: str, partners: tuple[str, ...]) -> Path:
    """Returns this environment's interpreter, or that of an environment for another Python version
    with the same partner versions."""
    if version == ".".join(map(str, sys.version_info[:2])):
        return Path(sys.executable)
    folder = WORK / "environments" / version
    python = folder / "bin" / "python"
    if not python.exists():
        base = with_venv(version)
        if base is None:
            sys.exit(
                f"there is no CPython {version} on PATH or among pyenv's, which this build needs"
            )
        subprocess.run([base, "-m", "venv", folder], check=True)
    # A local version label ("+cpu") cannot be requested from an index.
    wanted = [
        f"{DISTRIBUTIONS[name]}=={metadata.version(DISTRIBUTIONS[name]).partition('+')[0]}"
        for name in partners
    ]
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, *wanted], check=True)
    return python
