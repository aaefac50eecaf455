"""Owns the report as one HTML file: nothing is loaded from elsewhere, a page anchor for each
requirement, a filter, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from importlib import resources

from refarray.conformance.engine import Run
from refarray.conformance.findings import Finding, Outcome
from refarray.conformance.report.data import environment
from refarray.conformance.report.text import ORDER, sums
from refarray.conformance.requirements import requirement

EVERY = (*ORDER, Outcome.PASS, Outcome.NOT_APPLICABLE)


def badge(what: Outcome) -> str:
    """An outcome with its colour; the word is there for who sees none."""
    return f'<span class="outcome {what}">{what}</span>'


def case(found: Finding) -> Iterator[str]:
    """The row of one case, and its repro to copy."""
    yield f'<div class="case" data-outcome="{found.outcome}">'
    yield f"{badge(found.outcome)} <b>{escape(f'{found.role} {found.case}')}</b>"
    yield f'<p class="expected">{escape(found.expected)}</p>'
    yield f'<p class="observed">{escape(found.observed)}</p>'
    if found.repro and found.outcome not in {Outcome.PASS, Outcome.NOT_APPLICABLE}:
        yield '<div class="repro"><button type="button">copy</button>'
        yield f"<pre>{escape(found.repro)}</pre></div>"
    yield "</div>"


def section(run: Run) -> Iterator[str]:
    """One subject: its requirements, worst first, each a fold."""
    title = escape(f"{run.subject} {run.version}".rstrip())
    yield f'<section id="{escape(run.subject)}"><h2>{title}</h2>'
    if run.broken:
        yield f'<p class="broken">Could not be tried: {escape(run.broken)}</p></section>'
        return
    yield f"<p>{escape(sums(run.findings))}; {run.seconds:.1f} s</p>"
    groups: dict[str, list[Finding]] = {}
    for found in run.findings:
        groups.setdefault(found.id, []).append(found)

    def worst(group: list[Finding]) -> int:
        return min(EVERY.index(found.outcome) for found in group)

    for name, group in sorted(groups.items(), key=lambda item: (worst(item[1]), item[0])):
        asked = requirement(name)
        what = EVERY[worst(group)]
        opened = " open" if what.failed else ""
        search = escape(" ".join([name, asked.title, run.subject, asked.level]).lower(), quote=True)
        anchor = escape(f"{run.subject}-{name}")
        yield f'<details id="{anchor}" data-outcome="{what}" data-search="{search}"{opened}>'
        yield (
            f'<summary>{badge(what)} <a class="id" href="#{anchor}">{name}</a> '
            f'<span class="level">{asked.level}</span> {escape(asked.title)}</summary>'
        )
        yield (
            f'<p class="why">{escape(asked.rationale)}. '
            f'<a href="{escape(asked.source)}" rel="noreferrer">the standard</a></p>'
        )
        for found in sorted(group, key=lambda each: EVERY.index(each.outcome)):
            yield from case(found)
        yield "</details>"
    yield "</section>"


def text(runs: Iterable[Run], extra: str = "") -> str:
    """The page. `extra` is HTML that stands before the subjects: the matrix."""
    runs = list(runs)
    page = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    found = {each.outcome for run in runs for each in run.findings}
    filters = "".join(
        f'<label class="outcome {what}"><input type="checkbox" value="{what}" '
        f"{'' if what in {Outcome.PASS, Outcome.NOT_APPLICABLE} else 'checked'}>{what}</label>"
        for what in EVERY
        if what in found
    )
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in environment().items()
    )
    subjects = " · ".join(
        f'<a href="#{escape(run.subject)}">{escape(run.subject)}</a>' for run in runs
    )
    parts = {
        "@TITLE@": escape(", ".join(f"{run.subject} {run.version}".rstrip() for run in runs)),
        "@SUBJECTS@": subjects,
        "@FILTERS@": filters,
        "@ENVIRONMENT@": f"<table>{rows}</table>",
        "@EXTRA@": extra,
        "@SECTIONS@": "\n".join("\n".join(section(run)) for run in runs),
    }
    return re.sub("|".join(parts), lambda mark: parts[mark[0]], page)  # in one pass: values stay
