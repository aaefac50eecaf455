"""Owns the page of the manual on what released libraries do: docs/findings.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "findings.md"
HEAD = """\
# What released libraries do

<!-- Written by tools/findings/findings.py out of docs/findings.json; run `make findings`. -->

The conformance kit on released versions. Every line was found by `refarray check`, its repro
was run again in a fresh process, and it stands in a register, `tests/kit/findings.toml`:
whatever is new there or has gone makes `make findings` fail. Where the texts leave a choice
nothing is listed.
A `fail` breaks a MUST and a `warn` a SHOULD; `crash` and `hang` are told whatever the level is, and
a HAZARD is what no sentence forbids although it is dangerous. `refarray explain ID` tells what a
requirement asks, and why.

**{confirmed} confirmed deviations** in {libraries} libraries, from {requirements} requirements.

| library | version | tried | crash, hang | fail | warn | cases that passed |
| --- | --- | --- | --- | --- | --- | --- |
"""


def cell(words: str, most: int = 160) -> str:
    """Text that stays in its cell of a table."""
    flat = " ".join(words.split()).replace("|", "\\|").replace("<", "&lt;")
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def key(found: dict[str, Any]) -> str:
    """As the register has it."""
    return f"{found['id']} {found['role']} {found['case']}"


def confirmed(library: dict[str, Any], known: dict[str, Any]) -> list[dict[str, Any]]:
    """The deviations of a library that the register has confirmed."""
    entries = known.get(library["name"], {}).get("confirmed", {})
    return [found for found in library["deviations"] if key(found) in entries]


def row(library: dict[str, Any], found: list[dict[str, Any]]) -> str:
    """The line of a library in the table of all."""
    counts = Counter(each["outcome"] for each in found)
    cells = [
        f"[{library['name']}](#{library['name'].replace('_', '-')})",
        library["version"],
        library["date"],
        str(counts["crash"] + counts["hang"]),
        str(counts["fail"]),
        str(counts["warn"]),
        str(library["counts"].get("pass", 0)),
    ]
    return f"| {' | '.join(cells)} |"


def section(library: dict[str, Any], found: list[dict[str, Any]]) -> list[str]:
    """The table of a library, and the repros of each requirement's first case."""
    name = library["name"]
    out = [f"({name.replace('_', '-')})=", f"## {name} {library['version']}", ""]
    out.append(f"Python {library['python']}, {library['date']}.")
    if not found:
        return [*out, "", "No deviation was found.", ""]
    out += ["", "| | requirement | case | expected | seen | its repro again |"]
    out.append("| --- | --- | --- | --- | --- | --- |")
    order = ["crash", "hang", "fail", "warn"]
    for each in sorted(found, key=lambda f: (order.index(f["outcome"]), f["id"])):
        cells = [
            each["outcome"],
            f"{each['id']} {each['level']}",
            f"{each['role']}: {each['case']}",
            cell(each["expected"]),
            cell(each["observed"]),
            cell(each["again"], 80),
        ]
        out.append(f"| {' | '.join(cells)} |")
    out += ["", "Repros of the first case of each requirement:", ""]
    shown: set[str] = set()
    for each in found:
        if each["id"] in shown or not each["repro"]:
            continue
        shown.add(each["id"])
        out += [f"```text\n# {each['id']} {each['role']} {each['case']}", each["repro"], "```", ""]
    return out


def text(data: dict[str, Any], known: dict[str, Any]) -> str:
    """The page."""
    found = {each["name"]: confirmed(each, known) for each in data["libraries"]}
    every = [each for group in found.values() for each in group]
    out = HEAD.format(
        confirmed=len(every),
        libraries=len(found),
        requirements=len({each["id"] for each in every}),
    )
    out += "\n".join(row(each, found[each["name"]]) for each in data["libraries"])
    out += "\n\n## Each with each\n\n" + data["matrix"]["markdown"]
    for library in data["libraries"]:
        out += "\n" + "\n".join(section(library, found[library["name"]]))
    return out.rstrip() + "\n"


def write(data: dict[str, Any], known: dict[str, Any]) -> None:
    """Writes it."""
    PAGE.write_text(text(data, known), encoding="utf-8")
