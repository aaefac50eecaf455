#!/usr/bin/env python3
"""Runs generated mutants against the tests: `mutants [--folder PREFIX] [--limit N] [--seed N]`.

Of each folder of native or Python sources at most `limit` mutants are drawn, by a hash that stays
the same when others come. One build has them all in it; those that do not compile are left out and
are no kills. A run without a mutant notes which tests reach which mutants; then each mutant's tests
run in a forked child until one fails. An interrupted run goes on if the sources are the same.

survivors.toml lists by place what survived, with the reason if no test can notice it. rates.toml
has the rate of each folder that no later one may fall below. --record writes both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from common import ROOT, configure, output, quiet, say, tool  # noqa: E402
from places import Mutant, find, instrument  # noqa: E402

SURVIVORS, RATES = HERE / "survivors.toml", HERE / "rates.toml"
TOLERANCE = 1.0  # per cent points, or one mutant: tests that depend on time
PROCESSES = 2
BUDGET = 8.0
SUFFIXES = {".cpp", ".hpp", ".py"}
#: Tests of the repository and of other projects reach no mutant that others do not.
LEFT_OUT = {"gates", "package", "partners", "foreign", "consumers", "oom", "mutants", "fuzz"}
ROUNDS = 12  # of the build; after three all mutants of a line with an error are left out


@dataclass
class Tree:
    """A copy of the sources with mutants, and its build."""

    root: Path
    work: Path
    numbered: dict[int, Mutant] = field(default_factory=dict)
    failed: list[Mutant] = field(default_factory=list)

    @property
    def copy(self) -> Path:
        return self.work / "tree"

    @property
    def build(self) -> Path:
        return self.work / "build"

    def sources(self) -> list[str]:
        """The tracked and new files of the repository."""
        listed = ["git", "-C", self.root, "ls-files", "-co", "--exclude-standard"]
        names = (name for name in output(listed).splitlines() if (self.root / name).is_file())
        return [name for name in names if name.split("/")[0] not in {"docs", "benchmarks"}]

    def write(self) -> None:
        """Writes what has changed, so that only this is compiled again."""
        of_path: dict[str, list[tuple[int, Mutant]]] = defaultdict(list)
        for number, mutant in self.numbered.items():
            of_path[mutant.path].append((number, mutant))
        for name in self.sources():
            source = (self.root / name).read_bytes()
            if name in of_path:
                source = instrument(name, source, of_path[name])
            path = self.copy / name
            if not path.is_file() or path.read_bytes() != source:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(source)

    def key(self, *more: object) -> str:
        """Changes with the sources, the tests and the mutants in them."""
        found = hashlib.sha256(repr(more).encode())
        for name in self.sources():
            if "tools" not in (parts := set(name.split("/")[:2])) and not parts & LEFT_OUT:
                found.update((self.copy / name).read_bytes())
        return found.hexdigest()[:12]

    def configure(self, sources: Path, build: Path, *options: str) -> None:
        configure(
            build,
            *options,
            f"-DPython_EXECUTABLE={sys.executable}",
            *("-DREFARRAY_PYTHON=ON", "-DREFARRAY_TESTS=OFF", "-DREFARRAY_LTO=OFF"),
            *("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"),
            source=sources,
        )

    def compile(self) -> None:
        """Builds without the mutants that do not compile, which are remembered."""
        state = self.work / "state.o"
        compiler = os.environ.get("CXX", "c++")
        quiet([compiler, "-O2", "-fPIC", "-std=c++20", "-c", HERE / "state.cpp", "-o", state])
        flags = f"-DCMAKE_CXX_FLAGS=-w -Wno-narrowing -include {HERE / 'state.hpp'}"
        linked = [f"-DCMAKE_{kind}_LINKER_FLAGS={state}" for kind in ("MODULE", "EXE")]
        known = self.work / "failed.txt"
        before = set(known.read_text().splitlines()) if known.is_file() else set()
        self.leave_out({n for n, mutant in self.numbered.items() if mutant.drawn(0) in before})
        self.write()
        self.configure(self.copy, self.build, flags, *linked)
        for turn in range(ROUNDS):
            command = [tool("cmake"), "--build", self.build, "--", "--quiet", "-k", "0"]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode == 0:
                shutil.copy(HERE / "_refarray_mutants.py", self.build / "python")
                return
            wrong = self.blamed(done.stdout + done.stderr, whole_lines=turn >= 3)
            print(f"round {turn + 1}: {len(wrong)} mutants do not compile", flush=True)
            if not wrong:
                sys.exit(done.stdout + done.stderr)
            with known.open("a", encoding="utf-8") as file:
                file.writelines(f"{self.numbered[number].drawn(0)}\n" for number in wrong)
            self.leave_out(wrong)
            self.write()
        sys.exit("the build fails")

    def leave_out(self, numbers: set[int]) -> None:
        self.failed += [self.numbered.pop(number) for number in sorted(numbers)]

    def blamed(self, output: str, whole_lines: bool) -> set[int]:
        """The mutants at the places of the compiler's errors; an error elsewhere, such as in the
        standard library, is that of the lines from which it was instantiated."""
        # A compiler cache may make paths relative.
        place = re.compile(rf"/{self.copy.name}/([^:\s]+):(\d+):(\d+): *(\w+)?")
        found: set[int] = set()
        for block in re.split(r"^(?=FAILED: )", output, flags=re.MULTILINE):
            places = [(m[1], int(m[2]), int(m[3]), m[4]) for m in place.finditer(block)]
            errors = [row for row in places if row[3] in {"error", "fatal"}]
            here = {n for row in errors for n in self.at(*row[:3], whole_lines)}
            found |= here or {n for row in places for n in self.at(*row[:3], True)}
        return found

    def at(self, path: str, line: int, column: int, whole_line: bool) -> set[int]:
        text = (self.copy / path).read_bytes().splitlines()[line - 1]
        numbers = re.compile(rb"refarray_mutants::(?:on\(|Maybe<|argument<)(\d+)")
        before = [int(m[1]) for m in numbers.finditer(text[: column + 20])]
        if before and not whole_line:
            return set(before[-1:]) & self.numbered.keys()
        return {int(m[1]) for m in numbers.finditer(text)} & self.numbered.keys()

    def mutated(self) -> list[str]:
        """The sources that the build compiles, the headers that they include, and the package's
        Python sources."""
        commands = self.work / "commands"
        self.configure(self.root, commands)
        entries = json.loads((commands / "compile_commands.json").read_text(encoding="utf-8"))
        files = {Path(entry["file"]) for entry in entries}
        names = {p.relative_to(self.root).as_posix() for p in files if p.is_relative_to(self.root)}
        included = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)
        new = set(names)
        while new:
            texts = [(self.root / name).read_bytes() for name in new]
            wanted = {f"src/{m.decode()}" for text in texts for m in included.findall(text)}
            new = {name for name in wanted - names if (self.root / name).is_file()}
            names |= new
        python = {name for name in self.sources() if re.match(r"src/.*\.py$", name)}
        return sorted(names) + sorted(python)


def draw(tree: Tree, prefixes: list[str], limit: int, seed: int) -> list[Mutant]:
    """At most `limit` mutants of each folder, in the order of the drawing."""
    of_folder: dict[str, list[Mutant]] = defaultdict(list)
    for name in tree.mutated():
        if Path(name).suffix in SUFFIXES and name.startswith(tuple(prefixes)):
            of_folder[str(Path(name).parent)] += find(name, (tree.root / name).read_bytes())
    drawn = []
    for found in of_folder.values():
        drawn += sorted(found, key=lambda mutant: mutant.drawn(seed))[:limit]
    return drawn


@dataclass(frozen=True)
class Suite:
    """Tests that run in processes of their own, with these environment variables."""

    name: str
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()


def suites(tree: Tree, tests: list[str]) -> list[Suite]:
    """The tests, then those of the simulated drivers on each personality, the strictest first."""
    root = tree.root
    given = tests or [
        str(path.relative_to(root))
        for path in sorted((root / "tests").iterdir())
        if path.is_dir() and path.name not in LEFT_OUT and any(path.rglob("test_*.py"))
    ]
    plain = [test for test in given if "simulated" not in test]
    found = [Suite("tests", tuple(plain))] if plain else []
    if tests and len(plain) == len(tests):
        return found
    (package,) = (name for name in tree.sources() if name.endswith("fakegpu/_libraries.py"))
    sys.path.insert(0, str((root / package).parents[1]))
    import fakegpu

    fakegpu._libraries.folder()  # compiles the drivers
    files = sorted((root / "tests").rglob("simulated/sim_*.py"))
    names = tuple(str(path.relative_to(root)) for path in files)
    for name, settings in reversed(fakegpu.PERSONALITIES.items()):
        found.append(Suite(name, names, (("SIMULATED_DRIVERS", json.dumps(settings)),)))
    return found


@dataclass
class Runner:
    tree: Tree
    budget: float

    def start(self, suite: Suite, number: int, order: dict[str, Any]) -> tuple[Any, Path]:
        names = (f"{suite.name}-{number}.{end}" for end in ("jsonl", "state", "order", "log"))
        results, state, path, log = (self.tree.work / name for name in names)
        results.write_text("", encoding="utf-8")
        state.write_bytes(bytes(4 + (1 << 20)))
        order |= {"results": str(results), "budget": self.budget, "least": 20.0}
        path.write_text(json.dumps(order), encoding="utf-8")
        python = os.pathsep.join([str(self.tree.build / "python"), str(HERE)])
        variables = {"REFARRAY_MUTANTS": str(state), "REFARRAY_ORDER": str(path)}
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider"),
                *("-p", "no:xdist", "--lockstep-rounds=100", *suite.arguments),
            ],
            cwd=self.tree.root,
            env={**os.environ, **variables, **dict(suite.variables), "PYTHONPATH": python}
            | {"OPENBLAS_NUM_THREADS": "1", "XDG_CACHE_HOME": str(self.tree.work / "cache")},
            stdout=log.open("wb"),
            stderr=subprocess.STDOUT,
        )
        return process, results

    def rows(self, suite: Suite, orders: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Runs a process for each order and yields what they note."""
        running = [(*self.start(suite, i, order), 0) for i, order in enumerate(orders)]
        while running:
            time.sleep(0.2)
            for entry in list(running):
                process, path, seen = entry
                ended = process.poll() is not None
                lines = path.read_text(encoding="utf-8").split("\n")[:-1]
                yield from map(json.loads, lines[seen:])
                running[running.index(entry)] = (process, path, len(lines))
                if ended:
                    running = [each for each in running if each[0] is not process]
                    if not lines or process.returncode not in (0, 5):
                        log = path.with_name(f"{path.stem}.log")
                        sys.exit(log.read_text(encoding="utf-8")[-5000:])

    def run_unmutated(self, suite: Suite) -> dict[str, list[Any]]:
        """The seconds of each test that passes, and which mutants it reaches."""
        path = self.tree.work / f"{suite.name}-{self.tree.key(suite)}.map"
        if path.is_file():
            found: dict[str, list[Any]] = json.loads(path.read_text(encoding="utf-8"))
            return found
        found, failed = {}, []
        parts = [{"tests": None, "part": [i, PROCESSES]} for i in range(PROCESSES)]
        for row in self.rows(suite, parts):
            if row["failed"]:
                failed.append(f"{row['test']} ({row['failed']})")
            elif row["test"]:
                found[row["test"]] = [row["seconds"], row["reached"]]
        print(f"{suite.name}: {len(found)} tests pass; left out: {'; '.join(failed) or 'none'}")
        if not found:
            sys.exit("no test passes without a mutant")
        path.write_text(json.dumps(found), encoding="utf-8")
        return found

    def run_mutants(
        self, suite: Suite, tests: dict[str, list[Any]], numbers: list[int]
    ) -> Iterator[dict[str, Any]]:
        """Those of one function in one process, which learns what kills them."""
        groups = {n: ":".join(self.tree.numbered[n].place[:2]) for n in numbers}
        parts = sorted(set(groups.values()))
        part = {group: index % PROCESSES for index, group in enumerate(parts)}
        orders = [
            {"tests": tests, "mutants": [[n, groups[n]] for n in numbers if part[groups[n]] == i]}
            for i in range(PROCESSES)
        ]
        for row in self.rows(suite, [order for order in orders if order["mutants"]]):
            if "number" in row:
                yield row


def run(runner: Runner, wanted: list[Suite]) -> dict[int, dict[str, Any]]:
    """The last outcome of each mutant: of the suite that kills it, or of the last that ran."""
    tree = runner.tree
    kept = tree.work / f"{tree.key(wanted, runner.budget)}.done"
    rows = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else []
    outcomes: dict[tuple[int, str], dict[str, Any]] = {}
    for row in map(json.loads, rows):
        outcomes[row["number"], row["suite"]] = row
    killed = {number for (number, _), row in outcomes.items() if row["by"]}
    for suite in wanted:
        say(f"{suite.name} without a mutant")
        tests = runner.run_unmutated(suite)
        reached = {number for _, numbers in tests.values() for number in numbers}
        left = [
            n for n in tree.numbered if n in reached - killed and (n, suite.name) not in outcomes
        ]
        say(f"{suite.name} with {len(left)} mutants that it reaches")
        for done, row in enumerate(runner.run_mutants(suite, tests, left), 1):
            row["suite"] = suite.name
            outcomes[row["number"], suite.name] = row
            killed |= {row["number"]} if row["by"] else set()
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            by = f"{row['by'].rpartition('/')[2]} ({row['how']})" if row["by"] else ""
            verdict = "killed" if row["by"] else "survived"
            mutant = tree.numbered[row["number"]]
            print(f"{done}/{len(left)} {verdict:<8} {mutant} {row['seconds']} s {by}", flush=True)
    last: dict[int, dict[str, Any]] = {}
    for (number, _), row in outcomes.items():
        last[number] = row if row["by"] or number not in last else last[number]
    return last


def folder_of(mutant: Mutant) -> str:
    return str(Path(mutant.path).parent)


COLUMNS = ("mutants", "not compiled", "reached", "killed", "crashes", "equivalent")
Place = tuple[str, str, str, int]


def read_reasons() -> dict[Place, str]:
    rows = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))["survivors"]
    return {(path, function, operator, n): why for path, function, operator, n, why in rows}


def count(
    tree: Tree, outcomes: dict[int, dict[str, Any]], reasons: dict[Place, str]
) -> dict[str, Counter[str]]:
    """The counts of each folder. What has a reason and was not killed is equivalent."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in tree.failed:
        counts[folder_of(mutant)]["not compiled"] += 1
    for number, mutant in tree.numbered.items():
        of, outcome = counts[folder_of(mutant)], outcomes.get(number, {})
        of["mutants"] += 1
        of["reached"] += bool(outcome)
        if outcome.get("by"):
            of["killed"] += 1
            of["crashes"] += outcome["how"] not in {"setup", "call", "teardown"}
        else:
            of["equivalent"] += bool(reasons.get(mutant.place))
    return counts


def rate(of: Counter[str]) -> float:
    return round(100 * of["killed"] / max(1, of["mutants"] - of["equivalent"]), 1)


def summary(counts: dict[str, Counter[str]], given: argparse.Namespace) -> str:
    lines = [
        "# The rates of killed mutants, which may not fall. `make mutants RECORD=1` writes them.",
        f'date = "{date.today()}"',
        f'commit = "{output(["git", "-C", given.root, "rev-parse", "--short=12", "HEAD"])}"',
        f"seed = {given.seed}",
        f"limit = {min(given.limit, given.most)}",
        "",
        f"[folders] # rate, {', '.join(COLUMNS)}",
    ]
    for name, of in sorted(counts.items()):
        numbers = ", ".join(str(of[column]) for column in COLUMNS)
        lines.append(f'"{name}" = [{rate(of)}, {numbers}]')
    return "\n".join(lines) + "\n"


def fallen(counts: dict[str, Counter[str]], text: str) -> list[str]:
    """The folders whose rate is lower than recorded. One without a record is held to the lowest."""
    recorded = {name: row[0] for name, row in tomllib.loads(text)["folders"].items()}
    lowest = min(recorded.values(), default=0.0)
    return [
        f"{name}: {rate(of)} % of {of['mutants']} mutants are killed; it was {least} %"
        for name, of in sorted(counts.items())
        if rate(of) + max(TOLERANCE, 100 / of["mutants"]) < (least := recorded.get(name, lowest))
    ]


def record(text: str, survived: Iterable[Mutant], ran: set[str]) -> None:
    """Writes the summary, and the survivors of the folders that ran; those of others stay."""
    before = tomllib.loads(RATES.read_text(encoding="utf-8"))["folders"]
    kept = [f'"{name}" = {row}' for name, row in before.items() if name not in ran]
    RATES.write_text(text + "".join(f"{line}\n" for line in kept), encoding="utf-8")
    reasons = read_reasons()
    rows = {place: why for place, why in reasons.items() if str(Path(place[0]).parent) not in ran}
    rows |= {mutant.place: reasons.get(mutant.place, "") for mutant in survived}
    head = SURVIVORS.read_text(encoding="utf-8").partition("survivors = [")[0]
    lines = [f"  {json.dumps([*place, why])}," for place, why in sorted(rows.items())]
    SURVIVORS.write_text("\n".join([f"{head}survivors = [", *lines, "]", ""]), encoding="utf-8")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="files or folders of tests; all without")
    parser.add_argument("--folder", nargs="+", default=["src/"], help="beginnings of paths")
    parser.add_argument("--limit", type=int, default=300, help="mutants of a folder")
    parser.add_argument("--most", type=int, default=1 << 20, help="run so many of each folder")
    parser.add_argument("--seed", type=int, default=32)
    parser.add_argument(
        "--budget", type=float, default=BUDGET, help="seconds of a mutant's tests, without it"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout of the sources")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--record", action="store_true", help="write the summary into the data")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    tree = Tree(given.root.resolve(), given.work.resolve())
    tree.work.mkdir(parents=True, exist_ok=True)
    say(f"build in {tree.build}")
    drawn = draw(tree, given.folder, given.limit, given.seed)
    tree.numbered = dict(enumerate(drawn, 1))
    print(f"{len(drawn)} mutants in {len({folder_of(m) for m in drawn})} folders", flush=True)
    tree.compile()
    seen: Counter[str] = Counter()
    for number, mutant in list(tree.numbered.items()):
        seen[folder_of(mutant)] += 1
        if seen[folder_of(mutant)] > given.most:
            del tree.numbered[number]
    outcomes = run(Runner(tree, given.budget), suites(tree, given.tests))
    counts = count(tree, outcomes, read_reasons())
    survived = [m for number, m in tree.numbered.items() if not outcomes.get(number, {}).get("by")]
    say("survived")
    for mutant in survived:
        print(f"{mutant} line {mutant.line}")
    text = summary(counts, given)
    say("summary")
    print(text)
    (tree.work / "summary.toml").write_text(text, encoding="utf-8")
    problems = fallen(counts, RATES.read_text(encoding="utf-8"))
    print("\n".join(f"FALLEN {problem}" for problem in problems))
    if given.record and not problems:
        record(text, survived, set(counts))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
