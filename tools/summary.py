#!/usr/bin/env python3
"""Runs `make gate-GATE` and leaves a dated summary: `summary.py GATE`.

build/gates/GATE.log has the whole output; build/gates/GATE.txt the date, the commit, the exit
status, the headings and the last lines. With RECORD=1 the summary also becomes docs/gates/GATE.txt,
which pages quote.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAST = 15  # lines of the output that a summary ends with


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def run_logged(command: list[str], log: Path) -> int:
    """Runs a command, copies its output to ours and to a file, and returns its exit status."""
    with (
        log.open("wb") as copy,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as run,
    ):
        assert run.stdout is not None
        for line in run.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            copy.write(line)
    return run.returncode


def summary(gate: str, status: int, seconds: float, output: list[str]) -> str:
    changed = " with uncommitted changes" if git("status", "--porcelain") else ""
    facts = [
        f"gate: {gate}",
        f"date: {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {seconds / 60:.0f} minutes",
        f"commit: {git('rev-parse', 'HEAD') or 'unknown'}{changed}",
        f"machine: {platform.machine()}, {os.cpu_count()} processors, {platform.platform()}",
        f"exit status: {status}",
    ]
    headings = [line for line in output[:-LAST] if line.startswith("== ")]
    return "\n".join([*facts, "", *headings, *output[-LAST:]]) + "\n"


def main(gate: str) -> int:
    folder = ROOT / "build" / "gates"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{gate}.log"
    start = time.monotonic()
    status = run_logged(["make", "--no-print-directory", f"gate-{gate}"], log)
    output = log.read_text(encoding="utf-8", errors="replace").replace(f"{ROOT}/", "").splitlines()
    text = summary(gate, status, time.monotonic() - start, output)
    recorded = [ROOT / "docs" / "gates"] if os.environ.get("RECORD") else []
    for place in (folder, *recorded):
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{gate}.txt").write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
