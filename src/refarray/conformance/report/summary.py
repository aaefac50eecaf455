"""The summary of each library on one page, as Markdown: coverage, harm, broken rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from refarray.conformance.findings import Finding, Outcome, Run
from refarray.conformance.report.markdown import cell, describe_level, list_head
from refarray.conformance.report.totals import coverage, totals
from refarray.conformance.requirements import families, requirement

ROWS = 12
"""The rows of a list; further ones are counted."""


def by_family(findings: Sequence[Finding]) -> Iterator[str]:
    """The table of the families: coverage and broken requirements."""
    yield "| family | tried | requirements kept | broken | with a warning |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for family, title in families().items():
        group = [found for found in findings if found.id.startswith(f"{family}-")]
        if group:
            seen, sums = coverage(group), totals(group)
            yield (
                f"| {family}: {title} | {seen.tried} of {seen.possible} | {sums.kept} | "
                f"{sums.broken} | {sums.warned} |"
            )


def rows(findings: Sequence[Finding]) -> Iterator[str]:
    """A line for each requirement, with its first observation and the number of its cases."""
    groups: dict[str, list[Finding]] = {}
    for found in findings:
        groups.setdefault(found.id, []).append(found)
    for number, (name, group) in enumerate(groups.items()):
        if number == ROWS:
            yield f"- and {len(groups) - ROWS} more"
            return
        first = group[0]
        cases = f", {len(group)} cases" if len(group) > 1 else ""
        title = requirement(name).title
        level, saw = describe_level(first), cell(first.observed)[:160]
        yield f"- **{name}** ({level}{cases}): {title}. Saw: {saw}"


def lists(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """The findings by what a reader does about them; one with another's cause is left out."""
    own = [found for found in findings if not found.same_as]
    harmful = [found for found in own if found.harm]
    return {
        "Crashes, hangs, wrong data": [found for found in harmful if not found.inherited],
        "Broken rules": [f for f in own if f.outcome is Outcome.FAIL and not f.harm],
        "Advice that is not followed": [f for f in own if f.outcome is Outcome.WARN],
        "Inherited": [found for found in harmful if found.inherited],
    }


def page(run: Run) -> Iterator[str]:
    yield f"# {run.title}"
    yield ""
    yield from list_head(run)
    if run.broken:
        yield f"Could not be tried: {cell(run.broken)}"
        return
    yield f"{totals(run.findings)}; {coverage(run.findings)}."
    yield ""
    yield from by_family(run.findings)
    for title, findings in lists(run.findings).items():
        if findings:
            yield from ("", f"## {title}", "")
            yield from rows(findings)


def text(runs: Iterable[Run]) -> str:
    return "\n\n".join("\n".join(page(run)) for run in runs) + "\n"
