"""Finds the simulated drivers: installed with this package, or compiled once into a cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGE = Path(__file__).resolve().parent
SOURCE = PACKAGE.parent


def tool(name: str) -> str:
    """The program from this interpreter's environment, else from PATH."""
    in_environment = shutil.which(name, path=str(Path(sys.executable).parent))
    found = in_environment or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"fakegpu needs {name} to build the simulated drivers")
    return found


def sources() -> list[Path]:
    """The build's inputs, including refarray's kernels if this is a checkout of the repository."""
    repository = SOURCE.parent
    folders = [
        *sorted((SOURCE / "src").iterdir()),
        SOURCE / "plugins",
        repository / "src" / "runtime" / "kernels",
        repository / "src" / "core",
        repository / "src" / "core" / "kernels",
        repository / "include" / "refarray" / "core",
    ]
    found = [path for folder in folders for path in sorted(folder.glob("*.*")) if path.is_file()]
    host_kernels = repository / "tests" / "cpp" / "host_kernels.hpp"
    return [SOURCE / "CMakeLists.txt", *found, *filter(Path.is_file, [host_kernels])]


def digest() -> str:
    flags = (os.environ.get("CXX", ""), os.environ.get("CXXFLAGS", ""))
    result = hashlib.sha256(repr((flags, str(SOURCE))).encode())
    for path in sources():
        result.update(path.name.encode() + path.read_bytes())
    return result.hexdigest()[:20]


def build(target: Path) -> None:
    """Compiles in a folder that does not stay: objects are fifteen times the libraries' size."""
    with TemporaryDirectory(dir=target.parent, prefix="build-") as scratch:
        compile_drivers(Path(scratch))
        (Path(scratch) / "installed" / "fakegpu" / "lib").rename(target)


def compile_drivers(folder: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    ninja = f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"
    steps = (
        [tool("cmake"), "-S", str(SOURCE), "-B", str(folder), "-G", "Ninja", ninja],
        [tool("cmake"), "--build", str(folder), "-j", "2"],
        [tool("cmake"), "--install", str(folder), "--prefix", str(folder / "installed")],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RuntimeError(f"{' '.join(step)} failed:\n{done.stdout}\n{done.stderr}")


@cache
def folder() -> Path:
    """The folder of libfakegpu.so, with a subfolder per driver."""
    installed = PACKAGE / "lib"
    if installed.is_dir():
        return installed
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fakegpu"
    base.mkdir(parents=True, exist_ok=True)
    target = base / digest()
    with (base / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            build(target)
    return target
