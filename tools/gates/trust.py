#!/usr/bin/env python3
"""The gate `trust`: runs the catalogue of hostile input, fails every allocation of every public
call, and prints the outcomes as a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from common import ROOT, TESTS, build, loaded, say

KINDS = ("crash", "double deleter", "leak", "silent accept", "other")
SHOWN = 3  # findings per family that are printed in full
EVERY = 5.0  # seconds between progress lines

Line = dict[str, Any]


def prepare() -> dict[str, str]:
    """Builds the release configuration, the adversary, and the library that fails C allocations."""
    folder = build("trust", options=["-DREFARRAY_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"])
    plain = loaded(folder)
    os.environ["XDG_CACHE_HOME"] = plain["XDG_CACHE_HOME"]
    sys.path.insert(0, str(TESTS))
    from native import build as native

    path = os.pathsep.join([plain["PYTHONPATH"], str(native.build()), str(TESTS)])
    return {**plain, "PYTHONPATH": path, "LD_PRELOAD": str(native.build_heap_faults())}


def lines(command: list[str], env: dict[str, str]) -> Iterator[Line]:
    """Yields the JSON lines that a child prints, and its exit status as a last line."""
    arguments = [sys.executable, "-X", "faulthandler", *command]
    with subprocess.Popen(
        arguments, cwd=TESTS, env=env, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for text in child.stdout:
            yield json.loads(text)
    yield {"exit": child.returncode}


def collect(title: str, command: list[str], env: dict[str, str]) -> list[Line]:
    """Runs a child to its end, printing progress."""
    out: list[Line] = []
    shown = time.monotonic()
    say(title)
    for line in lines(command, env):
        out.append(line)
        if "module" in line:
            print(f"   {line['cases']} cases", flush=True)
        if time.monotonic() - shown > EVERY:
            shown = time.monotonic()
            print(f"   {len(out)} done, now {line.get('name', '')}", flush=True)
    return out


def table(header: list[str], rows: list[list[Any]]) -> None:
    """Right-aligned numbers under their names; the last row is the sum."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [header, *texts]) for i in range(len(header))]
    for number, row in enumerate([header, *texts]):
        if number in (1, len(texts)):
            print("  ".join("-" * width for width in widths))
        first, *rest = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]))


def summed(rows: list[list[Any]]) -> list[list[Any]]:
    return [*rows, ["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])]]


def by_family(found: list[Line]) -> dict[str, list[Line]]:
    out: dict[str, list[Line]] = defaultdict(list)
    for line in found:
        if "family" in line:
            out[line["family"]].append(line)
    return out


def kinds_of(found: list[Line]) -> list[int]:
    counts = Counter(kind for line in found for kind, _ in line["findings"])
    return [counts[kind] for kind in KINDS]


def clean(found: list[Line]) -> int:
    return sum(not line["findings"] for line in found)


def print_hostile(found: list[Line]) -> None:
    header = ["hostile input", "cases", "inputs", "as specified", "crashes", "double deletes"]
    rows = [
        [family, len(part), sum(line["throws"] for line in part), clean(part), *kinds_of(part)]
        for family, part in by_family(found).items()
    ]
    print()
    table([*header, "leaks", "silent accepts", "other"], summed(rows))


def print_memory(found: list[Line]) -> None:
    header = ["out of memory", "calls", "failures", "as specified", "crashes", "double deletes"]
    rows = [
        [family, len(part), sum(line["failed"] for line in part), clean(part), *kinds_of(part)]
        for family, part in by_family(found).items()
    ]
    sites = next((len(line["sites"]) for line in found if "sites" in line), 0)
    absorbed = sum(line.get("absorbed", 0) for line in found)
    others = sum(line.get("interpreter", 0) for line in found)
    print()
    table([*header, "leaks", "silent accepts", "other"], summed(rows))
    print(
        f"{sites} places in refarray below which an allocation failed; {absorbed} calls succeeded"
    )
    print(f"{others} crashes of the interpreter itself, outside refarray's native code")


def print_findings(found: list[Line]) -> None:
    for family, part in by_family(found).items():
        wrong = [line for line in part if line["findings"]]
        for line in wrong[:SHOWN]:
            for kind, text in line["findings"][:1]:
                print(f"\n{line['name']}: {kind}\n{text.rstrip()}")
        if len(wrong) > SHOWN:
            print(f"\n... and {len(wrong) - SHOWN} more of {family}")


def print_other_gates() -> int:
    """Prints the results of other gates, from build/GATE/thrown.json (`thrown`, `what`,
    `findings`). Returns the number of findings; results older than the sources are shown but not
    counted."""
    sources = [path for part in ("src", "include") for path in (ROOT / part).rglob("*.?pp")]
    changed = max(path.stat().st_mtime for path in sources)
    rows, findings = [], 0
    for path in sorted((ROOT / "build").glob("*/thrown.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        current = path.stat().st_mtime >= changed
        findings += result["findings"] if current else 0
        of = "these sources" if current else "older sources, not counted"
        thrown = [result[key] for key in ("thrown", "what", "findings")]
        rows.append([path.parent.name, *thrown, of])
    if rows:
        print()
        table(["other gates", "inputs", "kind", "findings", "of"], [*rows, [""] * 5])
    return findings


def ended_badly(found: list[Line], least: int) -> list[str]:
    """Reports a child that died or printed too few results: nothing was proven then."""
    out = [f"a child ended with {line['exit']}" for line in found if line.get("exit")]
    out += [f"{name} has no recipe" for line in found for name in line.get("missing", ())]
    said = sum("family" in line for line in found)
    return [*out, f"only {said} results instead of {least}"] if said < least else out


def main() -> int:
    started = time.monotonic()
    env = prepare()
    hostile = collect("hostile input", ["-m", "hostile"], env)
    memory = collect("out of memory", ["isolated/out_of_memory.py"], env)
    memory += collect("out of memory at import", ["isolated/out_of_memory_at_import.py"], env)
    print_findings([*hostile, *memory])
    print_hostile(hostile)
    print_memory(memory)
    others = print_other_gates()
    problems = ended_badly(hostile, hostile[0].get("cases", 1)) + ended_badly(memory, 4000)
    wrong = sum(bool(line.get("findings")) for line in [*hostile, *memory])
    for problem in problems:
        print(f"not proven: {problem}")
    print(f"\n{time.monotonic() - started:.0f} s: ", end="")
    if wrong or problems or others:
        print(f"{wrong} not as specified, {len(problems)} not proven, {others} in other gates")
        return 1
    print("everything as specified")
    return 0


if __name__ == "__main__":
    sys.exit(main())
