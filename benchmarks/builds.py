"""The builds of refarray that are counted and compared: made by plain CMake with fixed flags."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from .environment import DISTRIBUTIONS

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "bench-check"
ABI3_FLOOR = "3.12"
# What a machine's settings could add to the flags of CMakeLists.txt.
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


class Unbuilt(Exception):
    """Why a build cannot be made here."""


@dataclass(frozen=True)
class Build:
    """One build: its interpreter, and the folder to be named in PYTHONPATH."""

    abi: str
    python: Path
    folder: Path

    def environment(self) -> dict[str, str]:
        """Variables of a process that loads this build, and counts the same in every run."""
        return {
            **os.environ,
            "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }


def build(abi: str, partners: tuple[str, ...] = ()) -> Build:
    """Makes the build that _native._build_info() calls `abi` (cp311, cp312, abi3-cp312 …) for an
    interpreter that has the partners."""
    version = f"3.{abi.rpartition('cp3')[2]}"
    python = interpreter(version, partners)
    folder = WORK / abi
    options = [f"-DPython_EXECUTABLE={python}", f"-DDLPACK_INCLUDE_DIR={dlpack_folder()}", *FLAGS]
    if abi.startswith("abi3"):
        options.append(f"-DSKBUILD_SABI_VERSION={version}")
    tools = Path(sys.executable).parent
    environment = {key: value for key, value in os.environ.items() if key not in FOREIGN_FLAGS}
    ninja = f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"
    cmake = [str(tools / "cmake"), "-G", "Ninja", ninja]
    run([*cmake, "-S", str(ROOT), "-B", str(folder), *options], environment)
    run([str(tools / "cmake"), "--build", str(folder), "--target", "_native"], environment)
    made = Build(abi, python, folder / "python")
    verify(made)
    return made


def run(command: list[str], environment: dict[str, str]) -> None:
    """Quiet unless it fails."""
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Unbuilt(f"{' '.join(command[:2])} … failed:\n{done.stdout}")


def verify(made: Build) -> None:
    """The build in its folder is the one that a process loads."""
    command = [str(made.python), "-c", _FACTS]
    done = subprocess.run(
        command, env=made.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Unbuilt(f"{made.abi} cannot be imported:\n{done.stderr}")
    print(f"{made.abi}: {done.stdout.strip()}", flush=True)
    if str(made.folder) not in done.stdout or f'"{made.abi}"' not in done.stdout:
        raise Unbuilt(f"{made.abi} is not what {made.python} loaded: {done.stdout.strip()}")


def dlpack_folder() -> str:
    """The folder of the build requirement's dlpack.h."""
    command = [str(Path(sys.executable).parent / "tvm-ffi-config"), "--dlpack-includedir"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def interpreter(version: str, partners: tuple[str, ...]) -> Path:
    """This environment's interpreter, or an environment for another version, in which the partners
    have the versions that they have here."""
    if version == ".".join(map(str, sys.version_info[:2])):
        return Path(sys.executable)
    folder = WORK / "environments" / version
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([str(find_interpreter(version)), "-m", "venv", str(folder)], check=True)
    # A local version ("+cpu") says where this environment's came from, not what to ask for.
    wanted = [
        f"{DISTRIBUTIONS[name]}=={metadata.version(DISTRIBUTIONS[name]).partition('+')[0]}"
        for name in partners
    ]
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, *wanted], check=True)
    return python


def find_interpreter(version: str) -> Path:
    """The first CPython of that version that runs, on PATH or among pyenv's."""
    found = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [Path(found)] if found else []
    places += sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)
    for place in places:
        probe = [str(place), "-c", "import venv, ensurepip"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return place
    raise Unbuilt(f"there is no CPython {version} on PATH or among pyenv's, which this build needs")
