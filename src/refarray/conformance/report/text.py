"""The report for a terminal: the worst findings first, each with its repro, and the totals."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from refarray._terminal import height, width, wrap_hanging
from refarray.conformance.findings import DEVIATIONS, Finding, Outcome, Run
from refarray.conformance.report.totals import coverage, totals
from refarray.conformance.requirements import requirement

MOST = 8
"""The requirements that the short report shows at least, on a screen of 24 lines."""
FAILURES = [what for what in DEVIATIONS if what.failed]
COLOURS = {
    Outcome.CRASH: "1;35",
    Outcome.HANG: "1;35",
    Outcome.FAIL: "1;31",
    Outcome.ERROR: "1;33",
    Outcome.WARN: "33",
    Outcome.INFO: "36",
}


def colour_text(text: str, code: str, colour: bool) -> str:
    """The text with an ANSI colour, or plain."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def sums(findings: Iterable[Finding]) -> str:
    """ "1 fail, 2 expected fail, 151 pass, 3 info": the outcomes that occur, the worst first."""
    counts = Counter(word(found) for found in findings)
    order = [*DEVIATIONS, *(f"expected {what}" for what in FAILURES), Outcome.PASS]
    order.append(Outcome.NOT_APPLICABLE)
    return ", ".join(f"{counts[what]} {what}" for what in order if counts[what])


def word(found: Finding) -> str:
    """The outcome; "expected fail" of an expected failure."""
    return f"expected {found.outcome}" if found.expected_failure else str(found.outcome)


def lines(group: Sequence[Finding], width: int, colour: bool) -> Iterator[str]:
    """The findings of one requirement with one outcome: title and source of the requirement, the
    expected and observed behaviour of each case, and the repro of the first."""
    first = group[0]
    asked = requirement(first.id)
    mark = "XFAIL" if first.expected_failure else f"{first.outcome:<5}".upper()
    code = "33" if first.expected_failure else COLOURS[first.outcome]
    level = ", ".join(filter(None, [first.level, asked.basis, first.harm]))
    head = f"{mark} {first.id} {level}  "
    title = wrap_hanging(head, asked.title, 6, width)
    plain = f"{colour_text(mark, code, colour)} {colour_text(first.id, '1', colour)} {level}  "
    yield plain + title[0][len(head) :]
    yield from title[1:]
    for quote in asked.quotes:
        yield from wrap_hanging("      ", f'"{quote.text}" ({quote.document})', 7, width)
        yield f"      {colour_text(quote.link, '2', colour)}"
    if first.inherited:
        yield f"      inherited from {first.inherited}"
    if first.expected_failure:
        yield from wrap_hanging(
            "      ", f"expected to {first.outcome}: {first.expected_failure}", 6, width
        )
    for found in group:
        yield from wrap_words(f"{found.role} {found.case}", found.expected, width)
        yield from wrap_words("", f"→ {found.observed}", width)
        if found.provoked:
            yield from wrap_words("", f"provoked by: {found.provoked}", width)
        if found.same_as:
            yield from wrap_words("", f"same cause as {found.same_as}", width)
    for number, row in enumerate(first.repro.splitlines()):
        name = "traceback" if first.outcome is Outcome.ERROR else "repro"
        yield f"      {name if number == 0 else '':<28}  {row}"
    yield ""


def wrap_words(name: str, words: str, width: int) -> Iterator[str]:
    """A text in the second column, with its name in the first; a long name has its own line."""
    rows = textwrap.wrap(words, max(40, width - 36), break_long_words=False) or [""]
    if len(name) > 28:
        yield f"      {name}"
        name = ""
    for row in rows:
        yield f"      {name:<28}  {row}"
        name = ""


def group_findings(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """The findings of the outcomes in DEVIATIONS, grouped by requirement, the worst first; expected
    failures come last, grouped by their reason, too."""
    findings = list(findings)
    for expected in (False, True):
        for what in DEVIATIONS:
            groups: dict[tuple[str, str], list[Finding]] = {}
            for found in findings:
                if found.outcome is what and bool(found.expected_failure) is expected:
                    groups.setdefault((found.id, found.expected_failure), []).append(found)
            yield from groups.values()


def summarize(group: Sequence[Finding], columns: int, colour: bool) -> Iterator[str]:
    """The findings of one requirement with one outcome in two lines: what is required, and what was
    seen first."""
    first = group[0]
    mark = "XFAIL" if first.expected_failure else f"{first.outcome:<5}".upper()
    code = "33" if first.expected_failure else COLOURS[first.outcome]
    level = ", ".join(filter(None, [first.level, first.harm]))
    asked = requirement(first.id)
    row = textwrap.shorten(f"{mark} {first.id} {level}: {asked.title}", columns, placeholder="…")
    yield row.replace(mark.rstrip(), colour_text(mark.rstrip(), code, colour), 1)
    more = f" (and {len(group) - 1} more)" if len(group) > 1 else ""
    seen = f"{first.role} {first.case}: {first.observed}"
    if first.expected_failure:
        seen = f"expected to {first.outcome}: {first.expected_failure}"
    yield "      " + textwrap.shorten(seen, columns - 6 - len(more), placeholder="…") + more


def list_causes(run: Run) -> list[list[Finding]]:
    """The groups of the short report: what fails, is not known or not advised, and has no cause
    elsewhere."""
    groups = ([f for f in group if not f.same_as] for group in group_findings(run.findings))
    return [group for group in groups if group and group[0].outcome is not Outcome.INFO]


def brief(runs: Iterable[Run], *, colour: bool = False) -> str:
    """The short report, which fits a screen: the first cause of each finding, the counts, and where
    the rest is."""
    columns, out = width(), []
    rows = max(MOST, (height() - 10) // 2)
    for run in runs:
        out.append(colour_text(run.title, "1", colour))
        for line in run.head():
            out += wrap_hanging("  ", line, 4, columns)
        if run.broken:
            out += wrap_hanging("  ", f"could not be tried: {run.broken}", 2, columns)
        groups = list_causes(run)
        for group in groups[:rows]:
            out += summarize(group, columns, colour)
        if len(groups) > rows:
            out.append(f"      and {len(groups) - rows} more requirements")
        if not run.broken:
            out += [*count_cases(run, columns)]
        if groups:
            asked = run.asked or run.subject
            out += wrap_hanging(
                "",
                f"-v shows every case; {groups[0][0].id} with its repro: refarray "
                f"check {asked} --issue {groups[0][0].id}",
                2,
                columns,
            )
        out.append("")
    return "\n".join(out).rstrip() + "\n"


def count_cases(run: Run, columns: int) -> Iterator[str]:
    """The totals of a run."""
    yield from wrap_hanging("", f"{run.title}: {totals(run.findings)}", 2, columns)
    yield from wrap_hanging("", f"{coverage(run.findings)}", 2, columns)
    cases = f"{len(run.findings)} cases in {run.seconds:.1f} s: {sums(run.findings)}"
    yield from wrap_hanging("", cases, 2, columns)


def text(runs: Iterable[Run], *, colour: bool = False, every: bool = False) -> str:
    """The report. `every` also lists cases that passed or do not apply."""
    columns = width()
    out: list[str] = []
    for run in runs:
        out.append(colour_text(run.title, "1", colour))
        for line in run.head():
            out += wrap_hanging("  ", line, 4, columns)
        if run.broken:
            out += [*wrap_hanging("  ", f"could not be tried: {run.broken}", 2, columns), ""]
            continue
        out.append("")
        for group in group_findings(run.findings):
            out += lines(group, columns, colour)
        if every:
            for found in run.findings:
                if found.outcome in {Outcome.PASS, Outcome.NOT_APPLICABLE}:
                    first = f"{found.outcome:<14} {found.id:<8} "
                    out += wrap_hanging(first, f"{found.case}: {found.observed}", 24, columns)
            out.append("")
        out += [*count_cases(run, columns), ""]
    return "\n".join(out).rstrip() + "\n"
