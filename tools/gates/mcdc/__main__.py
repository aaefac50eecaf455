#!/usr/bin/env python3
"""The gate `mcdc`: which conditions of validation, export, negotiation and indexing the tests show
to matter, by clang's modified condition/decision coverage.

A condition of `&&` and `||` is shown by two evaluations of its decision with different outcomes, in
which the conditions evaluated both times have equal values but for this one. In templates one
instance suffices.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import ROOT, TESTS, build, loaded, located, quiet, run, say, tool

PROGRAMS = ("clang++", "llvm-profdata", "llvm-cov")
VERSIONS = range(30, 18, -1)  # 18 measures no decision of more than six conditions
PACKAGES = "clang-19, llvm-19 and libclang-rt-19-dev"  # of Debian
FLAGS = "-fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc"
#: What is measured, by the beginnings of paths. The rest is compiled without counters.
PARTS = {
    "src/core/layout.": "the arithmetic of validate",
    "src/dlpack/": "validate, decide_export",
    "src/extension/dlpack/": "negotiate",
    "src/extension/indexing/": "indexing",
    "src/extension/compute/indexing/": "indexing by arrays",
}
#: Tests of exchange, of indexing, and of both with devices and in strict namespaces.
FILES = (
    *("dlpack", "array/test_assignment.py", "array/test_indexing.py", "array/test_sequence.py"),
    *(f"compute/rearranging/test_{name}.py" for name in ("indexing_by_arrays", "take")),
    *(f"compute/modes/test_{name}.py" for name in ("devices", "strict", "strict_versions")),
    *("compute/modes/test_lazy.py", "package/test_c_table.py"),
    *("devices/test_device.py", "devices/test_gpu.py", "ledger/test_virtual_devices.py"),
)
#: Few rounds: a race repeats the same evaluations.
OPTIONS = ("-q", "-p", "no:cacheprovider", "--lockstep-rounds=100")
LEAST = 95.0  # % of each part
OPEN = TESTS / "gates" / "open_conditions.toml"


@dataclass(frozen=True)
class Condition:
    path: str
    line: int  # of the decision
    decision: str  # its text, on one line
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: `{self.text}` of `{self.decision}`"


@dataclass(frozen=True)
class Reason:
    """One entry of open_conditions.toml: conditions of a decision, and why no test shows them."""

    path: str
    decision: str
    open: tuple[str, ...]
    why: str

    def names(self, condition: Condition) -> bool:
        where = condition.path == self.path and condition.decision == self.decision
        return where and condition.text in self.open


def suffix() -> str:
    """That of the newest clang whose tools are there too; exits if there is none."""
    for version in VERSIONS:
        if all(shutil.which(f"{program}-{version}") for program in PROGRAMS):
            return f"-{version}"
    sys.exit(f"no clang with its coverage tools; on Debian install {PACKAGES}")


def joined(lines: Iterable[str]) -> str:
    """Source lines as one, without comments and with single spaces."""
    return " ".join(" ".join(line.partition("//")[0] for line in lines).split())


def decision_text(lines: list[str], begin: tuple[int, int], end: tuple[int, int]) -> str:
    """The source between two places, whose columns count from 1."""
    chosen = lines[begin[0] - 1 : end[0]]
    chosen[-1] = chosen[-1][: end[1] - 1]
    chosen[0] = chosen[0][begin[1] - 1 :]
    return joined(chosen)


def conditions_of(decision: str) -> list[str]:
    """Clang measures no decision in a decision, so that every operator separates conditions."""
    out = []
    for text in re.split(r" *(?:&&|\|\|) *", decision):
        opened = text.count("(") - text.count(")")  # parentheses around several conditions
        out.append(text.removeprefix("(" * opened).removesuffix(")" * -opened))
    return out


def read_conditions(exported: Mapping[str, Any], root: Path = ROOT) -> dict[Condition, bool]:
    """Reads llvm-cov's export: the conditions of all functions, and whether they were shown."""
    shown: dict[Condition, bool] = defaultdict(bool)
    for function in exported["data"][0]["functions"]:
        path = Path(function["filenames"][0])
        if not str(path).startswith(tuple(f"{root}/{begin}" for begin in PARTS)):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        for *place, _, _, covered in function["mcdc_records"]:
            decision = decision_text(lines, (place[0], place[1]), (place[2], place[3]))
            texts = conditions_of(decision)
            if len(texts) != len(covered):
                sys.exit(f"{path}:{place[0]}: {len(covered)} conditions in `{decision}`")
            for text, was_shown in zip(texts, covered, strict=True):
                name = Condition(str(path.relative_to(root)), place[0], decision, text)
                shown[name] |= was_shown
    return shown


def read_reasons(path: Path) -> list[Reason]:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Reason(file, entry["decision"], tuple(entry["open"]), entry["why"])
        for file, entries in data.items()
        for entry in entries
    ]


def explain(shown: Mapping[Condition, bool], reasons: Iterable[Reason]) -> list[str]:
    """Prints each open condition with its reason; returns the conditions without one, and the
    reasons without a condition."""
    problems = []
    for condition in (each for each, was_shown in shown.items() if not was_shown):
        reason = next((each for each in reasons if each.names(condition)), None)
        if reason is None:
            problems.append(f"not shown, and no reason in {OPEN.name}: {condition}")
        else:
            print(f"  {condition}\n      {reason.why}")
    for reason in reasons:
        for text in reason.open:
            if not any(
                not was_shown and reason.names(each) and each.text == text
                for each, was_shown in shown.items()
            ):
                problems.append(
                    f"shown now, or deleted: {reason.path}: `{text}` of `{reason.decision}`"
                )
    return problems


def not_measured(shown: Mapping[Condition, bool], root: Path = ROOT) -> list[str]:
    """Returns a problem for each file with operators in no decision: clang 19 leaves out a decision
    that contains another, with a warning that no option makes an error."""
    problems = []
    for path in (path for begin in PARTS for path in sorted(root.glob(f"{begin}*"))):
        lines = path.read_text(encoding="utf-8").splitlines()
        code = joined(line for line in lines if not line.startswith("#"))
        found = len(re.findall(r" (?:&&|\|\|) ", code))
        name = str(path.relative_to(root))
        decisions = {(each.line, each.decision) for each in shown if each.path == name}
        measured = sum(len(conditions_of(decision)) - 1 for _, decision in decisions)
        if measured != found:
            problems.append(f"clang measures {measured} of {found} operators && and || in {name}")
    return problems


def table(shown: Mapping[Condition, bool]) -> list[str]:
    """Prints a row per file and part; returns a problem for each part below the limit."""
    problems = []
    print(f"{'':42} {'conditions':>10} {'shown':>6}")

    def row(title: str, prefix: str) -> float:
        values = [value for each, value in shown.items() if each.path.startswith(prefix)]
        part = 100.0 * sum(values) / len(values) if values else 100.0
        print(f"{title:42} {len(values):10} {sum(values):6} {part:7.2f}%")
        return part

    for begin, what in PARTS.items():
        for path in sorted({each.path for each in shown if each.path.startswith(begin)}):
            row(path, path)
        part = row(f"  {what}", begin)
        if part < LEAST:
            problems.append(f"{part:.2f} % of {begin}* is shown, which is below {LEAST} %")
    row("  all", "")
    return problems


def measure(folder: Path, version: str) -> dict[Condition, bool]:
    """Runs the tests against the build in `folder` and merges what they have recorded there."""
    shutil.rmtree(folder / "raw", ignore_errors=True)
    with_environment = loaded(folder, LLVM_PROFILE_FILE=str(folder / "raw" / "%4m.profraw"))
    say("C++ tests")
    quiet([tool("ctest"), "--test-dir", folder, "-E", "needs_no_python"], with_environment)
    run([sys.executable, "-m", "pytest", *OPTIONS, *map(located, FILES)], with_environment)
    merged = folder / "merged.profdata"
    raw = list((folder / "raw").iterdir())
    quiet([tool(f"llvm-profdata{version}"), "merge", "-sparse", *raw, "-o", merged])
    programs = [*(folder / "tests").glob("*/*_test"), *(folder / "tests").glob("*/*_fuzz")]
    exported = subprocess.run(
        [
            *(tool(f"llvm-cov{version}"), "export", f"-instr-profile={merged}"),
            *(folder / "python" / "refarray").glob("_native*.so"),
            *(f"-object={program}" for program in programs),
        ],
        check=True,
        stdout=subprocess.PIPE,
    )
    return read_conditions(json.loads(exported.stdout))


def main() -> int:
    version = suffix()
    folder = ROOT / "build" / "mcdc"
    folder.mkdir(parents=True, exist_ok=True)
    chosen = folder / "measured.txt"
    sources = "".join(f"source:{ROOT}/{each}*=allow\n" for each in PARTS)
    chosen.write_text(f"[clang]\ndefault:skip\n{sources}", encoding="utf-8")
    build(
        "mcdc",
        options=[
            f"-DCMAKE_CXX_COMPILER=clang++{version}",
            f"-DCMAKE_CXX_FLAGS={FLAGS} -fprofile-list={chosen}",
        ],
    )
    shown = measure(folder, version)
    say("conditions that no test shows, and reasons")
    problems = not_measured(shown) + explain(shown, read_reasons(OPEN))
    say("shown")
    problems += table(shown)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
