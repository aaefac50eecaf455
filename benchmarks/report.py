"""Turns measured rows into the printed table and the JSON record, and compares two records."""

from __future__ import annotations

import json
from pathlib import Path

from .exchange import Case, Skipped
from .footprint import Footprint
from .targets import OURS, UNIT, Verdict
from .timing import Samples, ratio

REFUSED = "refused: "


def exchange_row(case: Case, samples: Samples, refused: dict[str, str]) -> dict[str, object]:
    """The record of one exchange case; a statement that raised keeps its error."""
    row: dict[str, object] = {"id": case.id, "title": case.title, "kind": "exchange"}
    if OURS in refused:
        targets = [target.describe() for target in case.targets]
        return {**row, "error": refused[OURS], "missed_targets": targets}
    peers: dict[str, object] = {name: {"refused": reason} for name, reason in refused.items()}
    for name in samples.rounds:
        if name not in (OURS, UNIT):
            peers[name] = {
                "ns": samples.summary(name),
                "ratio_to_ours": ratio(samples, name, OURS).as_json(),
            }
    verdicts = [
        Verdict(target, target.measure(samples))
        for target in case.targets
        if target.against in samples.rounds
    ]
    lost = [target for target in case.targets if target.against not in samples.rounds]
    return {
        **row,
        "ns": samples.summary(OURS),
        "unit_ns": samples.summary(UNIT),
        "units": ratio(samples, OURS, UNIT).as_json(),
        "peers": peers,
        "targets": [verdict.as_json() for verdict in verdicts],
        "unmeasured_targets": [target.describe() for target in lost],
        "verdicts": [verdict.describe() for verdict in verdicts],
    }


def footprint_row(footprint: Footprint) -> dict[str, object]:
    row: dict[str, object] = {
        "id": footprint.id,
        "title": footprint.title,
        "kind": "footprint",
    }
    if isinstance(footprint.value, str):
        targets = [target.describe() for target in footprint.targets]
        return {**row, "error": footprint.value, "missed_targets": targets}
    verdicts = footprint.verdicts()
    return {
        **row,
        "unit": footprint.unit,
        "value": footprint.value.as_json(),
        "peers": footprint.peers,
        "targets": [verdict.as_json() for verdict in verdicts],
        "verdicts": [verdict.describe() for verdict in verdicts],
    }


def skipped_row(skipped: Skipped) -> dict[str, object]:
    return {
        "id": skipped.id,
        "title": skipped.title,
        "kind": "skipped",
        "reason": skipped.reason,
    }


def missed(row: dict) -> bool:
    """Whether the row failed or any of its targets is missed."""
    return "error" in row or any(not target["met"] for target in row.get("targets", []))


def worst_factor(row: dict) -> float:
    """The largest ratio of a figure to its limit; infinite if the row failed."""
    if "error" in row:
        return float("inf")
    margins = [target["margin_percent"] for target in row.get("targets", [])]
    return max((1 - margin / 100 for margin in margins), default=0.0)


def table(rows: list[dict]) -> str:
    """One line per row, with aligned columns."""
    header = ("id", "case", "ours", "U or unit [95 %]", "target", "others / ours (E: their figure)")
    lines = [header]
    for row in rows:
        lines.append(_cells(row))
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    text = []
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        text.append("  ".join([*cells, line[-1]]).rstrip())
        if number == 0:
            text.append("  ".join("-" * width for width in (*widths, len(header[-1]))))
    return "\n".join(text)


def _cells(row: dict) -> tuple[str, ...]:
    if row["kind"] == "skipped":
        return row["id"], row["title"], "-", "-", "skipped", row["reason"]
    if "error" in row:
        targets = "; ".join(f"{target}: MISSED" for target in row["missed_targets"])
        return row["id"], row["title"], "FAILED", "-", targets, row["error"]
    verdict = "; ".join(row["verdicts"]) or "-"
    if row["kind"] == "footprint":
        value = row["value"]
        ours = f"{value['value']:.4g} {row['unit']}".rstrip()
        others = ", ".join(f"{name} {_figure(figure)}" for name, figure in row["peers"].items())
        return row["id"], row["title"], ours, "", verdict, others
    units = row["units"]
    spread = f"{units['value']:.2f} [{units['low']:.2f}, {units['high']:.2f}]"
    others = ", ".join(f"{name} {_peer(peer)}" for name, peer in row["peers"].items())
    return row["id"], row["title"], f"{row['ns']['median']:.1f} ns", spread, verdict, others


def _figure(figure: float | str) -> str:
    return figure if isinstance(figure, str) else f"{figure:.4g}"


def _peer(peer: dict) -> str:
    return (
        f"{REFUSED}{peer['refused']}"
        if "refused" in peer
        else f"{peer['ratio_to_ours']['value']:.2f}"
    )


def compare(first: Path, second: Path, limit: float = 1.15) -> tuple[str, bool]:
    """A14: the second record over the first, in U, row by row; A1 to A5 are held to `limit`.

    Meant for the stable-ABI and the full-ABI build of one commit, each recorded with --save.
    """
    records = [json.loads(path.read_text(encoding="utf-8")) for path in (first, second)]
    measured = [{row["id"]: row for row in record["rows"] if "units" in row} for record in records]
    lines = []
    for number, record in enumerate(records, 1):
        build = " ".join(f"{key}={value}" for key, value in record["build"].items())
        lines.append(f"{number}: {record['id']}, Python {record['machine']['python']}, {build}")
    ok = True
    for id_, row in measured[0].items():
        other = measured[1].get(id_)
        if other is None:
            lines.append(f"{id_:<15} only in the first record")
            continue
        factor = other["units"]["value"] / row["units"]["value"]
        held = id_.split()[0] in ("A1", "A2", "A3", "A4", "A5")
        verdict = "" if not held else "met" if factor <= limit else "MISSED"
        ok = ok and verdict != "MISSED"
        lines.append(
            f"{id_:<15} {row['units']['value']:7.2f} U {other['units']['value']:7.2f} U "
            f"{factor:6.3f} {f'<= {limit}: {verdict}' if held else ''}".rstrip()
        )
    lines += [f"{id_:<15} only in the second record" for id_ in measured[1].keys() - measured[0]]
    return "\n".join(lines), ok
