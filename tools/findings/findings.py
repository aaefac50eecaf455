#!/usr/bin/env python3
"""Runs the conformance kit on the released libraries, re-runs each finding's repro and compares all
with the register of confirmed ones: `findings.py [LIBRARY …]`, `--page` writes the page only."""

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

from refarray.conformance.runner.hang_detector import LOOK_SECONDS, HangDetector

sys.path.append(str(Path(__file__).resolve().parents[1] / "gates"))
import partner_environments

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "findings.json"
REGISTER = ROOT / "tests" / "kit" / "findings.toml"
DEVIATIONS = {"fail", "crash", "hang", "warn"}
REPRO_SECONDS = 120.0
SIDE_BY_SIDE = 2
"""Repros that run at the same time."""
MATRIX = ("numpy", "torch", "jax", "tvm_ffi", "refarray")

Finding = dict[str, Any]


@dataclass(frozen=True)
class Library:
    """A library, and where it is run."""

    name: str
    subject: str = ""
    """What the command line calls it; its name unless given."""
    environment: str = ""
    """The one of tools/gates/partner_environments.py that it needs; ours unless given."""
    variables: dict[str, str] = field(default_factory=dict)


LIBRARIES = [
    *(Library(name) for name in ("numpy", "torch", "jax", "tvm_ffi", "array_api_strict")),
    *(Library(name) for name in ("pyarrow", "mpi4py")),
    Library("nanobind", subject="partners.nanobind.subject:NANOBIND"),
    *(Library(name, environment=name) for name in ("tensorflow", "tvm", "mxnet", "dgl", "dali")),
]


def key(found: Finding) -> str:
    """What the register calls a finding: "FLAG-03 producer copied"."""
    return f"{found['id']} {found['role']} {found['case']}"


def python_of(library: Library) -> tuple[str, dict[str, str]]:
    """The interpreter of a library, and the variables that it needs."""
    folder = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), str(ROOT / "tests")]))
    variables = {**os.environ, "PYTHONPATH": folder}
    if not library.environment:
        return sys.executable, variables
    environment = partner_environments.environments()[library.environment]
    variables |= environment.variables
    return str(environment.python), variables


def prepared(libraries: list[Library]) -> None:
    """The environments, with refarray in each. FINDINGS_READY=1: they are, by PYTHONPATH."""
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


def checked(library: Library) -> dict[str, Any]:
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
        raise SystemExit(f"{library.name} could not be tried: {why}")
    return report


def waited_for(command: list[str], variables: dict[str, str]) -> tuple[int | None, str, str]:
    """The exit status of a process, None when it hangs, and what it has printed."""
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


def rerun(library: Library, found: Finding) -> str:
    """What the repro does in a process of its own, in a few words: "SIGSEGV", or its last line."""
    if not found["repro"]:
        return ""
    python, variables = python_of(library)
    status, out, errors = waited_for([python, "-c", found["repro"]], variables)
    if status is None:
        return "no end"
    if status < 0:
        return signal.Signals(-status).name
    if status == 0:
        return " ".join(out.split())[:200] or "exit status 0"
    last = (errors.strip().splitlines() or [f"exit status {status}"])[-1]
    # MXNet has a handler of its own, which says so and leaves
    return f"SIGSEGV, as it says: {last}" if last.startswith("Segmentation fault") else last[:200]


def measured(library: Library) -> dict[str, Any]:
    """What is kept of one library: its sums, and its deviations with what their repros did."""
    report = checked(library)
    counts: dict[str, int] = {}
    deviations = []
    for found in report["findings"]:
        counts[found["outcome"]] = counts.get(found["outcome"], 0) + 1
        if found["outcome"] in DEVIATIONS:
            kept = {name: value for name, value in found.items() if name != "seconds"}
            deviations.append({**kept, "subject": library.name})
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
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
    """The grid of the libraries that live in one environment."""
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
    """Where data and register differ: a new finding, one that has gone, one that ends otherwise."""
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
                out.append(f"{name}: {each} was {confirmed[each]}, and is {outcome}")
        out += [f"{name}: gone: {each}" for each in {**confirmed, **dismissed} if each not in seen]
    return out


def kept(path: Path) -> dict[str, Any]:
    """What earlier runs have left."""
    if not path.exists():
        return {"libraries": [], "matrix": {"markdown": ""}}
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def replace(data: dict[str, Any], library: dict[str, Any]) -> None:
    """Enters one library, in the order of LIBRARIES."""
    every = {each["name"]: each for each in [*data["libraries"], library]}
    data["libraries"] = [every[each.name] for each in LIBRARIES if each.name in every]


def save(data: dict[str, Any], path: Path) -> None:
    """Writes it: a run that is ended keeps what it has done."""
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Measures, compares, writes data and page. 1 when the register differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", metavar="LIBRARY", nargs="*")
    parser.add_argument("--page", action="store_true", help="write the page out of the kept data")
    parser.add_argument("--data", metavar="PATH", type=Path, default=DATA, help="where it is kept")
    chosen = parser.parse_args(arguments)
    wanted = [each for each in LIBRARIES if not chosen.libraries or each.name in chosen.libraries]
    if unknown := set(chosen.libraries) - {each.name for each in LIBRARIES}:
        print(f"no library is called {', '.join(sorted(unknown))}")
        return 2
    data = kept(chosen.data)
    if not chosen.page:
        prepared(wanted)
        for library in wanted:
            print(f"== {library.name}", flush=True)
            replace(data, measured(library))
            save(data, chosen.data)
        if not chosen.libraries:
            data["matrix"] = matrix()
            save(data, chosen.data)
    if chosen.data == DATA:
        findings_page.write(data, register())
    differences = compared(data, register())
    print("\n".join(differences) or "the register agrees")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
