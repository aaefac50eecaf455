"""The reports of a matrix: JSON, Markdown, and a page with every exchange of each pair."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from refarray.conformance.findings import BROKEN, Finding, Outcome, Run
from refarray.conformance.harness.exchange import Arrival, Exchange
from refarray.conformance.matrix.measure import BAD, LEGEND, Cell
from refarray.conformance.report import data, html
from refarray.conformance.report.markdown import cell as kept
from refarray.conformance.requirements import requirement
from refarray.conformance.subjects.lookup import subject

Rows = Sequence[Sequence[Cell]]
ORDER = (
    *(Arrival.CRASHED, Arrival.HUNG, Arrival.WRONG, Arrival.WRITABLE, Arrival.UNKNOWN),
    *(Arrival.REFUSED, Arrival.COPIED, Arrival.SHARED),
)
COLOURS = {
    Arrival.CRASHED: "crash",
    Arrival.HUNG: "hang",
    Arrival.WRONG: "fail",
    Arrival.WRITABLE: "warn",
    Arrival.UNKNOWN: "not-applicable",
    Arrival.REFUSED: "info",
    Arrival.COPIED: "info",
    Arrival.SHARED: "pass",
}
INTRO = (
    "Each library's arrays sent to each library; the import is compared with the export. SHARED: "
    "the same memory; COPIED and REFUSED are answers that the standard allows; WRONG: another "
    "shape or dtype; WRITABLE: data that must not be written became writable."
)


def every(rows: Rows) -> list[Cell]:
    """The cells, row by row."""
    return [cell for row in rows for cell in row]


# --- JSON


def make_finding(cell: Cell, exchange: Exchange) -> Finding:
    """One exchange as a finding of TENS-19, or of FLAG-10 if read-only data was sent to a library
    that has read-only arrays."""
    sticky = exchange.case == "readonly" and "readonly" in subject(cell.consumer).arrays
    asked = requirement("FLAG-10" if sticky else "TENS-19")
    outcome = Outcome.PASS
    if exchange.arrival in {Arrival.CRASHED, Arrival.HUNG}:
        outcome = Outcome.CRASH if exchange.arrival is Arrival.CRASHED else Outcome.HANG
    elif exchange.arrival in {Arrival.REFUSED, Arrival.UNKNOWN}:
        outcome = Outcome.NOT_APPLICABLE
    elif exchange.arrival is Arrival.WRONG or (exchange.arrival is Arrival.WRITABLE and sticky):
        outcome = BROKEN[asked.level]
    return Finding(
        id=asked.id,
        level=asked.level,
        subject=f"{cell.producer} -> {cell.consumer}",
        version=" -> ".join(cell.versions),
        role="pair",
        case=exchange.case,
        outcome=outcome,
        expected="the import has the export's shape, dtype and READ_ONLY flag",
        observed=f"{exchange.arrival}: {exchange.observed}",
        repro=exchange.repro,
    )


def document(rows: Rows) -> dict[str, Any]:
    """The report of `refarray check` with pairs as subjects, and the exchanges of each pair."""
    runs = [
        Run(
            f"{cell.producer} -> {cell.consumer}",
            " -> ".join(cell.versions),
            cell.broken,
            [make_finding(cell, each) for each in cell.exchanges],
        )
        for cell in every(rows)
    ]
    pairs = [{**asdict(cell), "counts": dict(cell.counts)} for cell in every(rows)]
    return {**data.document(runs), "pairs": pairs}


def as_json(rows: Rows) -> str:
    return json.dumps(document(rows), indent=1) + "\n"


# --- Markdown


def versions(rows: Rows) -> dict[str, str]:
    """The version of each library by its name."""
    return {
        row[0].producer: next((c.versions[0] for c in row if c.versions[0]), "") for row in rows
    }


def write_markdown(rows: Rows) -> str:
    """The grid, and a line for each bad exchange."""
    names = versions(rows)
    head = [f"{name} {version}".rstrip() for name, version in names.items()]
    out = [
        "| producer \\ consumer | " + " | ".join(head) + " |",
        "| --- |" + " --- |" * len(head),
        *(
            "| " + " | ".join([f"**{title}**", *(kept(cell.text) for cell in row)]) + " |"
            for title, row in zip(head, rows, strict=True)
        ),
        "",
        f"{LEGEND}.",
    ]
    bad = [
        f"- {cell.producer} → {cell.consumer}, {each.case}: {each.arrival}, {kept(each.observed)}"
        for cell in every(rows)
        for each in cell.exchanges
        if each.arrival in BAD
    ]
    broken = [
        f"- {cell.producer} → {cell.consumer}: {kept(cell.broken)}"
        for cell in every(rows)
        if cell.broken
    ]
    return "\n".join([*out, *([""] if bad or broken else []), *broken, *bad]) + "\n"


# --- HTML


def table(rows: Rows) -> str:
    """The grid; each cell links to its exchanges."""
    names = versions(rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    out = [f'<table class="matrix"><tr><th>producer \\ consumer</th>{head}</tr>']
    for row in rows:
        name = row[0].producer
        out.append(f"<tr><th>{escape(name)} {escape(names[name])}</th>")
        out += [
            f'<td class="{COLOURS[worst(cell)] if cell.exchanges else "hang"}">'
            f'<a href="#{escape(anchor(cell))}">{escape(cell.text)}</a></td>'
            for cell in row
        ]
        out.append("</tr>")
    return "".join([*out, "</table>", f"<p>{escape(LEGEND)}.</p>"])


def worst(cell: Cell) -> Arrival:
    """The worst arrival of a cell; copies and refusals count as sharing."""
    bad = [what for what in ORDER[:5] if cell.counts[what]]
    return bad[0] if bad else Arrival.SHARED


def anchor(cell: Cell) -> str:
    return f"{cell.producer}-{cell.consumer}"


def section(cell: Cell) -> Iterator[str]:
    """One pair: its exchanges, the worst first."""
    what = worst(cell)
    words = escape(f"{cell.producer} {cell.consumer} {cell.text} {cell.broken}".lower())
    mark = f'<span class="outcome {COLOURS[what]}">{what}</span>'
    yield (
        f'<details id="{escape(anchor(cell))}" data-outcome="{what}" data-search="{words}"'
        f"{' open' if what in BAD else ''}><summary>{mark} "
        f'<a class="id" href="#{escape(anchor(cell))}">{escape(cell.producer)} → '
        f"{escape(cell.consumer)}</a> {escape(cell.text)}</summary>"
    )
    if cell.broken:
        yield f'<p class="broken">{escape(cell.broken)}</p>'
    for each in sorted(cell.exchanges, key=lambda each: ORDER.index(each.arrival)):
        yield '<div class="case">'
        yield f'<span class="outcome {COLOURS[each.arrival]}">{each.arrival}</span> '
        yield f'<b>{escape(each.case)}</b><p class="observed">{escape(each.observed)}</p>'
        if each.arrival in BAD or each.arrival is Arrival.REFUSED:
            yield html.repro(each.repro)
        yield "</div>"
    yield "</details>"


def page(rows: Rows) -> str:
    found = {worst(cell) for cell in every(rows)}
    return html.page(
        title=", ".join(f"{name} {version}".rstrip() for name, version in versions(rows).items()),
        intro=INTRO,
        subjects="",
        filters=[(str(what), COLOURS[what], True) for what in ORDER if what in found],
        extra=table(rows),
        sections="\n".join("\n".join(section(cell)) for cell in every(rows)),
    )
