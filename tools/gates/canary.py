#!/usr/bin/env python3
"""Proves that a gate is live: plants its bugs in a copy of the tree and checks that it fails.

`canary.py GATE` applies tests/gates/canary/GATE.patch to a copy in build/canary/GATE and runs
`make GATE` there, then the same with each GATE-WORD.patch. It exits 1 when the gate failed each
time with the report that the patch expects, 0 if it passed in spite of a bug, 2 if nothing was
proven.
`canary.py --all` runs every patch and exits 0 if all are caught.
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
TAIL = 40  # lines of a gate's output shown after an unexpected failure


class Unproven(Exception):
    """The reason why a canary proved nothing about its gate."""


@dataclass(frozen=True)
class Canary:
    """A patch: the planted bug, the report that the gate must give, and the diff."""

    gate: str
    path: Path
    bug: str
    expect: re.Pattern[str]


def read(path: Path) -> Canary:
    """Parses a patch. The header precedes the diff; indented lines continue `Bug:`."""
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
        raise Unproven(f"{path.name}: Expect is not a regular expression: {error}") from error
    return Canary(gate_of(path), path, bug, pattern)


def canaries(root: Path = ROOT) -> list[Path]:
    return sorted((root / "tests" / "gates" / "canary").glob("*.patch"))


def gate_of(path: Path) -> str:
    """The gate of gpu-sim-tsan-early-free.patch is gpu-sim-tsan, because gpu-sim-tsan.patch
    exists."""
    names = [other.stem for other in path.parent.glob("*.patch")]
    owners = [name for name in names if path.stem.startswith(f"{name}-")]
    return min(owners, key=len, default=path.stem)


def canaries_of(gate: str, root: Path = ROOT) -> list[Path]:
    """All patches of a gate; the mandatory GATE.patch comes first, even if it does not exist."""
    first = root / "tests" / "gates" / "canary" / f"{gate}.patch"
    return [first, *(path for path in canaries(root) if path != first and gate_of(path) == gate)]


def plant(canary: Canary, tree: Path, only_check: bool = False) -> None:
    """Applies the patch in `tree`, which may be outside or inside a repository."""
    mode = ["--check"] if only_check else []
    done = subprocess.run(
        ["git", "apply", *mode, "--", canary.path],
        cwd=tree,
        # Inside a repository git silently skips paths outside the current folder.
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Unproven(f"{canary.path.name} does not apply:\n{done.stderr.rstrip()}")


def copy_sources(root: Path, to: Path) -> None:
    """Copies every file that git does not ignore, with its modification time, which make
    compares."""
    shutil.rmtree(to, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():  # a deleted file is still listed
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)


def run_gate(gate: str, tree: Path) -> tuple[int, str]:
    """Returns exit status and output of `make GATE` in `tree`, with this process's environment."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in {"CANARY", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}
    }
    venv = os.environ.get("VENV", sys.prefix)
    done = subprocess.run(
        ["make", "--no-print-directory", gate, f"VENV={Path(venv).absolute()}", "OWN_BUILD=1"],
        cwd=tree,
        env=inherited,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")


def run_canary(path: Path, root: Path = ROOT) -> int:
    """Plants one bug, runs its gate, and prints the result."""
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


def run_canaries_of(gate: str, root: Path = ROOT) -> int:
    """Plants all bugs of a gate: CAUGHT if all are caught, otherwise the first other result."""
    answers = [run_canary(path, root) for path in canaries_of(gate, root)]
    return next((answer for answer in answers if answer != CAUGHT), CAUGHT)


def main(arguments: list[str]) -> int:
    if arguments == ["--all"]:
        paths = canaries()
        missed = [path.stem for path in paths if run_canary(path) != CAUGHT]
        print(f"{len(paths) - len(missed)} of {len(paths)} planted bugs caught")
        if missed:
            print(f"not proven live: {', '.join(missed)}")
        return 1 if missed or not paths else 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: canary.py GATE | --all")
        return UNPROVEN
    return run_canaries_of(arguments[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
