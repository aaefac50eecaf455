"""The expectations file: known deviations by id, case, subject and version. Unexpected deviations
and entries that no finding confirms are both reported."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refarray._terminal import suggestion
from refarray.conformance.cases import CHECKS, Check
from refarray.conformance.findings import Finding, Outcome, Run
from refarray.conformance.requirements import requirements
from refarray.conformance.suite import load

KEYS = {"id", "subject", "case", "role", "versions", "outcome", "reason", "issue"}
NEEDED = {"id", "subject", "outcome", "reason"}
CLAUSE = re.compile(r"\s*(==|!=|>=|<=|<|>)\s*(\d+(?:\.\d+)*)\s*")


class Malformed(ValueError):
    """The file is malformed; the message names the line or the entry, and the key."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One entry: the findings that it covers have this outcome."""

    id: str
    subject: str
    outcome: Outcome
    reason: str
    case: str = ""
    role: str = ""
    versions: str = ""
    issue: str = ""

    def concerns(self, run: Run) -> bool:
        """Whether the entry names the subject of the run: as the user did, or as its adapter."""
        return self.subject in {run.subject, run.name, run.asked}

    def of(self, check: Check) -> bool:
        """Whether the entry is about that check, on whatever subject."""
        return (
            check.id == self.id and self.case in {"", check.case} and self.role in {"", check.role}
        )

    @property
    def why(self) -> str:
        """The reason, with the issue if there is one."""
        return f"{self.reason}, {self.issue}" if self.issue else self.reason

    def covers(self, found: Finding, run: Run) -> bool:
        """Whether the entry is about that finding of the run."""
        return (
            found.id == self.id
            and self.concerns(run)
            and self.case in {"", found.case}
            and self.role in {"", found.role}
            and matches(found.version, self.versions)
        )

    def __str__(self) -> str:
        parts = [self.id, self.subject, self.role, self.case, self.versions]
        return " ".join(part for part in parts if part)


def numbers(version: str) -> tuple[int, ...]:
    """The release part of a version: "2.13.0+cpu" is (2, 13, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def matches(version: str, ranges: str) -> bool:
    """Whether a version lies in ">=2.9,<3"; no range matches every version."""
    own = numbers(version)
    for clause in filter(None, ranges.split(",")):
        parsed = CLAUSE.fullmatch(clause)
        if parsed is None:
            raise Malformed(f"versions: {clause!r} is no clause such as >=2.9")
        limit = numbers(parsed[2])
        length = max(len(own), len(limit))
        a, b = (part + (0,) * (length - len(part)) for part in (own, limit))
        holds = {"==": a == b, "!=": a != b, ">=": a >= b, "<=": a <= b, "<": a < b, ">": a > b}
        if not holds[parsed[1]]:
            return False
    return True


def parse(text: str, name: str = "expectations") -> list[Expectation]:
    """The entries of a file's text. Malformed names the wrong entry and key."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(f"{name}: {error}") from error
    if extra := set(data) - {"expect"}:
        raise Malformed(f"{name}: unknown key {sorted(extra)[0]!r}; entries are [[expect]] tables")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[expect]]"]
    entries = data.get("expect", [])
    if not isinstance(entries, list):
        raise Malformed(f"{name}: expect is no list; entries are [[expect]] tables")
    places = lines if len(lines) == len(entries) else [0] * len(entries)
    return [
        _entry(entry, f"{name}, line {place}" if place else f"{name}, entry {number}")
        for number, (entry, place) in enumerate(zip(entries, places, strict=True), 1)
    ]


def _entry(entry: dict[str, Any], where: str) -> Expectation:
    for key, value in entry.items():
        if key not in KEYS:
            raise Malformed(f"{where}: unknown key {key!r}; there are {', '.join(sorted(KEYS))}")
        if not isinstance(value, str):
            raise Malformed(f"{where}: {key} is a {type(value).__name__}, not a string")
    if missing := sorted(NEEDED - set(entry)):
        raise Malformed(f"{where}: {missing[0]} is missing")
    if entry["id"] not in requirements():
        hint = suggestion([entry["id"]], requirements())
        raise Malformed(f"{where}: id {entry['id']!r} is no requirement{hint}")
    try:
        entry["outcome"] = Outcome(entry["outcome"])
        if entry["outcome"] is Outcome.ERROR:
            raise ValueError
    except ValueError:
        known = ", ".join(each for each in Outcome if each is not Outcome.ERROR)
        raise Malformed(f"{where}: outcome {str(entry['outcome'])!r} is none of {known}") from None
    try:
        matches("0", entry.get("versions", ""))
    except Malformed as error:
        raise Malformed(f"{where}: {error}") from None
    return _of_a_check(Expectation(**entry), where)


def _of_a_check(entry: Expectation, where: str) -> Expectation:
    """The entry. Malformed if no check is of its id, case and role, so that it could never hold."""
    load()
    checks = [check for check in CHECKS.values() if check.id == entry.id]
    if any(entry.of(check) for check in checks):
        return entry
    if not checks:
        raise Malformed(f"{where}: no check covers {entry.id}; see `refarray explain {entry.id}`")
    for key in ("case", "role"):
        known = dict.fromkeys(str(getattr(check, key)) for check in checks)
        if (given := getattr(entry, key)) and given not in known:
            some = ", ".join([*list(known)[:8], *(["…"] if len(known) > 8 else [])])
            hint = suggestion([given], known) or f"; there are {some}"
            raise Malformed(f"{where}: {key} {given!r} is none of {entry.id}{hint}")
    raise Malformed(f"{where}: {entry.id} has no case {entry.case!r} of a {entry.role}")


def read(path: Path) -> list[Expectation]:
    """The entries of a file. OSError when it cannot be read."""
    return parse(path.read_text(encoding="utf-8"), path.name)


def write(runs: Iterable[Run], kept: Sequence[Expectation] = ()) -> str:
    """The text of a file that expects the deviations of these runs, one entry for each case. An
    entry takes its reason and its issue from the one among `kept` that covers it."""
    out = []
    failed = [(each, f) for each in runs for f in each.findings if f.outcome.failed]
    for run, found in failed:
        old = next((each for each in kept if each.covers(found, run)), None)
        fields = {
            "id": found.id,
            "subject": run.subject,
            "role": found.role,
            "case": found.case,
            "versions": f">={number}" if (number := release(found.version)) else "",
            "outcome": found.outcome,
            "reason": old.reason if old else " ".join(found.observed.split()) or found.outcome,
            "issue": old.issue if old else "",
        }
        rows = [f"{name} = {_quote(str(value))}" for name, value in fields.items() if value]
        out.append("\n".join(["[[expect]]", *rows]))
    return "\n\n".join([HEAD, *out]) + "\n"


HEAD = """\
# Known deviations, written by `refarray check --write-expect`. Replace each reason by a sentence of
# your own: it was copied from the observation."""


def release(version: str) -> str:
    """The release part of a version: "2.13.0+cpu" is "2.13.0"."""
    return ".".join(map(str, numbers(version)))


def _quote(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped)
    return f'"{plain}"'


@dataclass(frozen=True, slots=True)
class Verdict:
    """The differences between findings and expectations."""

    unexpected: tuple[Finding, ...]
    """Failures that no entry covers, or whose entry has another outcome."""
    stale: tuple[Expectation, ...]
    """Entries of tried subjects that no finding confirms."""
    untried: tuple[tuple[Expectation, str], ...]
    """Entries that the runs say nothing about, and why."""


def compare(
    runs: Iterable[Run],
    expected: Sequence[Expectation],
    fails: Callable[[Finding], bool] = lambda found: found.outcome.failed,
) -> Verdict:
    """Compares the findings with the entries, both ways. Entries about versions that were not
    tried, or about cases in which the kit failed (Outcome.ERROR), are not stale but untried."""
    every = list(runs)
    runs = [run for run in every if not run.broken]
    confirmed: set[Expectation] = set()
    unexpected = []
    for run, found in [(each, found) for each in runs for found in each.findings]:
        entries = [entry for entry in expected if entry.covers(found, run)]
        if any(entry.outcome is found.outcome for entry in entries):
            confirmed.update(entry for entry in entries if entry.outcome is found.outcome)
        elif fails(found):
            unexpected.append(found)
    stale = [
        entry
        for entry in expected
        if entry not in confirmed and any(_is_judged(entry, run) for run in runs)
    ]
    untried = [
        (entry, _why_untried(entry, every))
        for entry in expected
        if entry not in confirmed and entry not in stale
    ]
    return Verdict(tuple(unexpected), tuple(stale), tuple(untried))


def _why_untried(entry: Expectation, runs: Sequence[Run]) -> str:
    """Why the runs neither confirm nor refute an entry."""
    concerned = [run for run in runs if entry.concerns(run)]
    if not concerned:
        hint = suggestion([entry.subject], [run.subject for run in runs])
        return f"is about a subject that is not checked here{hint}"
    run = concerned[0]
    if run.broken:
        return f"{run.subject} could not be tried"
    if not matches(run.version, entry.versions):
        return f"is about other versions; this is {run.version}"
    if any(entry.covers(found, run) for found in run.findings):
        return "is about a case in which the kit failed"
    return "is about a case that was not selected"


def _is_judged(entry: Expectation, run: Run) -> bool:
    """Whether the run tried the entry's requirement on its subject and version, and the kit did not
    fail in one of its cases."""
    unknown = (found for found in run.findings if found.outcome is Outcome.ERROR)
    return (
        entry.concerns(run)
        and matches(run.version, entry.versions)
        and any(entry.covers(found, run) for found in run.findings)
        and not any(entry.covers(found, run) for found in unknown)
    )


def forgive(run: Run, expected: Sequence[Expectation]) -> Run:
    """The run with the reason of each expected failure; the outcomes are unchanged."""
    return replace(run, findings=[_forgive(found, run, expected) for found in run.findings])


def _forgive(found: Finding, run: Run, expected: Sequence[Expectation]) -> Finding:
    if not found.outcome.failed:
        return found
    why = (e.why for e in expected if e.outcome is found.outcome and e.covers(found, run))
    return replace(found, expected_failure=next(why, ""))
