"""Reads benchmarks/results and selects the newest record with the rows of a section."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .plots import Plot

RESULTS = Path(__file__).resolve().parents[1] / "results"

Row = dict  # as benchmarks/report.py writes them
Record = dict


@dataclass(frozen=True)
class Section:
    """One heading of the page with its plots by file name."""

    markdown: str
    plots: dict[str, Plot] = field(default_factory=dict)


def load(folder: Path = RESULTS) -> list[Record]:
    """Every record, oldest first. Records of one day are ordered by their `time`, then by name."""
    found = [
        (json.loads(path.read_text(encoding="utf-8")), path.name) for path in folder.glob("*.json")
    ]
    found.sort(key=lambda pair: (pair[0]["date"], pair[0].get("time", ""), pair[1]))
    return [record for record, _ in found]


def newest(records: list[Record], wanted: Callable[[Record], bool]) -> Record | None:
    return next((record for record in reversed(records) if wanted(record)), None)


def rows(record: Record, letter: str) -> list[Row]:
    """The rows of one group: those whose id begins with `letter` and a number."""
    return [row for row in record["rows"] if row["id"].split()[0].strip("0123456789") == letter]


def origin(record: Record) -> str:
    """The origin of the figures: date, machine, versions."""
    machine, build = record["machine"], record["build"]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    before, after = record["load"]
    absent = "".join(f"; without {name} ({why})" for name, why in record["absent"].items())
    return (
        f"Recorded {record['date']} as `{record['id']}`: {machine['implementation']} "
        f"{machine['python']} ({build['abi']} build, {build['compiler']}), {versions}{absent}; "
        f"{machine['cpu']}, {machine['cpus']} cpus, {machine['libc']}, load {before} before and "
        f"{after} after."
    )


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    cells = [header, ["---"] * len(header), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def code(text: str) -> str:
    """Formats function names as code, because Markdown reads underscores as emphasis."""
    return f"`{text}`" if "__" in text or "(" in text else text


def verdicts(row: Row) -> str:
    """Formats each target with its verdict."""
    if "error" in row:
        return "; ".join(f"{limit(target)}: **missed**" for target in row["missed_targets"])
    found = [
        f"{limit(target['target'])}: " + ("met" if target["met"] else "**missed**")
        for target in row.get("targets", [])
    ]
    return "; ".join(found) or "-"


def limit(target: str) -> str:
    return " ".join(map(code, target.replace("<=", "≤").split(" ")))
