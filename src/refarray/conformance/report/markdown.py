"""The report as Markdown: a table per subject, for a CI job summary or an issue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from refarray.conformance.findings import Finding, Run
from refarray.conformance.report.text import group_findings, sums, word
from refarray.conformance.report.totals import coverage, totals
from refarray.conformance.requirements import requirement


def cell(words: str) -> str:
    """Text escaped for a table cell."""
    return words.replace("|", "\\|").replace("\n", " ")


def outcome(found: Finding) -> str:
    """The outcome, with the reason of an expected failure."""
    return (
        f"{word(found)}: {cell(found.expected_failure)}" if found.expected_failure else word(found)
    )


def describe_level(found: Finding) -> str:
    """ "MUST", "HAZARD, derived, crash": the level and what else is to be said of it."""
    inherited = f"inherited from {found.inherited}" if found.inherited else ""
    parts = [found.level, "derived" if found.derived else "", found.harm, inherited]
    return ", ".join(filter(None, parts))


def describe_observation(found: Finding) -> str:
    """The observation, what provoked it, and the case with the same cause."""
    parts = [found.observed]
    parts += [f"provoked by: {found.provoked}"] if found.provoked else []
    parts += [f"same cause as {found.same_as}"] if found.same_as else []
    return "; ".join(parts)


def list_head(run: Run) -> Iterator[str]:
    """What was dropped of the adapter and why, and the library's conduct."""
    lines = [f"- {cell(line)}" for line in run.head()]
    yield from [*lines, ""] if lines else []


def section(run: Run) -> Iterator[str]:
    yield f"## {run.title}"
    yield ""
    yield from list_head(run)
    if run.broken:
        yield f"Could not be tried: `{run.broken}`"
        return
    yield f"{totals(run.findings)}; {coverage(run.findings)}. Cases: {sums(run.findings)}."
    groups = list(group_findings(run.findings))
    if not groups:
        return
    yield ""
    yield "| | requirement | case | expected | observed |"
    yield "| --- | --- | --- | --- | --- |"
    for group in groups:
        asked = requirement(group[0].id)
        for number, found in enumerate(group):
            name = (
                f"[{found.id}]({asked.source}) {describe_level(found)}: {asked.title}"
                if number == 0
                else ""
            )
            yield (
                f"| {outcome(found)} | {cell(name)} | {found.role} {found.case} | "
                f"{cell(found.expected)} | {cell(describe_observation(found))} |"
            )


def text(runs: Iterable[Run]) -> str:
    return "\n\n".join("\n".join(section(run)) for run in runs) + "\n"
