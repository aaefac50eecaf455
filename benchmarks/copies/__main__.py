"""Command line of the copy benchmarks: measure, print the table, record it."""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import sys
from collections.abc import Iterable
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

from benchmarks.__main__ import RESULTS, commit
from benchmarks.environment import Environment, load, load_average, machine
from benchmarks.timing import Statement

from . import cases as known
from .cases import MIB, Case
from .contenders import MEMCPY, OURS, Memory, load_hptt, statements
from .measure import Row, arrays_of, explanation, is_missed, mean, measured, planning, rounds

NEW = 64 * MIB
PLAN_LIMIT = 150.0


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m benchmarks.copies", description=__doc__)
    result.add_argument("--cases", default="", help="ids or their first words, e.g. B2,B8,P,S")
    result.add_argument("--seconds", type=float, default=0.8, help="for each case")
    result.add_argument("--json", type=Path, help="write the record to this file")
    result.add_argument("--save", action="store_true", help="write it to benchmarks/results")
    result.add_argument("--id", default="", help="name of the record; default: the commit")
    return result


class Run:
    """One run over all groups, with their shared state."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.wanted = [word.strip() for word in options.cases.split(",") if word.strip()]
        self.seconds: float = options.seconds
        self.environment: Environment = load(("numpy", "torch"))
        if not self.environment.has("numpy"):
            sys.exit("NumPy is needed: it lays the memory out")
        if self.environment.has("torch"):
            self.environment.partners["torch"].set_num_threads(1)
        self.hptt: ctypes.CDLL | None
        self.hptt, reason = load_hptt()
        if self.hptt is None:
            self.environment.absent["hptt"] = reason
        self.memory = Memory(self.environment, self.largest())
        self.rows: list[Row] = []

    def largest(self) -> int:
        """Bytes of the largest array of all cases."""
        numpy = self.environment.partners["numpy"]
        every = chain(known.cases(), known.permutations(), known.growing())
        return max(
            numpy.dtype(case.dtype).itemsize * max(prod(case.dst_shape), prod(case.src_shape))
            for case in every
        )

    def is_wanted(self, id_: str) -> bool:
        first = id_.split()[0]
        return not self.wanted or any(
            word in (id_, first, first.rstrip("0123456789")) for word in self.wanted
        )

    def measure(self, case: Case, seconds: float, least: int) -> Row:
        found = statements(self.memory, case, self.hptt)
        row = measured(case, rounds(found, seconds, least))
        row["nbytes"] = case.moved * self.memory.numpy.dtype(case.dtype).itemsize
        self.verify(case, found)
        if is_missed(row):
            row["why"] = explanation(self.memory, case, found[OURS])
        return row

    def verify(self, case: Case, found: dict[str, Statement]) -> None:
        """Checks that our result equals NumPy's bytes."""
        numpy = self.memory.numpy
        dst, _ = self.memory.arrays(case)
        dst.view("u1").fill(0)
        self.environment.native._copy_into(*arrays_of(found[OURS]).values())
        seen = dst.copy()
        dst.view("u1").fill(0)
        numpy.copyto(found["numpy"].names["d"], found["numpy"].names["s"])
        if not numpy.array_equal(seen.view("u1"), dst.view("u1")):
            sys.exit(f"{case.id}: the copy is wrong")

    def group(self, found: Iterable[Case], seconds: float, least: int) -> list[Row]:
        made = []
        for case in found:
            if self.is_wanted(case.id):
                made.append(self.measure(case, seconds, least))
                print(line(made[-1]), flush=True)
        self.rows += made
        return made

    def derived(self, row: Row) -> None:
        if self.is_wanted(row["id"]):
            self.rows.append({"kind": "copy", **row})
            print(line(self.rows[-1]), flush=True)


def new_result(run: Run) -> Row:
    """B15: a copy into a new array of 64 MiB relative to one into an existing array."""
    case = known.permuted("B15", "new 64 MiB", "float32", (NEW // 4,), (0,))
    found = statements(run.memory, case, None)
    _, src = run.memory.arrays(case)
    own = run.environment.refarray
    found["new"] = Statement("f(s)", {"f": own.copy, "s": own.asarray(src)})
    found["numpy new"] = Statement("s.copy()", {"s": src})
    if "torch" in found:
        torch = run.environment.partners["torch"]
        found["torch new"] = Statement("s.clone()", {"s": torch.from_numpy(src)})
    timers = rounds(found, 4 * run.seconds, 7)
    ratios = {OURS: round(timers["new"].least / timers[OURS].least, 3)}
    for name in ("numpy", "torch"):
        if name in found:
            ratios[name] = round(timers[f"{name} new"].least / timers[name].least, 3)
    title = "a new result of 64 MiB"
    return {"id": "B15", "title": title, "unit": "out=", "ratios": ratios, "target": 1.15}


def power_of_two(rows: list[Row]) -> Row | None:
    """B16: the cost per byte of a transpose of 4096 relative to one of 4000."""
    by_id = {row["id"]: row for row in rows}
    if not {"B3 4000", "B3 4096"} <= by_id.keys():
        return None
    small, large = (by_id[id_]["ns"] for id_ in ("B3 4000", "B3 4096"))
    ratios = {
        name: round(large[name]["min"] / small[name]["min"] * (4000 / 4096) ** 2, 3)
        for name in large
        if name != MEMCPY and name in small
    }
    title = ".T f32 4096 by the byte"
    return {"id": "B16", "title": title, "unit": "4000", "ratios": ratios, "target": 1.4}


def mean_rows(rows: list[Row]) -> list[Row]:
    """B14: the geometric means over the permutations, and the ratio of HPTT to ours."""
    names = [name for name in rows[0]["ratios"] if all(name in row["ratios"] for row in rows)]
    ratios = {name: round(mean(row["ratios"][name] for row in rows), 3) for name in names}
    title = f"mean of {len(rows)} permutations"
    made: list[Row] = [
        {"id": "B14", "title": title, "unit": MEMCPY, "ratios": ratios, "target": 1.6}
    ]
    if "hptt" in ratios:
        against = {OURS: round(ratios[OURS] / ratios["hptt"], 3)}
        made.append(
            {
                "id": "B14 hptt",
                "title": "that over HPTT's",
                "unit": "hptt",
                "ratios": against,
                "target": round(1 / 1.4, 3),
            }
        )
    return made


def plan_row(run: Run) -> Row:
    case = known.permuted("plan", "planning, 4 axes", "float32", (8, 9, 10, 11), (2, 0, 3, 1))
    found = statements(run.memory, case, None)
    nanoseconds = planning(run.environment.native, found[OURS])
    return {
        "id": "plan",
        "title": case.title,
        "unit": "ns",
        "ratios": {OURS: nanoseconds},
        "target": PLAN_LIMIT,
    }


def line(row: Row) -> str:
    """One line of the table; a row that misses its target says where its time goes."""
    ours = row["ratios"][OURS]
    target = row["target"]
    verdict = "" if target is None else f"<= {target:g} {'MISSED' if ours > target else 'met'}"
    others = ", ".join(f"{name} {value:g}" for name, value in row["ratios"].items() if name != OURS)
    cells = f"{row['id']:<12}{row['title']:<40.39}{ours:>8.3f} {row.get('unit', MEMCPY):<7}"
    text = f"{cells}{verdict:<16}{others}"
    if "why" in row:
        why = row["why"]
        levels = ", ".join(f"{isa} {ns / 1000:.1f}" for isa, ns in why["ns_by_isa"].items())
        text += f"\n{'':12}memcpy {row['ns'][MEMCPY]['min'] / 1000:.1f} us; ours, us: {levels}"
        text += f"; planning {why['plan_ns']:.0f} ns"
        if "lines" in why:
            text += f"; lines touched for each moved: {why['lines']}"
    return text


def record(run: Run, before: float, options: argparse.Namespace) -> dict[str, Any]:
    build = {
        key: value
        for key, value in run.environment.native._build_info().items()
        if isinstance(value, (str, int, bool))
    }
    return {
        "id": options.id or f"{commit()}-copy",
        "date": datetime.date.today().isoformat(),
        "time": datetime.datetime.now().strftime("%H:%M"),
        "machine": machine(),
        "build": build,
        "versions": run.environment.versions,
        "absent": {
            name: why for name, why in run.environment.absent.items() if why != "not asked for"
        },
        "load": [before, load_average()],
        "rows": run.rows,
    }


def main() -> None:
    options = parser().parse_args()
    before = load_average()
    run = Run(options)
    facts = run.environment.native._build_info()
    print(f"{machine()['cpu']}; kernels: {facts['isa']} of {', '.join(facts['isas'])}; one thread")
    for name, why in run.environment.absent.items():
        if why != "not asked for":
            print(f"absent: {name} ({why})")
    print(f"{'id':<12}{'case':<40}{'ours':>8} {'unit':<7}{'target':<16}others")
    rows = run.group(known.cases(), run.seconds, 7)
    permuted = run.group(known.permutations(), 0.0, 7)
    if len(permuted) == 57:
        for row in mean_rows(permuted):
            run.derived(row)
    if run.is_wanted("B15"):
        run.derived(new_result(run))
    row = power_of_two(rows)
    if row is not None:
        run.derived(row)
    run.derived(plan_row(run))
    run.group(known.growing(), run.seconds / 3, 5)
    made = record(run, before, options)
    judged = [row for row in run.rows if row["target"] is not None]
    lost = [row["id"] for row in judged if is_missed(row)]
    print(f"\n{len(judged) - len(lost)} of {len(judged)} rows with a target met it", end="")
    print(f"; missed: {', '.join(lost)}" if lost else "")
    print(f"load {before} before, {load_average()} after")
    paths = [options.json] if options.json else []
    if options.save:
        paths.append(RESULTS / f"{made['date']}-{made['id']}.json")
    for path in paths:
        path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        print(f"recorded in {path.name}")


if __name__ == "__main__":
    main()
