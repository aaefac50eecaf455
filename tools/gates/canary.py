#!/usr/bin/env python3
"""Proves that a gate is alive: plants its bugs in a copy of the tree and asks whether it is caught.

`canary.py GATE` applies tests/gates/canary/GATE.patch to a copy in build/canary/GATE and runs
`make GATE` there, then the same with each GATE-WORD.patch. It exits 1 when the gate failed each
time with the report that the patch announces, 0 when it passed in spite of a bug, 2 when nothing was proven.
`canary.py --all` asks for every patch and exits 0 when all are caught.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_CAUGHT, CAUGHT, UNPROVEN = 0, 1, 2
TAIL = 40  # lines of a gate's output that are shown when it said something unexpected


class Unproven(Exception):
    """Why a canary says nothing about its gate."""


@dataclass(frozen=True)
class Canary:
    """One file of tests/canary: what is planted, what the gate has to report, the change itself."""

    gate: str
    path: Path
    bug: str
    expect: re.Pattern[str]


def read(path: Path) -> Canary:
    """The header lines stand before the diff; `Bug:` may go on in lines that begin with a space."""
    if not path.is_file():
        raise Unproven(f"there is no {path.name}")
    text = path.read_text(encoding="utf-8")
    header = re.split(r"^(?:diff --git|---) ", text, maxsplit=1, flags=re.MULTILINE)[0]
    found = {
        name: re.search(rf"^{name}:[ \t]*(\S.*(?:\n[ \t]+\S.*)*)", header, re.MULTILINE)
        for name in ("Bug", "Expect")
    }
    if missing := [name for name, match in found.items() if match is None]:
        raise Unproven(f"{path.name} has no line `{missing[0]}:`")
    bug, expect = (" ".join(match[1].split()) for match in found.values() if match)
    try:
        pattern = re.compile(expect, re.MULTILINE)
    except re.error as error:
        raise Unproven(f"{path.name}: Expect is no regular expression: {error}") from error
    return Canary(gate_of(path), path, bug, pattern)


def canaries(root: Path = ROOT) -> list[Path]:
    return sorted((root / "tests" / "gates" / "canary").glob("*.patch"))


def gate_of(path: Path) -> str:
    """Of gpu-sim-tsan-early-free.patch it is gpu-sim-tsan, which has a patch of that name alone."""
    names = [other.stem for other in path.parent.glob("*.patch")]
    owners = [name for name in names if path.stem.startswith(f"{name}-")]
    return min(owners, key=len, default=path.stem)


def canaries_of(gate: str, root: Path = ROOT) -> list[Path]:
    """All of one gate; the one that each must have comes first, also when it is not there."""
    first = root / "tests" / "gates" / "canary" / f"{gate}.patch"
    return [first, *(path for path in canaries(root) if path != first and gate_of(path) == gate)]


def plant(canary: Canary, tree: Path, only_check: bool = False) -> None:
    """Applies the patch below `tree`, which need not be a repository and may lie inside another."""
    mode = ["--check"] if only_check else []
    done = subprocess.run(
        ["git", "apply", *mode, "--", canary.path],
        cwd=tree,
        # Inside a repository git would leave out what lies outside its folder, without a word.
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Unproven(f"{canary.path.name} does not apply:\n{done.stderr.rstrip()}")


def copy_sources(root: Path, to: Path) -> None:
    """Every file that git does not ignore, as it is now, with its time: nothing is older or newer
    than what make compares it with."""
    shutil.rmtree(to, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():  # a deleted one is still listed
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)


def run_gate(gate: str, tree: Path) -> tuple[int, str]:
    """Exit status and output of `make GATE` in `tree`, with the environment of this one."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in {"CANARY", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}
    }
    venv = os.environ.get("VENV", sys.prefix)
    done = subprocess.run(
        ["make", "--no-print-directory", gate, f"VENV={Path(venv).absolute()}"],
        cwd=tree,
        env=inherited,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")


def ask(path: Path, root: Path = ROOT) -> int:
    """Plants one bug, runs its gate, prints the answer."""
    gate = gate_of(path)
    folder = root / "build" / "canary"
    log = folder / f"{path.stem}.log"
    try:
        canary = read(path)
        print(f"== canary of {gate}: {canary.bug}", flush=True)
        copy_sources(root, folder / gate)
        plant(canary, folder / gate)
    except Unproven as problem:
        print(f"canary of {gate}: {problem}", flush=True)
        return UNPROVEN
    status, output = run_gate(gate, folder / gate)
    log.write_text(output, encoding="utf-8")
    if status == 0:
        print(f"NOT CAUGHT: `make {gate}` passed with the bug in; its output is {log}", flush=True)
        return NOT_CAUGHT
    report = canary.expect.search(output)
    if report is None:
        print("\n".join(output.splitlines()[-TAIL:]))
        print(
            f"canary of {gate}: `make {gate}` failed (exit status {status}) without the report "
            f"{canary.expect.pattern!r}; its output is {log}",
            flush=True,
        )
        return UNPROVEN
    print(f"caught by `make {gate}`: {report[0].strip()}", flush=True)
    return CAUGHT


def ask_gate(gate: str, root: Path = ROOT) -> int:
    """Plants its bugs one after the other: CAUGHT when all are, else the first other answer."""
    answers = [ask(path, root) for path in canaries_of(gate, root)]
    return next((answer for answer in answers if answer != CAUGHT), CAUGHT)


def main(arguments: list[str]) -> int:
    if arguments == ["--all"]:
        paths = canaries()
        missed = [path.stem for path in paths if ask(path) != CAUGHT]
        print(f"{len(paths) - len(missed)} of {len(paths)} planted bugs caught")
        if missed:
            print(f"not proven alive: {', '.join(missed)}")
        return 1 if missed or not paths else 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: canary.py GATE | --all")
        return UNPROVEN
    return ask_gate(arguments[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
