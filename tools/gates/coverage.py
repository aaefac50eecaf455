#!/usr/bin/env python3
"""The gate `coverage`: which lines and branches of the native code the tests reach."""

from __future__ import annotations

import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from abi3 import LIGHT
from common import (
    PYTEST,
    ROOT,
    TESTS,
    build,
    environment,
    ignore,
    marked,
    print_loaded,
    quiet,
    run,
    say,
    tool,
)

# Counters that two threads raise at once may lose a count, and gcov may compute a negative one.
# Atomic counters made every loop several times as slow; only whether one is zero is read.
FLAGS = "--coverage -O0 -g -fprofile-abs-path -fprofile-update=single"
FOLDERS = ("src/core", "src/compute", "src/dlpack", "src/extension")
LEAST_LINES, LEAST_BRANCHES = 97.0, 90.0
#: Inlined templates: gcov counts their branches once per instantiation (word size, step,
#: instruction set), even if the condition is constant there. kernels_test compares each with the
#: plain kernels, so their lines must be reached and their branches are only shown.
KERNELS = ("src/core/kernels/", "src/compute/kernels/")
LEFT = TESTS / "gates" / "not_reached.toml"
HAS_AVX512 = "avx512vbmi" in Path("/proc/cpuinfo").read_text(encoding="utf-8")


@dataclass(frozen=True)
class File:
    """The counts of gcovr for one file, merged over template instances."""

    path: str
    lines: tuple[int, int]  # (reached, total)
    branches: tuple[int, int]  # likewise, without exception branches
    missed: list[int]  # numbers of lines


@dataclass(frozen=True)
class Left:
    """One entry of not_reached.toml: a source line and the reason why no test reaches it."""

    path: str
    text: str  # the whole line, or its beginning followed by "..."
    why: str

    def names(self, line: str) -> bool:
        line = line.strip()
        return line == self.text or (
            self.text.endswith("...") and line.startswith(self.text.removesuffix("..."))
        )


def read_counts(folder: Path) -> list[File]:
    """Reads gcovr's reports. A line that is reached in one template instance counts as reached."""
    files = []
    counts: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for entry in json.loads((folder / "lines.json").read_text(encoding="utf-8"))["files"]:
        for line in entry["lines"]:
            counts[entry["file"]][line["line_number"]] += line["count"]
    for entry in json.loads((folder / "sums.json").read_text(encoding="utf-8"))["files"]:
        path = entry["filename"]
        lines = entry["line_covered"], entry["line_total"]
        branches = entry["branch_covered"], entry["branch_total"]
        missed = sorted(number for number, count in counts[path].items() if count == 0)
        files.append(File(path, lines, branches, missed))
    return files


def read_left(path: Path) -> list[Left]:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Left(file, text, why)
        for why, files in data.items()
        for file, lines in files.items()
        for text in lines
    ]


def percent(pairs: Iterable[tuple[int, int]]) -> tuple[int, float]:
    """Returns the total number and the percentage reached."""
    reached, total = (sum(column) for column in zip((0, 0), *pairs, strict=True))
    return total, 100.0 * reached / total if total else 100.0


def table(files: list[File]) -> tuple[float, float]:
    """Prints a row per folder; returns the overall percentages, branches without the kernels'."""
    print(f"{'':17} {'lines':>7} {'reached':>8} {'branches':>9} {'reached':>8}")

    def row(title: str, lines: Iterable[File], branches: Iterable[File]) -> tuple[float, float]:
        line_count, line_part = percent(each.lines for each in lines)
        branch_count, branch_part = percent(each.branches for each in branches)
        print(f"{title:17} {line_count:7} {line_part:7.2f}% {branch_count:9} {branch_part:7.2f}%")
        return line_part, branch_part

    kernels = [each for each in files if each.path.startswith(KERNELS)]
    others = [each for each in files if each not in kernels]
    row("kernels", kernels, kernels)
    for folder in FOLDERS:
        chosen = [each for each in others if each.path.startswith(f"{folder}/")]
        row(folder, chosen, chosen)
    return row("all", files, others)


def avx512_lines(text: list[str]) -> set[int]:
    """The numbers of the lines that are compiled for AVX-512 only."""
    found, is_inside = set(), False
    for number, line in enumerate(text, start=1):
        if line.startswith("#"):
            is_inside = line.startswith("#if defined(__AVX512")
        elif is_inside:
            found.add(number)
    return found


def explain(files: list[File], left: list[Left], root: Path = ROOT) -> list[str]:
    """Prints each unreached line with its reason; returns the lines without one."""
    unexplained = []
    used = set()
    for file in files:
        text = (root / file.path).read_text(encoding="utf-8").splitlines()
        cannot_run = set() if HAS_AVX512 else avx512_lines(text)
        for number in sorted(set(file.missed) - cannot_run):
            source = text[number - 1].strip()
            reason = next((r for r in left if r.path == file.path and r.names(source)), None)
            if reason is None:
                unexplained.append(f"{file.path}:{number}: {source}")
            else:
                used.add(reason)
                print(f"  {file.path}:{number}: {source}\n      {reason.why}")
    for reason in left:
        if reason not in used:
            print(f"  reached now, or deleted: {reason.path}: {reason.text}")
    return unexplained


def forget_deleted_sources(folder: Path) -> None:
    """Deletes notes of deleted source files, at which gcovr would stop."""
    commands = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    built = {folder / each["output"] for each in commands}
    for notes in folder.rglob("*.gcno"):
        if notes.with_suffix(".o") not in built:
            notes.unlink()


def measure(folder: Path, tests: list[str]) -> None:
    """Runs these Python tests, or all tests, against the build in `folder` and writes gcovr's
    reports there."""
    for stale in folder.rglob("*.gcda"):
        stale.unlink()
    forget_deleted_sources(folder)
    plain = environment(folder)
    if not tests:
        say("C++ tests")
        parallel = ("--parallel", "2", "-E", "needs_no_python")
        quiet([tool("ctest"), "--test-dir", folder, *parallel], plain)
    print_loaded(folder, plain)
    selection = ("-m", LIGHT, *ignore(marked("repository")), *(tests or [TESTS]))
    run([*PYTEST, "--numprocesses=2", *selection], plain)
    say("gcovr; pages in build/coverage/html")
    (folder / "html").mkdir(exist_ok=True)
    chosen = [f"--filter={ROOT}/{each}/" for each in FOLDERS]
    quiet(
        [
            *(tool("gcovr"), "--root", ROOT, "--object-directory", folder, folder),
            *("--merge-lines", "--exclude-throw-branches", *chosen),
            "--gcov-ignore-parse-errors=negative_hits.warn_once_per_file",
            *("--json", folder / "lines.json", "--json-summary", folder / "sums.json"),
            *("--html-details", folder / "html" / "index.html"),
        ]
    )


def main(tests: list[str]) -> int:
    options = [f"-DCMAKE_CXX_FLAGS={FLAGS}", "-DCMAKE_CXX_FLAGS_DEBUG="]
    options += [f"-DREFARRAY_TESTS={'OFF' if tests else 'ON'}"]
    folder = build("coverage", options=options)
    measure(folder, tests)
    files = read_counts(folder)
    say("unreached lines and reasons")
    unexplained = explain(files, read_left(LEFT))
    say("reached")
    lines, branches = table(files)
    failed = False
    for line in unexplained:
        print(f"not reached, and no reason in {LEFT.name}: {line}")
        failed = True
    for what, figure, least in (
        ("line", lines, LEAST_LINES),
        ("branch", branches, LEAST_BRANCHES),
    ):
        if figure < least:
            print(f"{what} coverage is {figure:.2f} %, which is below {least} %")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
