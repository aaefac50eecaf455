"""Shared by the gates: a build below build/<gate>, the adversary compiled with the same flags, and
the check that a run has loaded the extension module of that build."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
LOADED = "import refarray, sys; print('== loaded', refarray._native.__file__)"


def located(name: str) -> Path:
    """Finds a test file or folder by name anywhere in `tests`."""
    direct = TESTS / name
    if direct.exists():
        return direct
    (found,) = TESTS.glob(f"*/{name}")
    return found


def marked(*names: str) -> list[Path]:
    """Finds the test files with one of these markers. They are not imported: they may need packages
    that the gate's environment lacks."""
    marks = re.compile(rf"pytest\.mark\.(?:{'|'.join(names)})\b")
    return [
        path for path in sorted(TESTS.rglob("test_*.py")) if marks.search(path.read_text("utf-8"))
    ]


def ignore(paths: Iterable[Path]) -> list[str]:
    return [f"--ignore={path}" for path in paths]


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def tool(name: str) -> str:
    """Finds a program in this environment, otherwise on PATH."""
    in_environment = Path(sys.executable).parent / name
    found = str(in_environment) if in_environment.is_file() else shutil.which(name)
    if found is None:
        sys.exit(f"{name} is neither in {in_environment.parent} nor on PATH")
    return found


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
    """Runs a command; exits if it fails."""
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if status != 0:
        sys.exit(f"exit status {status}: {' '.join(map(str, command))}")


def run_all(
    commands: Mapping[str, Sequence[str | Path]], environment: Mapping[str, str] | None = None
) -> None:
    """Runs all commands, printing their names, even after a failure; exits if any failed."""
    failed = []
    for name, command in commands.items():
        say(name)
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if status != 0:
            failed.append(f"exit status {status}: {name}")
    if failed:
        sys.exit("\n".join(failed))


#: pytest with the interpreter of this environment.
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def run_pytest(
    python: str | Path,
    log: Path,
    environment: Mapping[str, str],
    *options: str | Path,
) -> str:
    """Runs pytest with another interpreter, its output in `log`; returns its last line."""
    command = [python, *PYTEST[1:], *options]
    with log.open("w", encoding="utf-8") as into:
        status = subprocess.run(command, cwd=ROOT, env=environment, stdout=into, check=False)
    text = log.read_text(encoding="utf-8")
    print(text[-20_000:] if status.returncode else text.splitlines()[-1], flush=True)
    if status.returncode:
        sys.exit(f"failed; the output is in {log}")
    return text.splitlines()[-1]


def quiet(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
    """Like run(), but prints the output only on failure."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}exit status {done.returncode}: {command[0]}")


def output(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> str:
    """What a command prints, which must succeed."""
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def dlpack_include() -> str:
    """Returns the include folder of the dlpack.h that this environment builds with."""
    return output([tool("tvm-ffi-config"), "--dlpack-includedir"])


def eigen_include() -> str:
    """Returns the include folder of the build requirement's Eigen."""
    return f"{sysconfig.get_path('purelib')}/cmeel.prefix/include/eigen3"


def headers() -> list[str]:
    """CMake's options for both."""
    return [
        f"-DDLPACK_INCLUDE_DIR={dlpack_include()}",
        f"-DEIGEN_INCLUDE_DIR={eigen_include()}",
    ]


def configure(
    folder: Path,
    *options: str,
    source: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Runs CMake with this environment's tools and headers."""
    cmake = [tool("cmake"), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
    quiet([*cmake, "-S", source, "-B", folder, *headers(), *options], environment)


def build(
    gate: str,
    *,
    sanitize: str = "",
    options: Sequence[str] = (),
    python: str | Path = sys.executable,
    targets: Sequence[str] = ("all",),
) -> Path:
    """Configures and builds build/<gate>: the C++ tests, and the package in its folder `python`."""
    folder = ROOT / "build" / gate
    say(f"build in build/{gate}")
    configure(
        folder,
        f"-DPython_EXECUTABLE={python}",
        *("-DREFARRAY_PYTHON=ON", "-DREFARRAY_TESTS=ON"),
        f"-DREFARRAY_SANITIZE={sanitize.replace(',', ';')}",
        *("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g"),
        *options,
    )
    quiet([tool("cmake"), "--build", folder, "--target", *targets, "--", "--quiet"])
    return folder


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Environment variables that load the package built in `folder`; its cache is there too."""
    return {
        **os.environ,
        "PYTHONPATH": str(folder / "python"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "OPENBLAS_NUM_THREADS": "1",  # stacks of its threads add noise
        **more,
    }


def print_loaded(
    folder: Path, with_environment: Mapping[str, str], python: str | Path = sys.executable
) -> None:
    """Exits if a run loads another build, such as an editable install."""
    done = subprocess.run(
        [python, "-c", LOADED],
        cwd=folder,
        env=with_environment,
        check=False,
        capture_output=True,
        text=True,
    )
    print(done.stdout, end="", flush=True)
    if done.returncode != 0 or f"== loaded {folder}{os.sep}" not in done.stdout:
        sys.exit(f"{done.stderr}the package in {folder / 'python'} is not the one that was loaded")


def loaded(
    folder: Path,
    then: Mapping[str, str] | None = None,
    *,
    python: str | Path = sys.executable,
    **more: str,
) -> dict[str, str]:
    """environment(), which was checked to load the package, and for which the adversary exists.
    `then`: variables that its compiler must not get, such as a preloaded sanitizer, which would
    report the compiler's leaks."""
    found = environment(folder, **more)
    quiet([python, TESTS / "native" / "build.py"], found)
    found |= then or {}
    print_loaded(folder, found, python)
    return found


def candidates(name: str) -> Iterator[Path]:
    """Interpreters of this name on PATH and among pyenv's; a pyenv shim may not run."""
    if found := shutil.which(name):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob(f"3.*/bin/{name}"), reverse=True)


def with_venv(version: str) -> Path | None:
    """The first interpreter of a version that can make environments; this one if it fits."""
    is_this = version == ".".join(map(str, sys.version_info[:2]))
    for path in [*([Path(sys.executable)] * is_this), *candidates(f"python{version}")]:
        probe = [path, "-c", "import venv, ensurepip"]
        if subprocess.run(probe, check=False, capture_output=True).returncode == 0:
            return path
    return None


def pip(python: str | Path, *arguments: str | Path) -> None:
    run([python, "-m", "pip", "--disable-pip-version-check", "-qq", *arguments])


def unpack_sdist(python: Path, requirement: str, download: Path, folder: Path) -> None:
    """Downloads a source distribution and unpacks it into `folder`."""
    shutil.rmtree(download, ignore_errors=True)
    options = ["--no-deps", "--no-binary", requirement.partition("==")[0], "--dest", download]
    command = [python, "-m", "pip", "--disable-pip-version-check", "-q", "download"]
    quiet([*command, *options, requirement])
    (archive,) = download.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(download, filter="data")
    (unpacked,) = (path for path in download.iterdir() if path.is_dir())
    folder.parent.mkdir(parents=True, exist_ok=True)
    unpacked.rename(folder)


def runtime_library(name: str) -> str:
    """The path of a g++ run-time library, which must be loaded first in the process."""
    return output(["g++", f"-print-file-name={name}"])


def show(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [columns, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in [columns, ["-" * width for width in widths], *lines[1:]]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))


def note_thrown(gate: str, thrown: int, what: str, findings: int) -> None:
    """Records the number of inputs and findings of a gate for the summary of `make trust`."""
    note = {"thrown": thrown, "what": what, "findings": findings}
    (ROOT / "build" / gate / "thrown.json").write_text(json.dumps(note), encoding="utf-8")
