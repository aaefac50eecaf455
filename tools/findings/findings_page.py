"""Renders docs/findings.md, the manual's page on findings in released libraries, from the register
and the summary of each library (docs/records/findings)."""

from __future__ import annotations

import functools
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from refarray.conformance.cases import Check
from refarray.conformance.library import checks
from refarray.conformance.requirements import requirement
from refarray.conformance.subjects.lookup import ADAPTERS

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools"), str(ROOT / "tools" / "wheels")]
import home  # noqa: E402
import records  # noqa: E402

SUMMARIES = records.SUMMARIES / "findings"
REGISTER = ROOT / "tests" / "kit" / "findings.toml"
SCRIPTS = f"{home.read_home().repository}/blob/records/findings"
LONGEST = {"observed": 240, "again": 80}
"""The longest text of an observation, and of what a repro printed."""
OLDEST = "3.11"
"""The oldest supported CPython, for which the index has older releases: a column of the page."""
OLDEST_COUNTS = SUMMARIES / "oldest_python.toml"
HEAD = """\
**{MUST} deviations from a MUST and {SHOULD} from a SHOULD** in {libraries} libraries (pairs of a
library and a requirement). {hazards} hazards, most of them crashes, stand beside them, and
{inherited} deviations are inherited.

| library | version | date | MUST | SHOULD | hazards | passed cases | for Python {oldest} |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
LEVELS = ("MUST", "SHOULD")
"""The levels of a deviation; what is of another level is a hazard."""
ORDER = ["crash", "hang", "fail", "warn"]
"""The outcomes on the page, the worst first."""


def short(words: str, limit: int) -> str:
    """Text on one line, cut after `limit` characters."""
    flat = " ".join(words.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def cell(words: str) -> str:
    """Text for a cell of a Markdown table."""
    return re.sub(r"([\\`*_|])", r"\\\1", short(words, 240)).replace("<", "&lt;")


def key(found: dict[str, Any]) -> str:
    """The key of a finding in the register."""
    return f"{found['id']} {found['role']} {found['case']}"


def derived(found: dict[str, Any]) -> bool:
    """Whether no sentence of the standards states the requirement."""
    return requirement(found["id"]).derived


def confirmed(library: dict[str, Any], known: dict[str, Any]) -> list[dict[str, Any]]:
    """The deviations of a library that the register lists as confirmed."""
    entries = known.get(library["name"], {}).get("confirmed", {})
    return [each for each in library["deviations"] if key(each) in entries]


def once(found: list[dict[str, Any]]) -> dict[str, str]:
    """The level of each requirement among the findings that are not inherited: MUST if one of them
    is."""
    own = [each for each in found if not each.get("inherited")]
    own.sort(key=lambda each: each["level"] == "MUST")
    return {each["id"]: each["level"] for each in own}


def counts(levels: Iterable[str]) -> dict[str, int]:
    """How many deviations there are of each level, and how many hazards."""
    found = Counter(each if each in LEVELS else "hazards" for each in levels)
    return {name: found[name] for name in (*LEVELS, "hazards")}


def judged(found: dict[str, Any]) -> str:
    """The requirement with its level and what else is to be said of the case."""
    parts = [f"{found['id']} {found['level']}", "derived" if derived(found) else ""]
    parts.append(found.get("harm", ""))
    parts.append(f"inherited from {found['inherited']}" if found.get("inherited") else "")
    return ", ".join(filter(None, parts))


def observed(found: dict[str, Any]) -> str:
    """The observation, and what provoked it."""
    provoked = found.get("provoked")
    return f"{found['observed']}; provoked by: {provoked}" if provoked else str(found["observed"])


def shown_by_repro(found: dict[str, Any]) -> str:
    """What the repro printed, without the expectation, which has a column of its own."""
    return str(found["again"]).removeprefix(f"expected: {found['expected']}; ")


@functools.cache
def known_checks() -> dict[str, Check]:
    """Every case of the kit by its key in the register."""
    return {f"{each.id} {each.role} {each.case}": each for each in checks(full=True)}


def summary(library: dict[str, Any], raw: str) -> dict[str, Any]:
    """What the page shows of a library, for a file: by outcome, what was observed, and what the
    repro printed. Cases of a requirement with the same result are one entry. Further cases of a
    cause, and what the kit says of a case, are left out."""
    facts = ("name", "version", "newest", "date", "python", "refarray")
    out = {
        **{name: library[name] for name in facts if name in library},
        "raw": raw,
        "counts": library["counts"],
    }
    entries: dict[tuple[str, ...], tuple[list[str], dict[str, str]]] = {}
    for found in library["deviations"]:
        if found.get("same_as"):
            continue
        told = {"observed": found["observed"], "again": shown_by_repro(found)}
        entry = {name: short(text, LONGEST[name]) for name, text in told.items()}
        entry |= {name: found[name] for name in ("harm", "inherited") if found.get(name)}
        check = known_checks()[key(found)]
        if found["level"] != str(check.level or requirement(check.id).level):
            entry["level"] = found["level"]
        who = f"{found['id']} {found['role']}"
        cases, _ = entries.setdefault((found["outcome"], who, *entry.values()), ([], entry))
        cases.append(found["case"])
    for (outcome, who, *_), (cases, entry) in entries.items():
        out.setdefault(outcome, {})[f"{who} {', '.join(cases)}"] = entry
    return out


def deviations(kept: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The deviations of a summary, one for each case, with what the kit says of it."""
    for outcome in ORDER:
        for name, entry in kept.get(outcome, {}).items():
            id_, role, cases = name.split(" ", 2)
            for case in cases.split(", "):
                check = known_checks()[f"{id_} {role} {case}"]
                yield {
                    "id": id_,
                    "role": role,
                    "case": case,
                    "outcome": outcome,
                    "subject": kept["name"],
                    "expected": check.expected,
                    "level": str(check.level or requirement(id_).level),
                    "provoked": check.provoked if entry.get("harm") else "",
                    **entry,
                }


def stored(folder: Path) -> list[dict[str, Any]]:
    """The summaries of the libraries, with the deviations of each."""
    kept = [records.read(path) for path in folder.glob("*.toml")]
    kept = [each for each in kept if "counts" in each]
    return [{**each, "deviations": list(deviations(each))} for each in kept]


def register() -> dict[str, dict[str, dict[str, str]]]:
    """{library: {"confirmed": {key: outcome}, "dismissed": {key: reason}}}."""
    return tomllib.loads(REGISTER.read_text(encoding="utf-8"))


def distribution(name: str) -> str:
    """The package of a subject: two subjects may be configurations or classes of one library."""
    subject = ADAPTERS.get(name)
    return subject.distribution or name if subject else name


def versions(library: dict[str, Any]) -> str:
    """The version that was checked; another one that was the newest on that day."""
    is_newest = library.get("newest") in (None, "", library["version"])
    return str(library["version"]) + ("" if is_newest else f", not {library['newest']}")


def row(library: dict[str, Any], found: list[dict[str, Any]], old: dict[str, Any] | None) -> str:
    """The row of a library in the summary table; `old`: its counts for the oldest CPython."""
    shown = ", ".join(f"{old[name]} {name}" for name in counts(())) if old else ""
    cells = [
        f"[{library['name']}](findings/{library['name']}.md)",
        versions(library),
        library["date"],
        *map(str, counts(once(found).values()).values()),
        str(library["counts"].get("pass", 0)),
        f"{old['version']}: {shown}" if old else "",
    ]
    return f"| {' | '.join(cells)} |"


def section(library: dict[str, Any], found: list[dict[str, Any]]) -> list[str]:
    """The findings of a library as a table."""
    name = library["name"]
    out = [f"{name} {versions(library)}, Python {library['python']}, {library['date']}."]
    if not found:
        return [*out, "", "No deviation was found."]
    must, should, hazards = counts(once(found).values()).values()
    out += ["", f"**Broken: {must} MUST, {should} SHOULD; hazards: {hazards}.**"]
    out[-1] += f" {library['counts'].get('pass', 0)} cases passed."
    out[-1] += f" [The scripts that were run]({SCRIPTS}/{name}.md), one for each case."
    out += ["", "| | requirement | case | expected | observed | result of the repro |"]
    out.append("| --- | --- | --- | --- | --- | --- |")
    for each in sorted(found, key=lambda f: (ORDER.index(f["outcome"]), f["id"])):
        cells = [
            each["outcome"],
            judged(each),
            f"{each['role']}: {each['case']}",
            cell(each["expected"]),
            cell(observed(each)),
            cell(each["again"]),
        ]
        out.append(f"| {' | '.join(cells)} |")
    return out


def scripts(library: dict[str, Any]) -> str:
    """The repros of a library as a page of the branch `records`."""
    out = [f"# Repros of {library['name']} {library['version']}, {library['date']}", ""]
    for each in library["deviations"]:
        out += [f"{each['outcome']}: {key(each)}", "", "```python", each["repro"], "```", ""]
    return "\n".join(out)


def page(
    libraries: list[dict[str, Any]],
    known: dict[str, Any],
    matrix: list[str],
    oldest: dict[str, Any],
) -> str:
    """The page, but for its introduction."""
    found = {each["name"]: confirmed(each, known) for each in libraries}
    every = [each for group in found.values() for each in group]
    levels = {name: once(group) for name, group in found.items()}
    deviating = {name for name, of in levels.items() if set(LEVELS) & set(of.values())}
    out = HEAD.format(
        **counts(level for of in levels.values() for level in of.values()),
        inherited=len({(f["subject"], f["id"]) for f in every if f.get("inherited")}),
        libraries=len(set(map(distribution, deviating))),
        oldest=OLDEST,
    )
    out += "\n".join(row(each, found[each["name"]], oldest.get(each["name"])) for each in libraries)
    out += "\n\n## Exchanges between libraries\n\n" + "\n".join(matrix) + "\n"
    return out


def rendered(name: str = "") -> str:
    """The page of a library, or without a name the summary of all in the order of the register,
    from the tracked files."""
    known = register()
    order = [*known].index
    libraries = sorted(stored(SUMMARIES), key=lambda each: order(each["name"]))
    if name:
        (library,) = (each for each in libraries if each["name"] == name)
        return "\n".join(section(library, confirmed(library, known)))
    matrix = records.read(SUMMARIES / "matrix.toml")["markdown"]
    return page(libraries, known, matrix, records.read(OLDEST_COUNTS)["libraries"])
