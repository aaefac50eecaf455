"""The report of one requirement for a bug tracker, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from refarray.conformance.findings import DEVIATIONS, Finding, Outcome, Run
from refarray.conformance.report.data import environment
from refarray.conformance.report.markdown import describe_level, describe_observation
from refarray.conformance.requirements import requirement


def deviations(run: Run, name: str) -> list[Finding]:
    """The run's findings on a requirement that deviate, the worst first."""
    found = [each for each in run.findings if each.id == name and each.outcome in DEVIATIONS]
    return sorted(found, key=lambda each: DEVIATIONS.index(each.outcome))


def code(text: str, language: str = "python") -> Iterator[str]:
    """A fenced block. The fence is longer than any run of backticks in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield from (f"{fence}{language}", text, fence)


def case(found: Finding, repro: bool) -> Iterator[str]:
    yield f"### {found.role}, {found.case}: {found.outcome}"
    yield ""
    yield f"Expected: {found.expected}"
    yield ""
    yield "Seen:"
    yield ""
    yield from code(describe_observation(found), "text")
    if repro and found.repro:
        yield ""
        yield "Traceback:" if found.outcome is Outcome.ERROR else "Repro:"
        yield ""
        yield from code(found.repro, "text" if found.outcome is Outcome.ERROR else "python")
    yield ""


def text(run: Run, name: str) -> str:
    """The report, or one sentence if there is nothing to report."""
    asked = requirement(name)
    title = run.title
    if run.broken:
        return f"{title} could not be tried: {run.broken}\n"
    head = "".join(f"{line}\n" for line in run.head())
    found = deviations(run, asked.id)
    if not found:
        tried = any(f.id == asked.id and f.outcome is Outcome.PASS for f in run.findings)
        verb = "keeps" if tried else "has no case of"
        return f"{head}{title} {verb} {asked.id}: nothing to report\n"
    out = [
        f"# {title}: {asked.title}",
        "",
        f"{asked.id}, {describe_level(found[0])}: {asked.title}.",
        "",
        *(f"> {quote.text}\n>\n> [{quote.document}]({quote.link})\n" for quote in asked.quotes),
        f"Why: {asked.rationale}.",
        "",
    ]
    shown: set[str] = set()
    for each in found:
        out += case(each, each.repro not in shown)
        shown.add(each.repro)
    known, command = environment(), f"refarray check {run.asked or run.subject} --only {asked.id}"
    out += [
        "### Versions",
        "",
        f"- {title}",
        f"- {known['implementation']} {known['python']} on {known['system']}",
        f"- found by refarray {known['refarray']}: `{command}`",
    ]
    return head + "\n".join(out) + "\n"
