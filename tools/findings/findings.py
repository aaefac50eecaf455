#!/usr/bin/env python3
"""Runs the conformance kit on released libraries, re-runs the repro of each finding, and compares
the findings with the register of confirmed ones.

`findings.py [LIBRARY …]`; `--page` only writes the page from the stored data."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import findings_page

from refarray._hang_detector import LOOK_SECONDS, HangDetector

sys.path.append(str(Path(__file__).resolve().parents[1] / "gates" / "partners"))
import partner_environments

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "findings.json"
REGISTER = ROOT / "tests" / "kit" / "findings.toml"
DEVIATIONS = {"fail", "crash", "hang", "warn"}
REPRO_SECONDS = 120.0
PARALLEL_REPROS = 2
"""Number of repros that run at the same time."""
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
    variables: dict[str, str] = field(default_factory=dict)


LIBRARIES = [
    *(Library(name) for name in ("numpy", "torch", "jax", "jax_two_devices", "tvm_ffi")),
    Library("array_api_strict"),
    *(Library(name) for name in ("pyarrow", "pyarrow_tensor", "mpi4py")),
    Library("nanobind", subject="partners.nanobind.subject:NANOBIND"),
    *(Library(name, environment=name) for name in ("tensorflow", "tvm", "mxnet", "dgl", "dali")),
]


def key(found: Finding) -> str:
    """The key of a finding in the register: "FLAG-03 producer copied"."""
    return f"{found['id']} {found['role']} {found['case']}"


def python_of(library: Library) -> tuple[str, dict[str, str]]:
    """The interpreter of a library and its environment variables."""
    folder = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), str(ROOT / "tests")]))
    variables = {**os.environ, "PYTHONPATH": folder}
    if not library.environment:
        return sys.executable, variables
    environment = partner_environments.environments()[library.environment]
    variables |= environment.variables
    return str(environment.python), variables


def prepare(libraries: list[Library]) -> None:
    """Builds the environments and installs refarray in each. FINDINGS_READY=1 skips this: the
    environments exist and PYTHONPATH contains refarray."""
    names = [library.environment for library in libraries if library.environment]
    if not names or os.environ.get("FINDINGS_READY"):
        return
    base = partner_environments.interpreter()
    wheel = partner_environments.build_wheel(base)
    for name in names:
        environment = partner_environments.environments()[name]
        partner_environments.make(environment, base)
        reinstall = ["install", "--no-deps", "--force-reinstall", wheel]
        partner_environments.pip(environment.python, *reinstall)


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


def run_to_end(command: list[str], variables: dict[str, str]) -> tuple[int | None, str, str]:
    """The exit status of a process, None if it hangs, and its standard output and error."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
    ):
        process = subprocess.Popen(
            command, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, cwd=folder
        )
        hang_detector = HangDetector(process.pid, REPRO_SECONDS)
        while process.poll() is None and not hang_detector.over():
            time.sleep(LOOK_SECONDS / 5)
        status = process.poll()
        if status is None:
            process.kill()
            process.wait()
        for file in (out, errors):
            file.seek(0)
        return status, out.read().decode(errors="replace"), errors.read().decode(errors="replace")


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
        if done.returncode == 1 and done.stdout.startswith("expected: "):
            return " ".join(done.stdout.split())[:200]
        said = " ".join((done.stdout + done.stderr).split())[-160:]
        return f"NOT SHOWN, exit status {done.returncode}: {said}"
    status, out, errors = run_to_end([python, "-c", found["repro"]], variables)
    if status is None:
        return "hangs"
    if status < 0:
        return signal.Signals(-status).name
    if status == 0:
        return " ".join(out.split())[:200] or "exit status 0"
    last = (errors.strip().splitlines() or [f"exit status {status}"])[-1]
    # MXNet's own signal handler prints this and exits
    return f"SIGSEGV, as reported: {last}" if last.startswith("Segmentation fault") else last[:200]


def measure(library: Library) -> dict[str, Any]:
    """The stored data of one library: counts by outcome, and deviations with their repros'
    results."""
    report = check(library)
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
        "version": report["subjects"][0]["version"],
        "date": report["date"][:10],
        "python": report["environment"]["python"],
        "refarray": report["environment"]["refarray"],
        "counts": counts,
        "deviations": deviations,
    }


def matrix() -> dict[str, Any]:
    """The exchange matrix of the libraries in this interpreter's environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.md"
        command = [sys.executable, "-m", "refarray", "matrix", *MATRIX]
        subprocess.run(
            [*command, "--report", f"markdown={path}"], check=False, capture_output=True, cwd=folder
        )
        return {"markdown": path.read_text(encoding="utf-8")}


def register() -> dict[str, dict[str, dict[str, str]]]:
    """{library: {"confirmed": {key: outcome}, "dismissed": {key: reason}}}."""
    return tomllib.loads(REGISTER.read_text(encoding="utf-8"))


def compared(data: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """The differences between data and register: new, missing and changed findings."""
    out = []
    for library in data["libraries"]:
        entry = known.get(library["name"], {})
        confirmed, dismissed = entry.get("confirmed", {}), entry.get("dismissed", {})
        seen = {key(found): found["outcome"] for found in library["deviations"]}
        name = f"{library['name']} {library['version']}"
        for each in set(confirmed) & set(dismissed):
            out.append(f"{name}: {each} is both confirmed and dismissed")
        for each, outcome in seen.items():
            if each not in confirmed and each not in dismissed:
                out.append(f'{name}: not confirmed: "{each}" = "{outcome}"')
            elif each in confirmed and confirmed[each] != outcome:
                out.append(f"{name}: {each} was {confirmed[each]}, now {outcome}")
        out += [
            f"{name}: missing: {each}" for each in {**confirmed, **dismissed} if each not in seen
        ]
    return out


def stored(path: Path) -> dict[str, Any]:
    """The data stored by earlier runs."""
    if not path.exists():
        return {"libraries": [], "matrix": {"markdown": ""}}
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def replace(data: dict[str, Any], library: dict[str, Any]) -> None:
    """Adds or replaces the data of one library, in the order of LIBRARIES."""
    every = {each["name"]: each for each in [*data["libraries"], library]}
    data["libraries"] = [every[each.name] for each in LIBRARIES if each.name in every]


def save(data: dict[str, Any], path: Path) -> None:
    """Writes the data; called after each library, so that an interrupted run keeps its results."""
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Runs the libraries and writes data and page. Returns 1 if the register differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", metavar="LIBRARY", nargs="*")
    parser.add_argument(
        "--page", action="store_true", help="only write the page, from the stored data"
    )
    parser.add_argument(
        "--data", metavar="PATH", type=Path, default=DATA, help="where the data is stored"
    )
    chosen = parser.parse_args(arguments)
    wanted = [each for each in LIBRARIES if not chosen.libraries or each.name in chosen.libraries]
    if unknown := set(chosen.libraries) - {each.name for each in LIBRARIES}:
        print(f"unknown library: {', '.join(sorted(unknown))}")
        return 2
    data = stored(chosen.data)
    if not chosen.page:
        prepare(wanted)
        for library in wanted:
            print(f"== {library.name}", flush=True)
            replace(data, measure(library))
            save(data, chosen.data)
        if not chosen.libraries:
            data["matrix"] = matrix()
            save(data, chosen.data)
    if chosen.data == DATA:
        findings_page.write(data, register())
    differences = compared(data, register())
    print("\n".join(differences) or "the findings match the register")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
