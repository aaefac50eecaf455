"""Measures a group of benchmarks with the peers in one run, prints its rows, and records them.

Groups: exchange, copies, ops, growth, shared, footprint, threads (without a GIL), abi. `--save`
writes the summary that the manual shows to docs/records/bench, and keeps all values on the branch
`records`; `--compare` compares two files of values (`--json`) by pyperf.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from . import page
from .environment import PARTNERS, Environment, facts, load, load_average, records
from .measure import OURS, UNIT, Absent, Case, Statement, interleaved, is_wanted, write_values

Values = dict[tuple[str, str], list[float]]
Figures = dict[str, dict[str, float]]
#: What each group measures with; every partner if it is not named.
USED = {
    "copies": ("numpy", "torch"),
    "ops": ("numpy", "torch", "array_api_strict"),
    "growth": ("numpy", "torch"),
    "threads": ("numpy",),
    "shared": ("torch",),
}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    result.add_argument("group", nargs="?", default="exchange", choices=page.GROUPS)
    result.add_argument("--cases", default="", help="ids or first words or letters: A1,A5,E")
    result.add_argument("--partners", default="", help="default: all that the group uses")
    result.add_argument("--seconds", type=float, help="for each case")
    result.add_argument("--json", type=Path, help="write all values to this file")
    result.add_argument("--save", action="store_true", help="record the run")
    result.add_argument("--figures", action="store_true", help="print only ids and our figures")
    result.add_argument("--compare", nargs=2, metavar=("FIRST", "SECOND"))
    return result


def runnable(statements: dict[str, Statement]) -> dict[str, Statement]:
    """The statements that run; a peer's that raises is named and left out."""
    found = {}
    for name, statement in statements.items():
        try:
            statement.timer().timeit(1)  # also makes what libraries cache
        except Exception as error:
            if name == OURS:
                raise
            message = (str(error).splitlines() or [""])[0][:80]
            print(f"  {name}: {type(error).__name__}: {message}", file=sys.stderr)
        else:
            found[name] = statement
    return found


def timed(
    module: ModuleType, environment: Environment, wanted: list[str], seconds: float
) -> Iterator[tuple[Case, dict[str, list[float]]]]:
    """The times of every wanted case that can run here."""
    setup = module.Setup(environment)
    for case in module.cases():
        if not is_wanted(case.id, wanted):
            continue
        try:
            statements = runnable(setup.statements(case))
        except Absent as why:
            if case.given is not None:
                print(f"{case.id:<24}{case.title:<40.39}skipped: {why}", file=sys.stderr)
            continue
        timers = {name: statement.timer() for name, statement in statements.items()}
        yield case, interleaved(timers, seconds if case.shown else 0.0)


def measure(
    module: ModuleType, environment: Environment, options: argparse.Namespace
) -> tuple[Figures, Values]:
    """The figures of the group, and all values where it is timed; prints each row."""
    wanted = [word.strip() for word in options.cases.split(",") if word.strip()]
    known = {case.id: case for case in module.cases()}
    figures: Figures = {}
    values: Values = {}

    def keep(case: Case, found: dict[str, float]) -> None:
        figures[case.id] = found
        print(f"{case.id} {found[OURS]:.6g}" if options.figures else line(case, found), flush=True)

    if not hasattr(module, "Setup"):
        for id_, found in module.measured(environment, wanted):
            keep(known[id_], found)
        return figures, values
    seconds = module.SECONDS if options.seconds is None else options.seconds
    least: Figures = {}
    for case, times in timed(module, environment, wanted, seconds):
        values |= {(case.id, name): found for name, found in times.items()}
        least[case.id] = {name: min(found) for name, found in times.items()}
        keep(case, case.figures(least[case.id]))
    for id_, found in getattr(module, "summarised", lambda _: {})(least).items():
        keep(known[id_], found)
    return figures, values


def line(case: Case, figures: dict[str, float]) -> str:
    """One line of the printed table."""
    ours = figures.get(OURS)
    cells = f"{case.id:<24}{case.title:<40.39}"
    cells += f"{'' if ours is None else page.figure(ours):>8} {case.label:<7}"
    verdict = page.verdicts(case, figures).replace("**missed**", "MISSED")
    others = ", ".join(f"{name} {page.figure(v)}" for name, v in figures.items() if name != OURS)
    return f"{cells}{verdict:<24}  {others}"


def commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=10", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "uncommitted"


def save(
    group: str, environment: Environment, figures: Figures, values: Values, before: float
) -> None:
    """Writes the summary of this processor, and keeps all values."""
    now = datetime.datetime.now(datetime.UTC)
    unit = [min(found) for (_, name), found in values.items() if name == UNIT]
    summary = {
        "group": group,
        "commit": commit(),
        "date": now.strftime("%Y-%m-%d"),
        "time": now.strftime("%H:%M"),  # UTC, as the date
        **facts(environment),
        "load": [before, load_average()],
        **({"unit_ns": min(unit)} if unit else {}),
    }
    name = f"{group}-{page.slug(summary['cpu'])}"
    if values:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "values.json"
            write_values(values, path)
            summary["raw"] = records.keep(f"bench/{name}.json", path.read_bytes())
    shown = {case.id for case in page.cases(group) if case.shown}
    kept = {id_: found for id_, found in figures.items() if id_ in shown}
    found = {**summary, "figures": page.folded(kept)}
    records.write(page.SUMMARIES / f"{name}.toml", f"A run of `make bench B={group}`.", found)
    print(f"recorded in docs/records/bench/{name}.toml")


def main() -> int:
    options = parser().parse_args()
    if options.save and (options.cases or options.partners):
        parser().error("a summary is of a whole group: --save takes no --cases and no --partners")
    if options.compare:
        command = [sys.executable, "-m", "pyperf", "compare_to", "--table", *options.compare]
        return subprocess.run(command, check=False).returncode
    before = load_average()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
    named = tuple(name for name in options.partners.split(",") if name)
    environment = load(named or USED.get(options.group, PARTNERS))
    if environment.has("torch"):
        environment.partners["torch"].set_num_threads(1)
    module = importlib.import_module(f".{options.group}", __package__)
    if not options.figures:
        about = facts(environment)
        print(
            f"{about['cpu']}, {about['python']}, {about['build']}: {', '.join(about['versions'])}"
        )
        print(f"absent: {', '.join(about['absent']) or 'nothing'}")
    figures, values = measure(module, environment, options)
    if options.json:
        write_values(values, options.json)
    if options.save:
        save(options.group, environment, figures, values, before)
    if not options.figures:
        cases = [case for case in module.cases() if case.targets and case.id in figures]
        lost = [case.id for case in cases if case.missed(figures[case.id])]
        print(f"\n{len(cases) - len(lost)} of {len(cases)} rows with a target met it", end="")
        print(f"; missed: {', '.join(lost)}" if lost else "")
        print(f"load {before} before, {load_average()} after")
    return 0


if __name__ == "__main__":
    sys.exit(main())
