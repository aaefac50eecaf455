"""Tests and benchmarks refarray on an NVIDIA GPU in less than ten minutes: exchanges with the
installed partners, graph capture, compute-sanitizer, and the benchmarks of group D.

Exit status: 0 everything passed, 1 something failed, 3 nothing was run (no device), 4 everything
that was run passed, but parts were not run. A missed target is shown and is not a failure.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.environment import load_average, machine, records

from . import report, stages
from .stages import NOT_RUN, Runner, Stage

RESULTS = stages.ROOT / "build" / "bench"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--minutes", type=float, default=9.0, help="total time limit")
    result.add_argument("--wheel", type=Path, help="a wheel of refarray to use; no network needed")
    result.add_argument("--out", type=Path, default=RESULTS, help="the folder of the record")
    result.add_argument("--id", default="", help="name of the record; default: the commit")
    result.add_argument(
        "--simulated",
        action="store_true",
        help="use the simulated driver to test this script; nothing is measured or recorded",
    )
    result.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PART",
        help="a part that need not run, by the beginning of its name: torch, 'figures of cupy', "
        "'compute-sanitizer racecheck'; may be repeated",
    )
    return result


def given_up(options: argparse.Namespace, not_run: dict[str, str]) -> dict[str, str]:
    """The parts not run that the user has named. Exits if a name is of no such part."""
    for word in options.without:
        if not any(name.startswith(word) for name in not_run):
            names = ", ".join(not_run) or "none"
            sys.exit(f"--without {word!r}: no such part is missing; parts not run: {names}")
    named = tuple(options.without)
    return {name: why for name, why in not_run.items() if named and name.startswith(named)}


def commit() -> str:
    command = ["git", "-C", str(stages.ROOT), "rev-parse", "--short=10", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "uncommitted"
    return done.stdout.strip() or "uncommitted"


def unpack(wheel: Path, scratch: Path) -> Path:
    """Installs the wheel into a separate folder, without an index and without dependencies."""
    folder = scratch / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    command = [*pip, "--no-index", "--no-deps", "--target", str(folder), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{wheel} cannot be installed: {stages.last_line(done.stderr)}")
    return folder


def run_all(runner: Runner, scratch: Path) -> tuple[list[Stage], dict[str, Any]]:
    """Runs the stages, the most important first, in case the time runs out."""
    found: list[Stage] = []
    for name in stages.SIMULATED_PARTNERS if runner.simulated else stages.PARTNERS:
        print(f"… with {name}", file=sys.stderr, flush=True)
        found.append(stages.with_partner(runner, name, scratch))
    print("… figures", file=sys.stderr, flush=True)
    stage, figures = stages.figures(runner, scratch)
    found.append(stage)
    if not runner.simulated:
        for check in stages.SANITIZERS:
            print(f"… compute-sanitizer {check}", file=sys.stderr, flush=True)
            found.append(stages.sanitized(runner, check))
    return found, figures


def make_record(
    options: argparse.Namespace, build: dict[str, Any], found: list[Stage], figures: dict[str, Any]
) -> dict[str, Any]:
    """Builds a record in the format of the other benchmarks."""
    now = datetime.datetime.now(datetime.UTC)
    versions = {}
    for stage in found:
        name, _, version = stage.name.partition(" ")
        if name in stages.PARTNERS and stage.status != NOT_RUN:
            versions[name] = version
    not_run = {stage.name: stage.detail for stage in found if stage.status == NOT_RUN}
    not_run |= {f"figures of {name}": why for name, why in figures.get("absent", {}).items()}
    not_run |= figures.get("not_run", {})
    return {
        "id": options.id or f"{commit()}-gpu",
        "date": now.date().isoformat(),
        "time": now.strftime("%H:%M"),
        "machine": machine(),
        "build": build,
        "gpu": figures.get("facts", {}),
        "versions": {"refarray": build["version"], **versions},
        "absent": {stage.name: stage.detail for stage in found if stage.status == NOT_RUN},
        "load": [load_average(), load_average()],
        "tests": {stage.name: stage.as_json() for stage in found},
        "not_run": not_run,
        "rows": figures.get("rows", []),
    }


def main() -> int:
    options = parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="refarray-gpu-") as folder:
        scratch = Path(folder)
        paths = [unpack(options.wheel, scratch)] if options.wheel else []
        runner = Runner(options.minutes, options.simulated, paths)
        build, why = stages.find_device(runner)
        if why:
            print(f"{why}\nnothing was run")
            return report.NOTHING_RUN
        found, figures = run_all(runner, scratch)
        record = make_record(options, build, found, figures)
        record["gpu"].setdefault("device", "an unknown device")
        record["gpu"].setdefault("cuda_of_the_driver", "unknown")
        release = "simulated" if options.simulated else stages.driver_release(runner)
        record["gpu"]["driver"] = release
    return conclude(options, record, found)


def conclude(options: argparse.Namespace, record: dict[str, Any], found: list[Stage]) -> int:
    """Prints the report, and saves measurements of a real device."""
    if options.simulated:
        record["not_run"] = {}  # a simulated driver cannot run the rest
        options.without = []
        print("SIMULATED: this tests the script and says nothing about a device\n")
    else:
        print(report.heading(record), end="\n\n")
    print("\n".join(report.stage_lines(found, options.simulated)), end="\n\n")
    print(report.risk_table(report.risks(record)), end="\n\n")
    print(report.table(record["rows"]), end="\n\n")
    for text in report.failures(found):
        print(text, end="\n\n")
    record["without"] = given_up(options, record["not_run"])
    for name in record["without"]:
        del record["not_run"][name]
    status = report.exit_status(found, record["not_run"])
    if not options.simulated:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / f"{record['date']}-{record['id']}.json"
        raw = json.dumps(record, indent=1).encode()
        path.write_bytes(raw)
        about = "A run of `make gpu-hardware`."
        records.write(path.with_suffix(".toml"), about, report.summary(record, records.blob(raw)))
        print(f"recorded in {path.name} and {path.with_suffix('.toml').name}")
    print(report.closing(record, status))
    return status


if __name__ == "__main__":
    sys.exit(main())
