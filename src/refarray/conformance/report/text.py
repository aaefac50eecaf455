"""The report for a terminal: the worst findings first, each with its repro, and the totals."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from refarray.conformance.findings import Finding, Outcome
from refarray.conformance.requirements import requirement
from refarray.conformance.runner.engine import Run

ORDER = (*(Outcome.CRASH, Outcome.HANG, Outcome.FAIL, Outcome.ERROR, Outcome.WARN, Outcome.INFO),)
"""The outcomes that are listed, the worst first."""
MARKS = {
    Outcome.CRASH: "CRASH",
    Outcome.HANG: "HANG ",
    Outcome.FAIL: "FAIL ",
    Outcome.ERROR: "ERROR",
    Outcome.WARN: "WARN ",
    Outcome.INFO: "INFO ",
}
COLOURS = {
    Outcome.CRASH: "1;35",
    Outcome.HANG: "1;35",
    Outcome.FAIL: "1;31",
    Outcome.ERROR: "1;33",
    Outcome.WARN: "33",
    Outcome.INFO: "36",
}


def coloured(text: str, code: str, colour: bool) -> str:
    """The text with an ANSI colour, or plain."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def sums(findings: Iterable[Finding]) -> str:
    """ "151 pass, 2 warn, 3 info, 3 not-applicable": the outcomes that occur, the worst first."""
    counts = Counter(found.outcome for found in findings)
    order = (*ORDER, Outcome.PASS, Outcome.NOT_APPLICABLE)
    return ", ".join(f"{counts[what]} {what}" for what in order if counts[what])


def lines(group: Sequence[Finding], width: int, colour: bool) -> Iterator[str]:
    """The findings of one requirement with one outcome: title and source of the requirement, the
    expected and observed behaviour of each case, and the repro of the first."""
    first = group[0]
    asked = requirement(first.id)
    mark = coloured(MARKS[first.outcome], COLOURS[first.outcome], colour)
    level = f"{first.level}, {asked.basis}" if asked.basis else first.level
    yield f"{mark} {coloured(first.id, '1', colour)} {level}  {asked.title}"
    yield f"      {coloured(asked.source, '2', colour)}"
    for found in group:
        yield from wrapped(f"{found.role} {found.case}", found.expected, width)
        yield from wrapped("", f"→ {found.observed}", width)
    for number, row in enumerate(first.repro.splitlines()):
        name = "traceback" if first.outcome is Outcome.ERROR else "repro"
        yield f"      {name if number == 0 else '':<28}  {row}"
    yield ""


def wrapped(name: str, words: str, width: int) -> Iterator[str]:
    """A text in the second column, with its name in the first; a long name has its own line."""
    rows = textwrap.wrap(words, max(40, width - 36), break_long_words=False) or [""]
    if len(name) > 28:
        yield f"      {name}"
        name = ""
    for row in rows:
        yield f"      {name:<28}  {row}"
        name = ""


def grouped(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """The findings of the outcomes in ORDER, grouped by requirement, the worst first."""
    for what in ORDER:
        groups: dict[str, list[Finding]] = {}
        for found in findings:
            if found.outcome is what:
                groups.setdefault(found.id, []).append(found)
        yield from groups.values()


def text(runs: Iterable[Run], *, colour: bool = False, every: bool = False) -> str:
    """The report. `every` also lists cases that passed or do not apply."""
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
