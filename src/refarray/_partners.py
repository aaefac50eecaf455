"""The partner libraries, and detection of the DLPack version that each installed one supports."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from refarray._hang_detector import HangDetector, communicate

SECONDS = 20.0  # without progress, after which a partner is given up; a busy machine only delays it
CPU_SECONDS = 60.0  # of processor time, likewise
LONGEST = 600.0  # seconds for all partners, which are imported concurrently


@dataclass(frozen=True, slots=True)
class Partner:
    """A library that exchanges arrays.

    `array` is an expression that creates an array; it is empty for libraries without arrays.
    """

    distribution: str
    module: str
    array: str = ""
    note: str = ""


PARTNERS = (
    Partner("numpy", "numpy", "numpy.zeros(3)"),
    Partner("torch", "torch", "torch.zeros(3)"),
    Partner("jax", "jax.numpy", "jax.numpy.zeros(3)"),
    Partner("apache-tvm-ffi", "tvm_ffi", "tvm_ffi.from_dlpack(refarray.zeros(3))"),
    Partner("cupy", "cupy", "cupy.zeros(3)"),
    Partner("pyarrow", "pyarrow", "pyarrow.array([1, 2, 3])"),
    Partner("mpi4py", "mpi4py", note="a consumer only"),
    Partner("array-api-strict", "array_api_strict", "array_api_strict.zeros(3)"),
    Partner("ml_dtypes", "ml_dtypes", note="dtypes for NumPy; it has no arrays"),
    Partner("tensorflow", "tensorflow", "tensorflow.zeros(3)"),
    Partner("nanobind", "nanobind", note="C++ headers; modules built with it exchange arrays"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one partner."""

    name: str
    version: str | None  # None: not installed
    level: str | None  # "legacy", "1.1", ...; None: not measured
    exchange_api: str | None  # the version; None: no exchange API
    detail: str  # a note, or why there is no level
    failed: bool

    def __str__(self) -> str:
        if self.version is None:
            return "not installed"
        if self.level is None:
            return f"{self.version}: {self.detail}"
        level = "legacy DLPack only" if self.level == "legacy" else f"DLPack {self.level}"
        table = f"exchange API {self.exchange_api}" if self.exchange_api else "no exchange API"
        return f"{self.version}: {level}, {table}"


def find_version(distribution: str) -> str | None:
    """Return the installed version from the package metadata, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def measure(partner: Partner) -> dict[str, str | None]:
    """Import the partner and inspect one of its arrays. Runs in the partner's process."""
    import refarray
    from refarray._inspect import inspect

    top = partner.module.partition(".")[0]
    import_module(partner.module)
    found = inspect(eval(partner.array, {top: sys.modules[top], "refarray": refarray}))
    if found.struct is None:
        return {"error": "; ".join(str(answer) for answer in found.answers)}
    table = found.exchange_api
    return {
        "level": "legacy" if found.version is None else ".".join(map(str, found.version)),
        "exchange_api": None if table is None else ".".join(map(str, table.version)),
    }


def report(distribution: str) -> None:
    """Main function of a partner's process: print the measurement as JSON on the last line."""
    partner = next(partner for partner in PARTNERS if partner.distribution == distribution)
    try:
        result = measure(partner)
    except Exception as error:  # the exception is the result
        result = {"error": f"{type(error).__name__}: {error}"}
    print("\n" + json.dumps(result), flush=True)


def start(partner: Partner) -> subprocess.Popen[str]:
    """Start a process that measures a partner.

    It imports this copy of refarray, and no modules from the current directory.
    """
    root = str(Path(__file__).resolve().parent.parent)
    code = (
        f"import sys; sys.path.append({root!r}); "
        "from refarray import _partners; _partners.report(sys.argv[1])"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, partner.distribution],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def conclude(partner: Partner, version: str, process: subprocess.Popen[str]) -> Finding:
    """Wait for a partner's process and return the result. A process that hangs is killed."""
    detector = HangDetector(process.pid, LONGEST, SECONDS, CPU_SECONDS)
    output, ended = communicate(process, detector)
    if not ended:
        detail = f"no answer: {SECONDS:g} s without progress, or {CPU_SECONDS:g} s of CPU time"
        return Finding(partner.distribution, version, None, None, detail, True)
    try:
        result = json.loads(output.rstrip().rpartition("\n")[2])
    except ValueError:
        how = (
            f"by signal {-process.returncode}"
            if process.returncode < 0
            else f"with status {process.returncode}"
        )
        return Finding(partner.distribution, version, None, None, f"its process ended {how}", True)
    if "error" in result:
        return Finding(partner.distribution, version, None, None, result["error"], True)
    return Finding(
        partner.distribution, version, result["level"], result["exchange_api"], "", False
    )


def find_partners(*, measured: bool) -> list[Finding]:
    """Return a result for every partner. `measured`: import the installed ones, concurrently."""
    versions = {partner: find_version(partner.distribution) for partner in PARTNERS}

    def find(partner: Partner) -> Finding:
        version = versions[partner]
        if version and measured and partner.array:
            return conclude(partner, version, start(partner))
        note = partner.note or "not measured"
        return Finding(partner.distribution, version, None, None, note if version else "", False)

    with ThreadPoolExecutor(max(len(PARTNERS), 1)) as threads:
        return list(threads.map(find, PARTNERS))
