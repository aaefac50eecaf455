"""The report as a self-contained HTML file: an anchor per requirement, filters, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from importlib import resources

from refarray.conformance.findings import WORST_FIRST, Finding, Outcome, Run
from refarray.conformance.report.data import environment
from refarray.conformance.report.markdown import describe_level, describe_observation
from refarray.conformance.report.text import sums, word
from refarray.conformance.report.totals import coverage, totals
from refarray.conformance.requirements import Level, requirement

LEVELS = tuple(Level)


def badge(found: Finding) -> str:
    """An outcome as a word with its colour; an expected failure has that of a warning."""
    colour = Outcome.WARN if found.expected_failure else found.outcome
    return f'<span class="outcome {colour}">{word(found)}</span>'


def case(found: Finding, folded: bool) -> Iterator[str]:
    """One case, with its repro."""
    yield f'<div class="case" data-outcome="{found.outcome}">'
    yield f"{badge(found)} <b>{escape(f'{found.role} {found.case}')}</b>"
    yield f'<p class="expected">{escape(found.expected)}</p>'
    yield f'<p class="observed">{escape(describe_observation(found))}</p>'
    if found.expected_failure:
        why = escape(found.expected_failure)
        yield f'<p class="expected">expected to {found.outcome}: {why}</p>'
    if found.repro and found.outcome not in {Outcome.PASS, Outcome.NOT_APPLICABLE}:
        yield repro(found.repro, folded, "traceback" if found.outcome is Outcome.ERROR else "repro")
    yield "</div>"


def repro(text: str, folded: bool = False, name: str = "repro") -> str:
    """Lines of Python with a copy button."""
    lines = f'<button type="button">copy</button><pre>{escape(text)}</pre>'
    fold = f"<details><summary>{name}</summary>{lines}</details>"
    return f'<div class="repro">{fold if folded else lines}</div>'


def rank(group: list[Finding]) -> tuple[int, int, str]:
    """The sort key of a requirement: failures first, among them broken MUSTs, then warnings."""
    what = worst(group)
    outcome = WORST_FIRST.index(what)
    failed = 0 if what.failed else 1 + outcome
    level = next(found.level for found in group if found.outcome is what)
    return failed, LEVELS.index(level) * 10 + outcome, group[0].id


def worst(group: list[Finding]) -> Outcome:
    return min((found.outcome for found in group), key=WORST_FIRST.index)


def fold(run: Run, group: list[Finding]) -> Iterator[str]:
    """One requirement as a fold; its summary shows the first observation."""
    asked = requirement(group[0].id)
    cases = sorted(group, key=lambda each: (WORST_FIRST.index(each.outcome), each.expected_failure))
    what = cases[0].outcome
    anchor = escape(f"{run.subject}-{asked.id}")
    level = cases[0].level  # a case may be judged at a weaker level
    words = [asked.id, asked.title, run.subject, level]
    words += [f"{found.role} {found.case} {found.observed}" for found in cases]
    search = escape(" ".join(words).lower(), quote=True)
    same = sum(found.outcome is what for found in cases)
    count = f"{same} of {len(cases)} cases" if len(cases) > 1 else "1 case"
    first = "" if what is Outcome.PASS else f'<span class="seen">{escape(cases[0].observed)}</span>'
    yield f'<details id="{anchor}" data-outcome="{what}" data-search="{search}">'
    yield (
        f'<summary>{badge(cases[0])} <a class="id" href="#{anchor}">{asked.id}</a> '
        f'<span class="level">{escape(describe_level(cases[0]))}</span> {escape(asked.title)} '
        f'<span class="count">{count}</span>{first}</summary>'
    )
    yield f'<p class="why">{escape(asked.rationale)}.</p>'
    for quote in asked.quotes:
        yield (
            f'<p class="why">“{escape(quote.text)}” '
            f'<a href="{escape(quote.link)}" rel="noreferrer">{escape(quote.document)}</a></p>'
        )
    for number, found in enumerate(cases):
        yield from case(found, folded=number > 0)
    yield "</details>"


def section(run: Run) -> Iterator[str]:
    """One subject: a fold per requirement, the worst first."""
    title = escape(run.title)
    yield f'<section id="{escape(run.subject)}"><h2>{title}</h2>'
    for line in run.head():
        yield f'<p class="broken">{escape(line)}</p>'
    if run.broken:
        yield f'<p class="broken">Could not be tried: {escape(run.broken)}</p></section>'
        return
    groups: dict[str, list[Finding]] = {}
    for found in run.findings:
        groups.setdefault(found.id, []).append(found)
    yield (
        f"<p><b>{totals(run.findings)}; {coverage(run.findings)}.</b> Cases: "
        f"{escape(sums(run.findings))}; {run.seconds:.1f} s</p>"
    )
    for group in sorted(groups.values(), key=rank):
        yield from fold(run, group)
    yield "</section>"


INTRO = (
    "How each library follows the public standards for array exchange. FAIL: a MUST is broken; "
    "WARN: a SHOULD; INFO: the texts leave it open, or allow it although it is dangerous; ERROR: "
    "the check itself failed, which says nothing of the library."
)


def text(runs: Iterable[Run]) -> str:
    runs = list(runs)
    found = {each.outcome for run in runs for each in run.findings}
    quiet = {Outcome.PASS, Outcome.NOT_APPLICABLE}
    return page(
        title=", ".join(run.title for run in runs),
        intro=INTRO,
        subjects=" · ".join(
            f'<a href="#{escape(run.subject)}">{escape(run.subject)}</a>' for run in runs
        )
        if len(runs) > 1
        else "",
        filters=[
            (str(what), str(what), what not in quiet) for what in WORST_FIRST if what in found
        ],
        extra="",
        sections="\n".join("\n".join(section(run)) for run in runs),
    )


def page(
    *,
    title: str,
    intro: str,
    subjects: str,
    filters: Iterable[tuple[str, str, bool]],
    extra: str,
    sections: str,
) -> str:
    """A self-contained page. `filters` are (outcome, CSS class, checked); `subjects`, `extra` and
    `sections` are HTML."""
    frame = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    boxes = "".join(
        f'<label class="outcome {colour}"><input type="checkbox" value="{what}" '
        f"{'checked' if checked else ''}>{what}</label>"
        for what, colour, checked in filters
    )
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in environment().items()
    )
    parts = {
        "@TITLE@": escape(title),
        "@INTRO@": escape(intro),
        "@SUBJECTS@": subjects,
        "@FILTERS@": boxes,
        "@ENVIRONMENT@": f"<table>{rows}</table>",
        "@EXTRA@": extra,
        "@SECTIONS@": sections,
    }
    return re.sub(
        "|".join(parts), lambda mark: parts[mark[0]], frame
    )  # one pass: values are not expanded again
