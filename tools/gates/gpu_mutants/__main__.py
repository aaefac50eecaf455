#!/usr/bin/env python3
"""Runs the mutants of the GPU layer against its tests: `gpu_mutants [WORD ...]`.

The mutants are data in tests/gates/device_mutants. For each, one source is compiled with the bug
in it and the extension module is linked again. Then tests/devices/simulated runs on one personality
of the simulated drivers after the other, and then the tests of tests/devices that start their own
processes, until a test fails. Only mutants are run whose names contain one of the words.

Results are kept in build/gpu-mutants/results.jsonl. A kill is not repeated while the mutated source
is the same; `--again` repeats it. Exits 1 if less than 97 % of the mutants without a proof of
equivalence are killed, if a mutant with one is killed, or if one cannot be built. --record writes
docs/gpu_mutants.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import ROOT, TESTS, build, say, tool

sys.path[:0] = [str(TESTS / "gates"), str(ROOT / "fakegpu")]

import device_mutants as mutants  # noqa: E402
import fakegpu  # noqa: E402
from device_mutants import Mutant  # noqa: E402
from fakegpu import _libraries  # noqa: E402

WORK = ROOT / "build" / "gpu-mutants"
RESULTS = WORK / "results.jsonl"
RECORD = ROOT / "docs" / "gpu_mutants.json"
REQUIRED_RATE = 0.97
SIMULATED = TESTS / "devices" / "simulated"
#: The strictest personality first: most mutants meet no other.
PERSONALITIES = dict(reversed(fakegpu.PERSONALITIES.items()))
#: Tests that open drivers in processes of their own, run once for all personalities.
OTHERS = "processes"
OTHER_TESTS = [
    f"tests/devices/test_{name}.py"
    for name in ("gpu_first_use", "drivers", "gpu_kernels", "driver_traps", "gpu_faults")
]
SUBPROCESS_TESTS = ["tests/devices/test_gpu.py", "-k", "not test_simulated"]
PATIENCE = 12  # a run may take this many times as long as without a mutant
STAGES = (*PERSONALITIES, OTHERS)


@dataclass
class Build:
    """A build of the package, and the commands that compile a source and link the module."""

    folder: Path
    compile: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    link: list[str] = field(default_factory=list)

    def read(self) -> Build:
        text = (self.folder / "compile_commands.json").read_text(encoding="utf-8")
        for entry in json.loads(text):
            words = shlex.split(entry["command"])
            while not Path(words[0]).name.startswith(("c++", "g++", "clang++")):
                words.pop(0)  # a compiler cache would keep every mutant
            at = words.index("-o")
            source = Path(entry["file"])
            if source.is_relative_to(ROOT):
                name = source.relative_to(ROOT).as_posix()
                self.compile[name] = (words[:at] + words[at + 2 :], words[at + 1])
        command = [tool("ninja"), "-C", self.folder, "-t", "commands", "_native"]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.link = shlex.split(shown.splitlines()[-1].partition("&&")[2].rpartition("&&")[0])
        return self

    @property
    def module(self) -> Path:
        return self.folder / self.link[self.link.index("-o") + 1]

    def make(self, mutant: Mutant, package: Path) -> str:
        """Compiles and links; returns the compiler's output if that fails."""
        scratch = WORK / "mutant"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        source, out = scratch / Path(mutant.source).name, scratch / "mutant.o"
        source.write_text(mutant.apply(), encoding="utf-8")
        words, name = self.compile[mutant.source]
        command = [str(source) if word == str(ROOT / mutant.source) else word for word in words]
        if problem := self.run([*command, "-w", "-O0", "-o", str(out)]):
            return problem
        link = list(self.link)
        module = package / self.module.name
        module.unlink(missing_ok=True)
        link[link.index("-o") + 1] = str(module)
        if name in link:
            link[link.index(name)] = str(out)
        else:  # before the archives, whose own object is then not needed
            link.insert(next(i for i, word in enumerate(link) if word.endswith(".a")), str(out))
        return self.run(link)

    def run(self, command: list[str]) -> str:
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stdout + done.stderr


def make_package(build_of: Build) -> Path:
    """A copy of the package without its extension module."""
    package = WORK / "python" / "refarray"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    for entry in build_of.module.parent.iterdir():
        if entry != build_of.module:
            (package / entry.name).symlink_to(entry.resolve())
    return package


class Observer:
    """A pytest plugin that writes the first failure, and the number of tests that passed."""

    def __init__(self, path: Path) -> None:
        self.path, self.passed = path, 0

    def write(self, failed: str) -> None:
        self.path.write_text(json.dumps({"passed": self.passed, "failed": failed}))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.write(f"{report.nodeid.rpartition('/')[2]} ({report.when})")
        elif report.when == "call":
            self.passed += 1

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == 0:
            self.write("")


def run_pytest(stage: str, first: tuple[str, ...], path: Path) -> None:
    """In a forked child: runs one stage and exits."""
    import pytest

    os.setsid()
    log = (WORK / "pytest.log").open("wb")
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    python = [str(WORK / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(python)
    sys.path.insert(0, python[0])
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["-o", "faulthandler_timeout=240", "-o", "faulthandler_exit_on_timeout=true"]
    if stage == OTHERS:
        tests = sorted(OTHER_TESTS, key=lambda one: Path(one).name not in first)
    else:
        os.environ["SIMULATED_DRIVERS"] = json.dumps(PERSONALITIES[stage])
        names = sorted(SIMULATED.glob("sim_*.py"), key=lambda one: one.name not in first)
        tests = [str(one) for one in names]
    observer = Observer(path)
    status = pytest.main([*options, *tests], plugins=[observer])
    if status == 0 and stage == OTHERS:
        status = pytest.main([*options, *SUBPROCESS_TESTS], plugins=[observer])
    os._exit(int(status))


def run_stage(stage: str, first: tuple[str, ...], seconds: float) -> dict[str, Any]:
    """Runs a stage in a child: `failed` is empty if every test passed."""
    path = WORK / "outcome.json"
    path.unlink(missing_ok=True)
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            run_pytest(stage, first, path)
        finally:
            os._exit(70)
    status = None
    while status is None and time.monotonic() < begin + seconds:
        done, ended = os.waitpid(child, os.WNOHANG)
        status = ended if done else None
        time.sleep(0.02)
    if status is None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    outcome = json.loads(path.read_text()) if path.is_file() else {"passed": 0, "failed": ""}
    if not outcome["failed"] and status != 0:
        code = "hang" if status is None else os.waitstatus_to_exitcode(status)
        outcome["failed"] = f"the process: {code}"
    return {**outcome, "stage": stage, "seconds": round(time.monotonic() - begin, 1)}


def run_unmutated(build_of: Build, package: Path, stages: tuple[str, ...]) -> dict[str, float]:
    """The seconds that each stage takes; exits if a test fails without a mutant."""
    shutil.copy2(build_of.module, package / build_of.module.name)
    times = {}
    for stage in stages:
        outcome = run_stage(stage, (), 3600)
        print(f"{outcome['passed']} tests pass on {stage} in {outcome['seconds']} s", flush=True)
        if outcome["failed"]:
            print((WORK / "pytest.log").read_text(errors="replace")[-5000:])
            sys.exit(f"{outcome['failed']} fails without a mutant")
        times[stage] = outcome["seconds"]
    return times


def key_of(mutant: Mutant) -> str:
    """Changes when the mutated source changes."""
    return hashlib.sha256(mutant.apply().encode()).hexdigest()[:16]


def run_mutant(
    mutant: Mutant, build_of: Build, package: Path, times: dict[str, float]
) -> dict[str, Any]:
    result: dict[str, Any] = {"name": mutant.name, "key": key_of(mutant)}
    if problem := build_of.make(mutant, package):
        return {**result, "verdict": "error", "why": problem[-2000:]}
    begin = time.monotonic()
    for stage in sorted(times, key=lambda one: one != mutant.stage):
        outcome = run_stage(stage, mutant.first, max(120.0, PATIENCE * times[stage]))
        if outcome["failed"]:
            by = {"by": outcome["failed"], "stage": stage}
            return {**result, "verdict": "killed", **by, "seconds": outcome["seconds"]}
    return {**result, "verdict": "survived", "seconds": round(time.monotonic() - begin, 1)}


def known() -> dict[str, dict[str, Any]]:
    """The latest result of each mutant."""
    if not RESULTS.is_file():
        return {}
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return {result["name"]: result for result in map(json.loads, lines)}


def chosen(words: list[str], seed: int) -> list[Mutant]:
    """In an order that mixes the sources, so that an interrupted run is a sample of all."""
    found = [m for m in mutants.load() if not words or any(word in m.name for word in words)]
    random.Random(seed).shuffle(found)
    return found


def run(
    wanted: list[Mutant], again: bool, build_of: Build, package: Path, times: dict[str, float]
) -> Iterator[dict[str, Any]]:
    before = known()
    for number, mutant in enumerate(wanted, 1):
        result = before.get(mutant.name, {})
        kept = result.get("verdict") == "killed" and result.get("key") == key_of(mutant)
        if again or not kept:
            result = run_mutant(mutant, build_of, package, times)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
        by = f"{result.get('by', '')} {result.get('stage', '')} {result.get('seconds', '')}"
        text = result["why"] if result["verdict"] == "error" else f"{by} {'kept' * kept}"
        print(f"PROGRESS {number}/{len(wanted)} {result['verdict']:<8} {mutant.name}  {text}")
        sys.stdout.flush()
        yield result


def report(wanted: list[Mutant], results: dict[str, dict[str, Any]]) -> int:
    """Prints what was not killed and the rate; returns the exit status."""
    ran = [mutant for mutant in wanted if mutant.name in results]
    verdicts = {mutant.name: results[mutant.name]["verdict"] for mutant in ran}
    say("not killed")
    for mutant in ran:
        if verdicts[mutant.name] != "killed":
            proof = f"equivalent: {mutant.equivalent}" if mutant.equivalent else "NO PROOF"
            print(f"{verdicts[mutant.name]:<8} {mutant.name} ({mutant.source}): {proof}")
    wrong = [m.name for m in ran if m.equivalent and verdicts[m.name] == "killed"]
    counted = [mutant for mutant in ran if not mutant.equivalent]
    killed = sum(verdicts[mutant.name] == "killed" for mutant in counted)
    errors = [name for name, verdict in verdicts.items() if verdict == "error"]
    rate = killed / max(1, len(counted))
    proven = len(ran) - len(counted)
    print(f"{killed} of {len(counted)} mutants killed, {100 * rate:.1f} %; {proven} are equivalent")
    if wrong:
        print(f"killed in spite of a proof of equivalence: {', '.join(wrong)}")
    if errors:
        print(f"not built: {', '.join(errors)}")
    return 1 if wrong or errors or rate < REQUIRED_RATE else 0


def write_record(wanted: list[Mutant], results: dict[str, dict[str, Any]], note: str) -> None:
    head = {"date": date.today().isoformat(), "note": note, "personalities": list(PERSONALITIES)}
    columns = ["mutant", "kind", "source", "verdict", "test or proof", "stage"]
    rows = [columns]
    for mutant in sorted(wanted, key=lambda one: one.name):
        result = results.get(mutant.name, {"verdict": "not run"})
        why = mutant.equivalent or result.get("by", "")
        row = [mutant.name, mutant.kind, mutant.source.removeprefix("src/"), result["verdict"]]
        rows.append([*row, why, result.get("stage", "")])
    text = json.dumps(head, indent=1).removesuffix("\n}")
    listed = ",\n  ".join(json.dumps(row) for row in rows)
    RECORD.write_text(f'{text},\n "mutants": [\n  {listed}\n ]\n}}\n', encoding="utf-8")
    say(f"{len(rows) - 1} mutants written to {RECORD.relative_to(ROOT)}")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose names contain one of these")
    parser.add_argument("--build", type=Path, help="a folder with a build of these sources")
    parser.add_argument("--again", action="store_true", help="repeat kills too")
    parser.add_argument("--seed", type=int, default=16, help="of the order")
    parser.add_argument("--stage", action="append", choices=STAGES, help="run only this stage")
    parser.add_argument("--most", type=int, help="run only so many")
    parser.add_argument(
        "--part", default="1/1", metavar="K/N", help="every Nth mutant from the Kth: for N machines"
    )
    parser.add_argument("--report", action="store_true", help="only report what was run before")
    parser.add_argument("--record", metavar="NOTE", help="write the record, with this note")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    WORK.mkdir(parents=True, exist_ok=True)
    first, every = map(int, given.part.split("/"))
    wanted = chosen(given.words, given.seed)[first - 1 :: every][: given.most]
    if not given.report:
        options = ["-DREFARRAY_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"]
        folder = given.build or build("gpu-mutants/build", options=options)
        build_of = Build(folder.resolve()).read()
        package = make_package(build_of)
        _libraries.folder()
        say("without a mutant")
        times = run_unmutated(build_of, package, tuple(given.stage or STAGES))
        for _ in run(wanted, given.again, build_of, package, times):
            pass
    results = known()
    if given.record is not None:
        write_record(wanted, results, given.record)
    return report(wanted, results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
