"""Owns the report for a terminal: worst first, the repro below, sums at the end."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from refarray.conformance.findings import Finding, Outcome
from refarray.conformance.requirements import requirement
from refarray.conformance.runner.engine import Run

ORDER = (Outcome.CRASH, Outcome.HANG, Outcome.FAIL, Outcome.WARN, Outcome.INFO)
MARKS = {
    Outcome.CRASH: "CRASH",
    Outcome.HANG: "HANG ",
    Outcome.FAIL: "FAIL ",
    Outcome.WARN: "WARN ",
    Outcome.INFO: "INFO ",
}
COLOURS = {
    Outcome.CRASH: "1;35",
    Outcome.HANG: "1;35",
    Outcome.FAIL: "1;31",
    Outcome.WARN: "33",
    Outcome.INFO: "36",
}


def coloured(text: str, code: str, colour: bool) -> str:
    """The text in a terminal's colour, or plain."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def sums(findings: Iterable[Finding]) -> str:
    """ "151 pass, 2 warn, 3 info, 3 not-applicable": outcomes that occurred, worst first."""
    counts = Counter(found.outcome for found in findings)
    order = (*ORDER, Outcome.PASS, Outcome.NOT_APPLICABLE)
    return ", ".join(f"{counts[what]} {what}" for what in order if counts[what])


def lines(group: Sequence[Finding], width: int, colour: bool) -> Iterator[str]:
    """The findings of one requirement that ended alike: what it asks, where that is written, each
    case with what was expected and seen, and how to see the first again."""
    first = group[0]
    asked = requirement(first.id)
    mark = coloured(MARKS[first.outcome], COLOURS[first.outcome], colour)
    yield f"{mark} {coloured(first.id, '1', colour)} {first.level}  {asked.title}"
    yield f"      {coloured(asked.source, '2', colour)}"
    for found in group:
        yield from wrapped(f"{found.role} {found.case}", found.expected, width)
        yield from wrapped("", f"→ {found.observed}", width)
    for number, row in enumerate(first.repro.splitlines()):
        yield f"      {'repro' if number == 0 else '':<28}  {row}"
    yield ""


def wrapped(name: str, words: str, width: int) -> Iterator[str]:
    """A named text in a column of its own; long names have a line to themselves."""
    rows = textwrap.wrap(words, max(40, width - 36), break_long_words=False) or [""]
    if len(name) > 28:
        yield f"      {name}"
        name = ""
    for row in rows:
        yield f"      {name:<28}  {row}"
        name = ""


def grouped(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """The findings that are no pass, worst first, those of one requirement together."""
    for what in ORDER:
        groups: dict[str, list[Finding]] = {}
        for found in findings:
            if found.outcome is what:
                groups.setdefault(found.id, []).append(found)
        yield from groups.values()


def text(runs: Iterable[Run], *, colour: bool = False, every: bool = False) -> str:
    """The report of some runs. `every` lists what passed and what did not apply, too."""
    width = shutil.get_terminal_size((100, 24)).columns
    out: list[str] = []
    for run in runs:
        out.append(coloured(f"{run.subject} {run.version}".rstrip(), "1", colour))
        if run.broken:
            out += [f"  could not be tried: {run.broken}", ""]
            continue
        out.append("")
        for group in grouped(run.findings):
            out += lines(group, width, colour)
        if every:
            for found in run.findings:
                if found.outcome in {Outcome.PASS, Outcome.NOT_APPLICABLE}:
                    out.append(f"{found.outcome:<14} {found.id:<8} {found.case}: {found.observed}")
            out.append("")
        ids = {found.id for found in run.findings}
        out.append(
            f"{run.subject} {run.version}: {len(run.findings)} cases of {len(ids)} requirements in "
            f"{run.seconds:.1f} s: {sums(run.findings)}"
        )
        out.append("")
    return "\n".join(out).rstrip() + "\n"
