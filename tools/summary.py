#!/usr/bin/env python3
"""Runs `make gate-GATE` and leaves a dated summary: `summary.py GATE`.

build/gates/GATE.log has the whole output; build/gates/GATE.toml the date, the commit, the exit
status, the headings and the last lines. With RECORD=1 the summary also becomes
docs/gates/GATE.toml, which pages quote, and the output goes to the branch `records`. A run of one
part of a gate, P=PART, has files of its own: GATE-PART.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import records

ROOT = Path(__file__).resolve().parents[1]
LAST = 15  # lines of the output that a summary ends with
HEADINGS = 30  # the most that it has


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


def summary(gate: str, status: int, seconds: float, output: list[str]) -> dict[str, Any]:
    return {
        "gate": gate,
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "minutes": round(seconds / 60),
        "commit": git("rev-parse", "HEAD") or "unknown",
        # The summary of an earlier run of a gate is none.
        "uncommitted_changes": bool(git("status", "--porcelain", "--", ".", ":!docs/gates")),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.platform()}",
        "exit_status": status,
        "headings": [line for line in output[:-LAST] if line.startswith("== ")][-HEADINGS:],
        "last_lines": output[-LAST:],
    }


def main(gate: str) -> int:
    folder = ROOT / "build" / "gates"
    folder.mkdir(parents=True, exist_ok=True)
    part = os.environ.get("P", "")  # of a gate that takes it: one platform of all
    name = f"{gate}-{part}" if part else gate
    log = folder / f"{name}.log"
    start = time.monotonic()
    status = run_logged(["make", "--no-print-directory", f"gate-{gate}"], log)
    output = log.read_text(encoding="utf-8", errors="replace").replace(f"{ROOT}/", "").splitlines()
    found = summary(gate, status, time.monotonic() - start, output)
    about = f"A run of `make gate G={gate}{f' P={part}' if part else ''}`."
    records.write(folder / f"{name}.toml", about, found)
    if os.environ.get("RECORD"):
        found["raw"] = records.keep(f"gates/{name}.log", log.read_bytes())
        records.write(ROOT / "docs" / "gates" / f"{name}.toml", about, found)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
