"""The stages of a run on a device, each in its own process, so that one may fail, crash or hang
without affecting the others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "devices" / "hardware"
PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
#: Code that fails unless the partner is installed and has a device, and prints its version.
PARTNERS = {
    "refarray": "import refarray; print(refarray.__version__)",
    "driver": "print('by ctypes')",
    "cuda.core": "import cuda.core; print(cuda.core.__version__)",
    "torch": "import torch; assert torch.cuda.is_available(), 'this build of PyTorch finds no "
    "CUDA device'; print(torch.__version__)",
    "cupy": "import cupy; cupy.zeros(2).sum().item(); print(cupy.__version__)",
    "jax": "import jax; jax.devices('cuda'); print(jax.__version__)",
    "numba": "import numba_cuda; from numba import cuda; cuda.current_context(); "
    "print(numba_cuda.__version__)",
    "cudf": "import cudf; print(cudf.__version__)",
}
#: Partners that work on the simulated driver.
SIMULATED_PARTNERS = ("refarray", "driver", "cuda.core", "numba")
PROBE = "import json, refarray._native as n; print(json.dumps([n._probe_drivers(), {k: v for k, v "
PROBE += "in n._build_info().items() if isinstance(v, (str, int, bool))}]))"
SANITIZER_FOUND = 66  # exit status for reported errors, by --error-exitcode
#: The tools of compute-sanitizer, and what each prints if it has found nothing.
SANITIZERS = {
    "memcheck": "ERROR SUMMARY: 0 errors",
    "racecheck": "RACECHECK SUMMARY: 0 hazards",
    "initcheck": "ERROR SUMMARY: 0 errors",
}
#: Large tests are excluded: a launch of a hundred thousand blocks takes minutes.
SANITIZED = "test_copies and not large and not refuses"


@dataclass
class Stage:
    """The result of one stage."""

    name: str
    status: str
    detail: str = ""
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    #: Of tests with the fixture `seen`: the risk, what was expected and what was seen.
    risks: list[tuple[str, str, str]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "detail": self.detail,
            "seconds": round(self.seconds, 1),
            **self.counts,
            **({"risks": self.risks} if self.risks else {}),
        }


def simulated_driver() -> dict[str, str]:
    """Environment variables that select the simulated libcuda.so.1; compiles it if needed."""
    sys.path.insert(0, str(ROOT / "fakegpu"))
    import fakegpu

    drivers = fakegpu.Drivers.here()
    path = [str(drivers.cuda.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        "REFARRAY_LIBCUDA": str(drivers.cuda),
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, path)),
        "CUDA_PYTHON_DISABLE_MAJOR_VERSION_WARNING": "1",
    }


class Runner:
    """Runs processes with the same refarray until the time is up."""

    def __init__(self, minutes: float, simulated: bool, paths: Sequence[Path]) -> None:
        self.deadline = time.monotonic() + 60 * minutes
        self.simulated = simulated
        inherited = [path for path in [os.environ.get("PYTHONPATH", "")] if path]
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*map(str, paths), *inherited]),
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # JAX would allocate most of the memory
            **(simulated_driver() if simulated else {}),
        }

    def left(self, most: float) -> float:
        return min(most, self.deadline - time.monotonic())

    def run(self, command: Sequence[str | Path], most: float) -> subprocess.CompletedProcess[str]:
        """Runs a command. Raises subprocess.TimeoutExpired after killing the process."""
        return subprocess.run(
            [str(word) for word in command],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=max(self.left(most), 0.1),
            check=False,
        )

    def python(self, *arguments: str | Path, most: float) -> subprocess.CompletedProcess[str]:
        return self.run([sys.executable, *arguments], most)


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "no output"


def find_device(runner: Runner) -> tuple[dict[str, Any], str]:
    """Returns the build info, and why no CUDA device is usable (empty if one is)."""
    done = runner.python("-c", PROBE, most=120)
    if done.returncode != 0:
        return {}, f"{sys.executable} cannot import refarray: {last_line(done.stderr)}"
    drivers, build = json.loads(done.stdout)
    (cuda,) = [row for row in drivers if row["name"] == "CUDA"]
    if cuda["devices"] or runner.simulated:
        return build, ""
    return build, f"no CUDA device: {cuda['detail']}"


def partner_version(runner: Runner, name: str) -> tuple[str, str]:
    """Returns (version, reason why it is unusable)."""
    try:
        done = runner.python("-c", PARTNERS[name], most=90)
    except subprocess.TimeoutExpired:
        return "", "importing it timed out"
    if done.returncode != 0:
        return "", last_line(done.stderr)
    return last_line(done.stdout), ""


def installed(name: str) -> tuple[str, str]:
    """Like partner_version() on the simulated driver: only checks that it is installed."""
    if name in ("refarray", "driver"):
        return "" if name == "refarray" else "by ctypes", ""
    distribution = {"numba": "numba-cuda", "cuda.core": "cuda-core"}.get(name, name)
    try:
        return metadata.version(distribution), ""
    except metadata.PackageNotFoundError:
        return "", "not installed"


def with_partner(runner: Runner, name: str, scratch: Path) -> Stage:
    """Runs tests/devices/hardware with one partner."""
    version, why = partner_version(runner, name) if not runner.simulated else installed(name)
    title = f"{name} {version}".strip()
    why = "out of time" if runner.left(1) <= 0 else why
    if why:
        return Stage(title if version else name, NOT_RUN, why)
    mode = "simulated" if runner.simulated else "real"
    report = scratch / f"{name}.xml"
    command = ["-m", "pytest", TESTS, f"--hardware={mode}", f"--partner={name}", "-q"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-W", "default", "--tb=short"]
    start = time.monotonic()
    try:
        # A simulated device runs on the CPU and slows down with its load.
        most = 400 if runner.simulated else 150
        done = runner.python(
            *command, f"--junitxml={report}", "-o", "junit_family=xunit1", most=most
        )
    except subprocess.TimeoutExpired:
        spent = time.monotonic() - start
        if runner.left(1) <= 0:
            return Stage(title, NOT_RUN, "it was stopped when the time was up", spent)
        return Stage(title, FAILED, "timeout: something waits forever", spent)
    spent = time.monotonic() - start
    if done.returncode != 0 or not report.is_file():
        text = f"{done.stdout}\n{done.stderr}".strip()
        return Stage(title, FAILED, text[-4000:], spent, counted(report), risks(report))
    return Stage(title, PASSED, "", spent, counted(report), risks(report))


def counted(report: Path) -> dict[str, int]:
    if not report.is_file():
        return {}
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    names = {"tests": "tests", "failures": "failures", "errors": "errors", "skipped": "skipped"}
    return {name: int(suite.get(key, 0)) for name, key in names.items()}


def risks(report: Path) -> list[tuple[str, str, str]]:
    """Reads the properties that the fixture `seen` records."""
    found = []
    for case in ElementTree.parse(report).iter("testcase") if report.is_file() else ():
        said = {each.get("name"): str(each.get("value")) for each in case.iter("property")}
        if "expected" not in said:
            continue
        left = [str(each.get("message")) for each in case.iter("skipped")]
        name = str(case.get("name")).removeprefix("test_").replace("_", " ")
        seen = said.get("seen") or (f"not run: {left[0]}" if left else "failed")
        found.append((name, said["expected"], seen))
    return found


def find_sanitizer() -> str | None:
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    places = [f"{home}/{folder}" for home in filter(None, homes)
              for folder in ("bin", "compute-sanitizer")]  # fmt: skip
    found = shutil.which("compute-sanitizer")
    return found or shutil.which("compute-sanitizer", path=os.pathsep.join(places))


def sanitized(runner: Runner, check: str) -> Stage:
    """Runs our kernels under a tool of NVIDIA's compute-sanitizer: all layouts, types and
    directions."""
    title = f"compute-sanitizer {check}"
    tool = find_sanitizer()
    if runner.left(1) <= 0:
        return Stage(title, NOT_RUN, "out of time")
    if tool is None:
        return Stage(title, NOT_RUN, "neither on PATH nor in CUDA_HOME")
    command = [tool, "--tool", check, "--error-exitcode", str(SANITIZER_FOUND)]
    # Errors returned by the driver are handled by refarray and tested elsewhere.
    command += ["--report-api-errors", "no", sys.executable, "-m", "pytest", str(TESTS)]
    command += ["--hardware=real", "--partner=refarray", "-q", "-k", SANITIZED]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-W", "default", "--capture=sys"]
    start = time.monotonic()
    try:
        done = runner.run(command, most=150)
    except subprocess.TimeoutExpired:
        return Stage(title, NOT_RUN, "it was stopped when the time was up")
    spent = time.monotonic() - start
    text = f"{done.stdout}\n{done.stderr}".strip()
    if "not supported" in text and done.returncode != SANITIZER_FOUND:
        return Stage(title, NOT_RUN, last_line(text), spent)
    clean = SANITIZERS[check]
    if done.returncode != 0 or clean not in text:
        return Stage(title, FAILED, text[-4000:], spent)
    return Stage(title, PASSED, clean.partition(": ")[2], spent)


def figures(runner: Runner, scratch: Path) -> tuple[Stage, dict[str, Any]]:
    """Measures group D; returns the rows measured even if the process fails."""
    out = scratch / "figures.json"
    minutes = runner.left(240) / 60
    command = ["-m", "benchmarks.gpu.figures", out, "--minutes", f"{0.8 * minutes:.2f}"]
    start = time.monotonic()
    try:
        done = runner.python(*command, *(["--simulated"] if runner.simulated else []), most=280)
        why = "" if done.returncode == 0 else done.stderr.strip()[-4000:] or "the process died"
    except subprocess.TimeoutExpired:
        why = "timeout"
    record = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {}
    status = FAILED if why else PASSED
    rows = {"rows": len(record.get("rows", []))}
    return Stage("figures", status, why, time.monotonic() - start, rows), record


def driver_release(runner: Runner) -> str:
    """Returns the release of the kernel driver, which libcuda does not report."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = runner.run(query, most=30)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown (nvidia-smi was not found)"
    return last_line(done.stdout) if done.returncode == 0 else "unknown"
