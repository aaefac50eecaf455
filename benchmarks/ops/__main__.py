"""Command line of the computation benchmarks: measure, print the table, record it."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.__main__ import RESULTS, commit
from benchmarks.copies.measure import Timer, rounds
from benchmarks.environment import Environment, load, load_average, machine
from benchmarks.exchange import unit_statement
from benchmarks.timing import Loop, Statement

from .cases import SMALL, Case, S, U, cases

OURS, UNIT, STRICT = "refarray", "no-op", "array_api_strict"
OUR_STRICT = "refarray strict"  # refarray.namespace(strict=True)
PEERS = ("numpy", "torch")
LIBRARIES = (OURS, *PEERS, STRICT, OUR_STRICT)
#: Of a call of array-api-strict, on average over the functions of C10.
STRICT_TARGET = 1 / 40
#: What a call in a strict namespace may take above the same one in the default namespace, in U.
EXCESS_TARGET = 0.5
Row = dict[str, Any]


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m benchmarks.ops", description=__doc__)
    result.add_argument("--cases", default="", help="ids or their first words, e.g. C1,C6")
    result.add_argument("--seconds", type=float, default=0.5, help="for each case")
    result.add_argument("--json", type=Path, help="write the record to this file")
    result.add_argument("--save", action="store_true", help="write it to benchmarks/results")
    result.add_argument("--id", default="", help="name of the record; default: the commit")
    return result


class Operands:
    """The same values as arrays of each library, which share one memory."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        ours = environment.refarray
        self.libraries = {
            OURS: ours,
            OUR_STRICT: ours.namespace(strict=True),
            **environment.partners,
        }
        self.numpy = environment.partners["numpy"]
        self._of: dict[tuple[str, int], dict[str, Any]] = {}

    def of(self, dtype: str, size: int) -> dict[str, Any]:
        """x in no order, y without zeros, a mask that is True for half, indices, matrices."""
        if (dtype, size) not in self._of:
            random = self.numpy.random.default_rng(7)
            values = random.uniform(1, 100, size), random.uniform(1, 100, size)
            self._of[dtype, size] = {
                "x": values[0].astype(dtype),
                "y": values[1].astype(dtype),
                "m": random.random(size) < 0.5,
                "i": random.integers(0, size, size),
            }
            order = math.isqrt(size)
            if order**2 == size:
                made = self._of[dtype, size]
                made["a"], made["b"] = (made[name].reshape(order, order) for name in "xy")
                if made["a"].dtype.kind == "f":
                    made["p"] = made["a"] @ made["a"].T
                    made["p"].flat[:: order + 1] += order * 100
        return self._of[dtype, size]

    def statement(self, case: Case, library: str) -> Statement | None:
        code = case.code(library)
        if code is None or library not in self.libraries:
            return None
        module = self.libraries[library]
        names = {"l": module}
        for name, array in self.of(case.dtype, case.size).items():
            names[name] = array if library == "numpy" else module.from_dlpack(array)
        used = {name: value for name, value in names.items() if name in words(code)}
        return Statement(code, used)

    def statements(self, case: Case) -> dict[str, Statement]:
        found = {name: self.statement(case, name) for name in LIBRARIES}
        return {name: statement for name, statement in found.items() if statement is not None}


def words(code: str) -> set[str]:
    """The names in a statement."""
    return set("".join(c if c.isalnum() or c == "_" else " " for c in code).split())


def measured(case: Case, timers: dict[str, Timer], unit: float) -> Row:
    """The record of a case: nanoseconds, and ours in U or relative to the better peer."""
    by = unit
    if case.unit != U:
        peers = [STRICT] if case.unit == S else PEERS
        by = min((timers[name].least for name in peers if name in timers), default=unit)
    return {
        "id": case.id,
        "title": case.title,
        "kind": "ops",
        "unit": case.unit,
        "target": case.target,
        "rounds": len(timers[OURS].times),
        "ns": {
            name: {
                "min": round(timer.least, 1),
                "median": round(statistics.median(timer.times), 1),
            }
            for name, timer in timers.items()
        },
        "ratios": {name: round(timer.least / by, 4) for name, timer in timers.items()},
    }


def summary_row(id: str, title: str, unit: str, target: float, ratios: dict[str, float]) -> Row:
    return {
        "id": id,
        "title": title,
        "kind": "ops",
        "unit": unit,
        "target": target,
        "ratios": {name: round(value, 4) for name, value in ratios.items()},
    }


def strict_summary(made: list[Row]) -> list[Row]:
    """The geometric means of the rows of C10."""
    of = [row["ratios"] for row in made if row["unit"] == S and STRICT in row["ratios"]]
    if not of:
        return []
    means = {name: statistics.geometric_mean(row[name] for row in of) for name in of[0]}
    title = f"geometric mean of {len(of)} functions"
    out = [summary_row("C10", title, S, STRICT_TARGET, means)]
    if OUR_STRICT in means:
        ours = {OURS: means[OUR_STRICT], STRICT: means[STRICT]}
        out.append(summary_row("C15 mean", f"strict: {title}", S, STRICT_TARGET, ours))
    return out


def excess_summary(made: list[Row], unit: float) -> list[Row]:
    """What strict namespaces take above the default one: on average, and at the named calls."""
    above = {
        row["id"]: (row["ns"][OUR_STRICT]["min"] - row["ns"][OURS]["min"]) / unit
        for row in made
        if OUR_STRICT in row.get("ns", {})
    }
    if not above:
        return []
    mean = statistics.mean(above.values())
    title = f"strict above open, mean of {len(above)} calls"
    out = [summary_row("C15 above", title, U, EXCESS_TARGET, {OURS: mean})]
    for id in ("C1 slice", "C1 float"):
        if id in above:
            name = f"C15 {id.split()[1]}"
            out.append(
                summary_row(name, f"strict above open: {id}", U, EXCESS_TARGET, {OURS: above[id]})
            )
    return out


def is_missed(row: Row) -> bool:
    return row["target"] is not None and row["ratios"][OURS] > row["target"]


def line(row: Row) -> str:
    target = row["target"]
    verdict = "" if target is None else f"<= {target:g} {'MISSED' if is_missed(row) else 'met'}"
    others = ", ".join(f"{k} {v:g}" for k, v in row["ratios"].items() if k != OURS)
    cells = f"{row['id']:<24}{row['title']:<38.37}{row['ratios'][OURS]:>8.3f} {row['unit']:<3}"
    return f"{cells}{verdict:<16}{others}"


def is_wanted(case: Case, wanted: list[str]) -> bool:
    return not wanted or case.id in wanted or case.id.split()[0] in wanted


def run(environment: Environment, options: argparse.Namespace) -> list[Row]:
    operands = Operands(environment)
    wanted = [word.strip() for word in options.cases.split(",") if word.strip()]
    unit = rounds({UNIT: unit_statement(environment)}, options.seconds, 7)[UNIT].least
    print(f"U is {unit:.1f} ns")
    made = []
    for case in cases():
        if not is_wanted(case, wanted):
            continue
        least = 5 if case.size >= 512**2 else 7
        seconds = options.seconds * (0.5 if case.size == SMALL else 1)
        statements = operands.statements(case)
        for statement in statements.values():
            Loop(statement).run(1, time.thread_time_ns)  # makes what the libraries cache
        made.append(measured(case, rounds(statements, seconds, least), unit))
        print(line(made[-1]), flush=True)
    summary = [*strict_summary(made), *excess_summary(made, unit)]
    print(*map(line, summary), sep="\n")
    return made + summary


def main() -> None:
    options = parser().parse_args()
    before = load_average()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
    environment = load((*PEERS, STRICT))
    if not environment.has("numpy"):
        sys.exit("NumPy is needed: it makes the operands")
    if environment.has("torch"):
        environment.partners["torch"].set_num_threads(1)
    facts = environment.native._build_info()
    print(f"{machine()['cpu']}; kernels: {facts['isa']}; one thread; absent: {environment.absent}")
    rows = run(environment, options)
    judged = [row for row in rows if row["target"] is not None]
    lost = [row["id"] for row in judged if is_missed(row)]
    print(f"\n{len(judged) - len(lost)} of {len(judged)} rows with a target met it", end="")
    print(f"; missed: {', '.join(lost)}" if lost else "")
    print(f"load {before} before, {load_average()} after")
    record = {
        "id": options.id or f"{commit()}-ops",
        "date": datetime.date.today().isoformat(),
        "time": datetime.datetime.now().strftime("%H:%M"),
        "machine": machine(),
        "build": {k: v for k, v in facts.items() if isinstance(v, (str, int, bool))},
        "versions": environment.versions,
        "absent": {k: v for k, v in environment.absent.items() if v != "not asked for"},
        "load": [before, load_average()],
        "rows": rows,
    }
    paths = [options.json] if options.json else []
    if options.save:
        paths.append(RESULTS / f"{record['date']}-{record['id']}.json")
    for path in paths:
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"recorded in {path.name}")


if __name__ == "__main__":
    main()
