#!/usr/bin/env python3
"""Runs the conformance kit on released libraries, re-runs the repro of each finding, and compares
the findings with the register of confirmed ones: `findings.py [LIBRARY …]`.

Each library leaves a summary in docs/records/findings, which the manual's page shows; its findings
and their repros go to the branch `records`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import findings_page
import records
from findings_page import OLDEST, key, register
from packaging.version import Version

from refarray._hang_detector import run_to_end
from refarray.conformance.repros import script

sys.path.append(str(Path(__file__).resolve().parents[1] / "gates"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "gates" / "partners"))
import environments
import partner_tests
from environments import Environment

ROOT = Path(__file__).resolve().parents[2]
DEVIATIONS = {"fail", "crash", "hang", "warn"}
SIGNALS = {"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"}
NOT_STARTED = ("NameError", "SyntaxError", "ImportError", "NotFoundError")
"""How the names of errors end by which a repro did not begin."""
REPRO_SECONDS = 120.0
PARALLEL_REPROS = 2
"""Number of repros that run at the same time."""
IS_OLDEST = f"3.{sys.version_info.minor}" == OLDEST
"""The register is of the newest releases; those for the oldest CPython are a column of the page."""
MATRIX = ("numpy", "torch", "jax", "tvm_ffi", "refarray")

Finding = dict[str, Any]


@dataclass(frozen=True)
class Library:
    """A library and the environment in which it runs."""

    name: str
    subject: str = ""
    """The subject's name on the command line; `name` by default."""
    environment: str = ""
    """Its environment in tools/gates/partners; this interpreter's by default."""
    requires: tuple[str, ...] = ()
    """The packages of an environment of its own, for a library that only this program runs."""
    on_device: bool = False
    """Whether its arrays need a device: it runs when it is named, in this interpreter's
    environment."""


LIBRARIES = [
    *(Library(name) for name in ("numpy", "torch", "jax", "jax_two_devices", "tvm_ffi")),
    *(Library(name) for name in ("array_api_strict", "cuda_core")),
    Library("cupy", on_device=True),
    *(Library(name) for name in ("pyarrow", "pyarrow_tensor", "mpi4py")),
    Library("nanobind", subject="partners.nanobind.subject:NANOBIND"),
    *(Library(name, environment=name) for name in ("tensorflow", "tvm", "mxnet", "dgl", "dali")),
    Library("mlx", requires=("mlx[cpu]==0.32.4",)),
    Library("onnxruntime", requires=("onnxruntime==1.32.0",)),
    Library("warp", requires=("warp-lang==1.19.0",)),
    Library("paddle", requires=("paddlepaddle==3.3.1",)),
    Library("dpnp", requires=("dpnp==0.20.0", "intel-opencl-rt==2026.2.0")),
    Library("awkward", requires=("awkward==2.14.0",)),
]


def environment_of(library: Library) -> Environment | None:
    """The environment of a library; None if it is this interpreter's."""
    if library.requires:
        return Environment(library.name, list(library.requires))
    return partner_tests.partners()[library.environment] if library.environment else None


def python_of(library: Library) -> tuple[str, dict[str, str]]:
    """The interpreter of a library and its environment variables."""
    folders = [os.environ.get("PYTHONPATH", ""), str(ROOT / "tests"), str(ROOT / "fakegpu")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    environment = environment_of(library)
    if environment is None:
        return sys.executable, variables
    variables |= environment.variables
    return str(environment.python), variables


def prepare(libraries: list[Library]) -> None:
    """Builds the environments and installs refarray in each. FINDINGS_READY=1 skips this: the
    environments exist and PYTHONPATH contains refarray."""
    if os.environ.get("FINDINGS_READY"):
        return
    for environment in filter(None, map(environment_of, libraries)):
        environments.make(environment)
        environments.install_refarray(environment)


def check(library: Library) -> dict[str, Any]:
    """The report of `refarray check --full`."""
    python, variables = python_of(library)
    subject = library.subject or library.name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        options = ["--full", "--report", f"json={path}"]
        command = [python, "-m", "refarray", "check", subject, *options]
        done = subprocess.run(
            command, check=False, env=variables, capture_output=True, text=True, cwd=folder
        )
        if not path.exists():
            raise SystemExit(f"{library.name}: no report\n{done.stderr[-2000:]}")
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if why := report["subjects"][0]["broken"]:
        raise SystemExit(f"{library.name} could not be checked: {why}")
    return report


WITHOUT_REFARRAY = "import sys; sys.modules['refarray'] = None  # its import raises\n"


def stands_alone(found: Finding) -> bool:
    """Whether the repro is a script that needs no refarray and exits with status 1."""
    return "sys.exit(" in found["repro"] and "refarray" not in found["repro"]


def rerun(library: Library, found: Finding) -> str:
    """Runs the repro in a new process; its result in short: what it printed, or "SIGSEGV". A script
    that stands alone runs where refarray cannot be imported, and has to exit with status 1."""
    if not found["repro"]:
        return ""
    python, variables = python_of(library)
    if stands_alone(found):
        command = [python, "-c", WITHOUT_REFARRAY + found["repro"]]
        variables["PYTHONPATH"] = ""
        done = subprocess.run(  # a script ends its own hangs
            command, check=False, env=variables, capture_output=True, text=True, cwd="/"
        )
        _, expected, saw = done.stdout.partition("expected: ")  # the library may print, too
        if done.returncode == 1 and expected:
            return " ".join((expected + saw).split())[:200]
        said = " ".join((done.stdout + done.stderr).split())[-160:]
        return f"NOT SHOWN, exit status {done.returncode}: {said}"
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-c", found["repro"]]
        status, out, errors = run_to_end(command, REPRO_SECONDS, env=variables, cwd=folder)
    if status is None:
        return "hangs"
    if status < 0:
        return signal.Signals(-status).name
    if status == 0:
        return " ".join(out.split())[:200] or "exit status 0"
    last = (errors.strip().splitlines() or [f"exit status {status}"])[-1]
    # MXNet's own signal handler prints this and exits
    return f"SIGSEGV, as reported: {last}" if last.startswith("Segmentation fault") else last[:200]


def newest(distribution: str, checked: str) -> str:
    """The newest release in the index, whatever Python it needs; "" if the index does not tell. The
    index shows only what has a file for this interpreter, which may be older than what was
    checked."""
    command = [sys.executable, "-m", "pip", "index", "versions", distribution]
    command += ["--ignore-requires-python", "--disable-pip-version-check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    first = done.stdout.partition("\n")[0]
    if done.returncode != 0:
        return ""
    return max(first.rpartition("(")[2].removesuffix(")"), checked, key=Version)


def measure(library: Library) -> dict[str, Any]:
    """The stored data of one library: counts by outcome, and deviations with their repros'
    results."""
    report = check(library)
    version = report["subjects"][0]["version"]
    counts: dict[str, int] = {}
    deviations = []
    for found in report["findings"]:
        counts[found["outcome"]] = counts.get(found["outcome"], 0) + 1
        if found["outcome"] in DEVIATIONS:
            kept = {name: value for name, value in found.items() if name != "seconds"}
            deviations.append({**kept, "subject": library.name})
    with ThreadPoolExecutor(PARALLEL_REPROS) as threads:
        for found, again in zip(
            deviations, threads.map(lambda each: rerun(library, each), deviations), strict=True
        ):
            found["again"] = again
    return {
        "name": library.name,
        "version": version,
        "newest": newest(findings_page.distribution(library.name), version),
        "date": report["date"][:10],
        "python": report["environment"]["python"],
        "refarray": report["environment"]["refarray"],
        "counts": counts,
        "deviations": deviations,
    }


def matrix() -> list[str]:
    """The lines of the exchange matrix of the libraries in this interpreter's environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.md"
        command = [sys.executable, "-m", "refarray", "matrix", *MATRIX]
        subprocess.run(
            [*command, "--report", f"markdown={path}"], check=False, capture_output=True, cwd=folder
        )
        return path.read_text(encoding="utf-8").splitlines()


def compared(libraries: list[dict[str, Any]], known: dict[str, Any]) -> list[str]:
    """The differences between findings and register: new, missing and changed ones. Of one cause
    the case that shows it most directly is registered."""
    out = []
    for library in libraries:
        entry = known.get(library["name"], {})
        confirmed, dismissed = entry.get("confirmed", {}), entry.get("dismissed", {})
        seen = {key(found): found["outcome"] for found in library["deviations"]}
        further = {key(found) for found in library["deviations"] if found.get("same_as")}
        name = f"{library['name']} {library['version']}"
        for each in set(confirmed) & set(dismissed):
            out.append(f"{name}: {each} is both confirmed and dismissed")
        for each, outcome in seen.items():
            if each not in {*confirmed, *dismissed, *further}:
                out.append(f'{name}: not confirmed: "{each}" = "{outcome}"')
            elif each in confirmed and confirmed[each] != outcome:
                out.append(f"{name}: {each} was {confirmed[each]}, now {outcome}")
        out += [
            f"{name}: missing: {each}" for each in {**confirmed, **dismissed} if each not in seen
        ]
    return out


def unshown(library: dict[str, Any]) -> list[str]:
    """The repros that do not show their finding, or fail by their own fault."""
    out = []
    for found in library["deviations"]:
        again = found["again"]
        shows = bool(again) and not again.partition(":")[0].endswith(NOT_STARTED)
        if stands_alone(found):
            short = len(found["repro"].splitlines()) <= script.LONGEST
            shows = again.startswith("expected: ") and short
        elif found["outcome"] == "crash":
            shows = again.partition(",")[0] in SIGNALS
        if not shows:
            out.append(f"{library['name']}: {key(found)}: the repro does not show it: {again}")
    return out


def save(library: dict[str, Any]) -> None:
    """Writes the summary of a library, and keeps its findings and their repros; called after each
    library, so that an interrupted run keeps its results."""
    name = f"findings/{library['name']}"
    raw = records.keep(f"{name}.json", json.dumps(library, indent=1).encode())
    records.keep(f"{name}.md", findings_page.scripts(library).encode())
    path = findings_page.SUMMARIES / f"{library['name']}.toml"
    about = f"What the conformance kit found in {library['name']}; `make findings` writes it."
    records.write(path, about, findings_page.summary(library, raw))


def count_for_the_oldest(libraries: list[Library]) -> int:
    """Counts what the releases for the oldest CPython break. Needs no confirmed findings."""
    path = findings_page.OLDEST_COUNTS
    rows = records.read(path)["libraries"]
    for library in libraries:
        print(f"== {library.name}", flush=True)
        found = measure(library)
        broken = findings_page.counts(findings_page.once(found["deviations"]).values())
        rows[library.name] = {"version": found["version"], "date": found["date"], **broken}
    about = "Deviations of the releases for the oldest CPython; `make findings` on it writes this."
    records.write(path, about, {"libraries": rows})
    return 0


def main(arguments: list[str]) -> int:
    """Runs the libraries and keeps their findings. Returns 1 if the register differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", metavar="LIBRARY", nargs="*")
    chosen = parser.parse_args(arguments)
    names = chosen.libraries or [each.name for each in LIBRARIES if not each.on_device]
    wanted = [each for each in LIBRARIES if each.name in names]
    if unknown := set(chosen.libraries) - {each.name for each in LIBRARIES}:
        print(f"unknown library: {', '.join(sorted(unknown))}")
        return 2
    if IS_OLDEST:
        return count_for_the_oldest([each for each in wanted if environment_of(each) is None])
    prepare(wanted)
    differences = []
    for library in wanted:
        print(f"== {library.name}", flush=True)
        measured = measure(library)
        save(measured)
        differences += [*compared([measured], register()), *unshown(measured)]
    if not chosen.libraries:
        about = "The exchange matrix of released libraries; `make findings` writes it."
        records.write(findings_page.SUMMARIES / "matrix.toml", about, {"markdown": matrix()})
    print("\n".join(differences) or "the findings match the register")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
