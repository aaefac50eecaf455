"""Writes docs/findings.md, the manual's page on findings in released libraries."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from refarray.conformance.requirements import requirement
from refarray.conformance.subjects.libraries import LIBRARIES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "findings.md"
HEAD = """\
# Findings in released libraries

<!-- Written by tools/findings/findings.py from docs/findings.json; run `make findings`. -->

Results of the conformance kit on released versions. Each finding comes from `refarray check`, its
repro was run again in a new process, and it is recorded in the register `tests/kit/findings.toml`;
`make findings` fails if a finding is new, missing or changed. Behavior that the specifications
leave open is not listed.
A `fail` breaks a MUST, or data was wrong or freed twice; a `warn` breaks a SHOULD; `crash` and
`hang` are reported at every level. A requirement is counted once for each library, and one cause is
counted once: "= ID" names the case that shows it more directly. "Inherited" deviations are those of
the library whose arrays this one wraps, or of another subject of the same library.
A HAZARD is dangerous behavior that no sentence of the specifications forbids. `refarray explain ID`
shows the text and the rationale of a requirement. Where a level is "derived", no sentence states
it: it follows from the text. `docs/requirements.md` describes how to dispute a level.

**{confirmed} confirmed deviations** (pairs of a library and a requirement) in {libraries}
libraries, of {requirements} requirements, in {cases} cases; {inherited} more are inherited.

| library | version | date | crash, hang | fail | warn | passed cases |
| --- | --- | --- | --- | --- | --- | --- |
"""


ORDER = ["crash", "hang", "fail", "warn"]
"""The outcomes on the page, the worst first."""


def cell(words: str, limit: int = 160) -> str:
    """Text shortened and escaped for a cell of a Markdown table."""
    flat = " ".join(words.split())
    short = flat if len(flat) <= limit else flat[: limit - 1] + "…"
    return re.sub(r"([\\`*_|])", r"\\\1", short).replace("<", "&lt;")


def key(found: dict[str, Any]) -> str:
    """The key of a finding in the register."""
    return f"{found['id']} {found['role']} {found['case']}"


def derived(found: dict[str, Any]) -> bool:
    """Whether no sentence of the standards states the requirement."""
    return requirement(found["id"]).derived


def confirmed(library: dict[str, Any], known: dict[str, Any]) -> list[dict[str, Any]]:
    """The deviations of a library that the register lists as confirmed."""
    entries = known.get(library["name"], {}).get("confirmed", {})
    return [found for found in library["deviations"] if key(found) in entries]


def once(found: list[dict[str, Any]]) -> dict[str, str]:
    """The worst outcome of each requirement among the findings that are neither inherited nor of
    another case's cause."""
    out: dict[str, str] = {}
    for each in found:
        if not each.get("same_as") and not each.get("inherited"):
            both = (each["outcome"], out.get(each["id"], ORDER[-1]))
            out[each["id"]] = min(both, key=ORDER.index)
    return out


def judged(found: dict[str, Any]) -> str:
    """The requirement with its level and what else is to be said of the case."""
    parts = [f"{found['id']} {found['level']}", "derived" if derived(found) else ""]
    parts.append(found.get("harm", ""))
    parts.append(f"= {found['same_as']}" if found.get("same_as") else "")
    parts.append(f"inherited from {found['inherited']}" if found.get("inherited") else "")
    return ", ".join(filter(None, parts))


def observed(found: dict[str, Any]) -> str:
    """The observation, and what provoked it."""
    provoked = found.get("provoked")
    return f"{found['observed']}; provoked by: {provoked}" if provoked else str(found["observed"])


def shown_by_repro(found: dict[str, Any]) -> str:
    """What the repro printed, without the expectation, which has a column of its own."""
    return str(found["again"]).removeprefix(f"expected: {found['expected']}; ")


def distribution(name: str) -> str:
    """The package of a subject: two subjects may be configurations or classes of one library."""
    subject = LIBRARIES.get(name)
    return subject.distribution or name if subject else name


def row(library: dict[str, Any], found: list[dict[str, Any]]) -> str:
    """The row of a library in the summary table."""
    counts = Counter(once(found).values())
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
    """The findings of a library as a table, and the repro of each requirement's first case, in
    blocks called `py`: the manual's tests run those called `python`."""
    name = library["name"]
    out = [f"({name.replace('_', '-')})=", f"## {name} {library['version']}", ""]
    out.append(f"Python {library['python']}, {library['date']}.")
    if not found:
        return [*out, "", "No deviation was found.", ""]
    out += ["", "| | requirement | case | expected | observed | result of the repro |"]
    out.append("| --- | --- | --- | --- | --- | --- |")
    for each in sorted(found, key=lambda f: (ORDER.index(f["outcome"]), f["id"])):
        cells = [
            each["outcome"],
            judged(each),
            f"{each['role']}: {each['case']}",
            cell(each["expected"]),
            cell(observed(each), 240),
            cell(shown_by_repro(each), 80),
        ]
        out.append(f"| {' | '.join(cells)} |")
    out += ["", "Repros, for the first case of each requirement:", ""]
    shown: set[str] = set()
    for each in found:
        if each["id"] in shown or not each["repro"]:
            continue
        shown.add(each["id"])
        out += [f"```py\n# {each['id']} {each['role']} {each['case']}", each["repro"], "```", ""]
    return out


def text(data: dict[str, Any], known: dict[str, Any]) -> str:
    """The page."""
    found = {each["name"]: confirmed(each, known) for each in data["libraries"]}
    every = [each for group in found.values() for each in group]
    out = HEAD.format(
        confirmed=sum(len(once(group)) for group in found.values()),
        cases=len(every),
        inherited=len({(f["subject"], f["id"]) for f in every if f.get("inherited")}),
        libraries=len(set(map(distribution, found))),
        requirements=len({each["id"] for each in every}),
    )
    out += "\n".join(row(each, found[each["name"]]) for each in data["libraries"])
    out += "\n\n## Exchanges between libraries\n\n" + data["matrix"]["markdown"]
    for library in data["libraries"]:
        out += "\n" + "\n".join(section(library, found[library["name"]]))
    return out.rstrip() + "\n"


def write(data: dict[str, Any], known: dict[str, Any]) -> None:
    """Writes the page."""
    PAGE.write_text(text(data, known), encoding="utf-8")
