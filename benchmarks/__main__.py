"""Command line of the benchmarks: measure, print the table, record it, or compare two records."""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path

from . import exchange, footprint, report
from .environment import PARTNERS, Environment, load, load_average, machine
from .targets import OURS, UNIT
from .timing import Chunk, Samples

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    result.add_argument("--cases", default="", help="ids or first letters, e.g. A1,A5,E")
    result.add_argument("--partners", default=",".join(PARTNERS), help="default: all")
    result.add_argument("--rounds", type=int, default=200, help="rounds per sweep")
    result.add_argument("--sweeps", type=int, default=4, help="passes over all cases, pooled")
    result.add_argument("--json", type=Path, help="write the record to this file")
    result.add_argument("--save", action="store_true", help="write it to benchmarks/results")
    result.add_argument("--id", default="", help="name of the record; default: the commit")
    result.add_argument("--wheel", type=Path, help="the wheel that E5 measures")
    result.add_argument(
        "--fail-above", type=float, help="exit 1 if a figure is over this many times its limit"
    )
    result.add_argument("--compare", nargs=2, type=Path, metavar=("FIRST", "SECOND"))
    return result


def chosen(id_: str, wanted: list[str]) -> bool:
    """`A1` chooses A1 and its variants, never A12; `A` chooses every A."""
    first = id_.split()[0]
    return not wanted or any(
        word in (id_, first) or first.strip("0123456789") == word for word in wanted
    )


def measure_exchange(
    environment: Environment, wanted: list[str], rounds: int, sweeps: int
) -> list[dict]:
    """Build every case, time all of them in several sweeps, and record the pooled samples."""
    unit = exchange.unit_statement(environment)
    rows: list[dict] = []
    prepared: list[tuple[exchange.Case, dict[str, Chunk], Samples, dict[str, str]]] = []
    order: list[exchange.Case | exchange.Skipped] = []
    for case in exchange.cases(environment):
        if not chosen(case.id, wanted):
            continue
        order.append(case)
        if isinstance(case, exchange.Case):
            chunks, refused = prepare(case, unit)
            prepared.append((case, chunks, Samples(), refused))
    for sweep in range(sweeps):
        for _, chunks, samples, refused in prepared:
            if OURS not in refused:
                samples.extend(chunks, rounds)
        print(f"sweep {sweep + 1} of {sweeps}, load {load_average()}", file=sys.stderr)
    measured = {case.id: (samples, refused) for case, _, samples, refused in prepared}
    for case in order:
        if isinstance(case, exchange.Skipped):
            rows.append(report.skipped_row(case))
        else:
            rows.append(report.exchange_row(case, *measured[case.id]))
    return rows


def prepare(
    case: exchange.Case, unit: exchange.Statement
) -> tuple[dict[str, Chunk], dict[str, str]]:
    """Compile and calibrate the statements; report the error of one that raises."""
    chunks: dict[str, Chunk] = {}
    refused: dict[str, str] = {}
    for name, statement in case.statements(unit).items():
        try:
            chunks[name] = Chunk(statement)
        except Exception as error:
            message = (str(error).splitlines() or [""])[0]
            refused[name] = f"{type(error).__name__}: {message[:80]}"
    return chunks, refused


def measure_footprint(
    environment: Environment, wanted: list[str], wheel: Path | None
) -> list[dict]:
    if wanted and not any(word.startswith("E") for word in wanted):
        return []
    rows = []
    for row in footprint.rows(environment, wheel):
        if chosen(row.id, wanted):
            skipped = isinstance(row, exchange.Skipped)
            rows.append(report.skipped_row(row) if skipped else report.footprint_row(row))
    return rows


def find_wheel(given: Path | None) -> Path | None:
    """Return the given wheel, otherwise the newest in dist/."""
    if given is not None:
        return given
    wheels = sorted(
        (HERE.parent / "dist").glob("refarray-*.whl"), key=lambda path: path.stat().st_mtime
    )
    return wheels[-1] if wheels else None


def commit() -> str:
    command = ["git", "-C", str(HERE), "rev-parse", "--short=10", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "uncommitted"


def run(options: argparse.Namespace) -> dict:
    """Measure the selected cases and return the record."""
    wanted = [word.strip() for word in options.cases.split(",") if word.strip()]
    environment = load(tuple(name.strip() for name in options.partners.split(",")))
    before = load_average()
    rows = measure_exchange(environment, wanted, options.rounds, options.sweeps)
    rows += measure_footprint(environment, wanted, find_wheel(options.wheel))
    build = {
        key: value
        for key, value in environment.native._build_info().items()
        if isinstance(value, (str, int, bool))
    }
    now = datetime.datetime.now(datetime.UTC)
    return {
        "id": options.id or commit(),
        "date": now.date().isoformat(),
        "time": now.strftime("%H:%M"),  # UTC, as the date
        "machine": machine(),
        "build": build,
        "versions": environment.versions,
        "absent": environment.absent,
        "load": [before, load_average()],
        "rounds": options.rounds,
        "sweeps": options.sweeps,
        "rows": rows,
    }


def show(record: dict) -> None:
    facts = record["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    print(f"{versions}; Python {facts['python']}, {facts['cpu']}, {facts['cpus']} cpus")
    before, after = record["load"]
    print(f"load {before} before, {after} after; U = one {UNIT} call, loop included")
    for name, reason in record["absent"].items():
        print(f"absent: {name} ({reason})")
    print()
    print(report.table(record["rows"]))
    judged = [row for row in record["rows"] if row.get("targets") or "error" in row]
    lost = [row["id"] for row in judged if report.missed(row)]
    print(f"\n{len(judged) - len(lost)} of {len(judged)} rows with a target met it", end="")
    print(f"; missed: {', '.join(lost)}" if lost else "")


def main() -> int:
    options = parser().parse_args()
    if options.compare:
        text, ok = report.compare(*options.compare)
        print(text)
        return 0 if ok else 1
    record = run(options)
    show(record)
    paths = [options.json] if options.json else []
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        paths.append(RESULTS / f"{record['date']}-{record['id']}.json")
    for path in paths:
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"recorded in {path.name}")
    if options.fail_above is None:
        return 0
    over = [row["id"] for row in record["rows"] if report.worst_factor(row) > options.fail_above]
    if over:
        print(f"over {options.fail_above} times the limit: {', '.join(over)}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
