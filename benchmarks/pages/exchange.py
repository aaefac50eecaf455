"""Group A of the page: every exchange case in units of one no-op call, ours and others."""

from __future__ import annotations

from typing import Any

from .plots import COLOURS, Plot
from .records import Record, Row, Section, code, newest, origin, rows, table, verdicts

IMAGE = "bench-exchange.svg"
LEAD = {"A1": "refarray's own array", "A4": "a PyTorch tensor", "A5": "a NumPy array"}
"""The cases of the first sentence."""

TEXT = """## Exchange

{lead}

One call from Python, 16 float32 elements unless the case says otherwise, in U: the time of one
call of a C function that does nothing, loop included, in the same run ({unit:.1f} ns here). Every
contender runs interleaved with ours; the interval is the 95 % bootstrap interval of the median. A
ratio target limits ours to a fraction of the named partner's time, an excess target to the
partner's time plus a number of U.

{origin}

![Exchange latencies of refarray and its partners with the targets](images/{image})

{table}"""


def section(records: list[Record]) -> Section:
    record = newest(records, lambda one: bool(rows(one, "A")) and not one["absent"])
    if record is None:
        raise LookupError("no record holds group A with every partner")
    found = rows(record, "A")
    units = [row["unit_ns"]["median"] for row in found if "unit_ns" in row]
    markdown = TEXT.format(
        lead=lead(found),
        unit=sorted(units)[len(units) // 2],
        origin=origin(record),
        image=IMAGE,
        table=table(("id", "case", "refarray, U", "target", "others, U"), map(cells, found)),
    )
    shown = [points(row) for row in found if "units" in row and is_plotted(row["id"])]
    return Section(markdown, {IMAGE: Plot(shown, draw, (9.0, 0.36 * len(shown) + 1.2))})


def lead(found: list[Row]) -> str:
    """One sentence: the time of refarray's imports relative to the fastest other library's."""
    parts = []
    for row in found:
        others = times_of_imports(row)
        if row["id"] in LEAD and others:
            parts.append(f"{LEAD[row['id']]} {1 / min(others):.2f} (`{others[min(others)]}`)")
    return f"**Time of an import relative to the fastest other library: {', '.join(parts)}.**"


def times_of_imports(row: Row) -> dict[float, str]:
    """The times of other libraries' imports, relative to ours, and their names."""
    return {
        peer["ratio_to_ours"]["value"]: name.partition("(")[0]
        for name, peer in row.get("peers", {}).items()
        if "from_dlpack" in name and "refused" not in peer
    }


def cells(row: Row) -> tuple[str, ...]:
    title = code(row["title"])
    if "units" not in row:
        reason = row.get("reason", row.get("error", ""))
        return row["id"], title, "-", verdicts(row), reason
    units = row["units"]
    ours = f"{units['value']:.2f} [{units['low']:.2f}, {units['high']:.2f}]"
    others = ", ".join(
        f"{code(name)} refused: {peer['refused']}"
        if "refused" in peer
        else f"{code(name)} {figure(in_units(row, peer))}"
        for name, peer in row["peers"].items()
    )
    return row["id"], title, ours, verdicts(row), others or "-"


def in_units(row: Row, peer: dict) -> float:
    """A partner's figure: its ratio to ours is paired by round, like ours to the unit."""
    return round(peer["ratio_to_ours"]["value"] * row["units"]["value"], 3)


def figure(units: float) -> str:
    return f"{units:.2f}" if units < 10 else f"{units:.1f}" if units < 100 else f"{units:.0f}"


def is_plotted(id_: str) -> bool:
    """The shape variants of A1 to A5 are only in the table."""
    return id_.split()[0] not in ("A1", "A2", "A3", "A4", "A5") or " " not in id_


def points(row: Row) -> dict[str, Any]:
    """The plotted values of a row; relative targets are converted to U with the row's own
    figures."""
    others = {
        name: in_units(row, peer) for name, peer in row["peers"].items() if "refused" not in peer
    }
    limits = []
    for target in row["targets"]:
        words = target["target"].removeprefix("<= ")
        number = words.split()
        if words.endswith(" U") and "+" not in words:
            limits.append(float(number[0]))
        elif " x " in words:
            limits.append(float(number[0]) * others[words.split(" x ")[1]])
        else:
            reference, _, extra = words.partition(" + ")
            limits.append(others[reference] + float(extra.split()[0]))
    return {
        "label": f"{row['id']}  {row['title']}",
        "ours": row["units"]["value"],
        "others": others,
        "limit": round(min(limits), 3) if limits else None,
    }


def library(name: str) -> str:
    """The partner that a contender's name begins with."""
    found = name.split(".")[0].removesuffix("(own)")
    found = "numpy" if found == "np" else found
    return found if found in COLOURS else "other"


def draw(axes: Any, data: list[dict[str, Any]]) -> None:
    """One line per case on a logarithmic axis: ours, each partner, and a bar at the target."""
    named: dict[str, Any] = {}
    for place, case in enumerate(data):
        for name, value in case["others"].items():
            key = library(name)
            label = {"other": "the case it is held to"}.get(key, key)
            named[label] = axes.scatter(value, place, color=COLOURS[key], s=26, zorder=2)
        style = {"color": COLOURS["refarray"], "s": 40, "marker": "D", "zorder": 3}
        named["refarray"] = axes.scatter(case["ours"], place, **style)
        if case["limit"] is not None:
            style = {"color": COLOURS["target"], "s": 150, "marker": "|", "zorder": 4}
            named["target"] = axes.scatter(case["limit"], place, **style)
    axes.set_yticks(range(len(data)), [case["label"] for case in data])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000])
    axes.set_xticklabels(["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000", "2000"])
    axes.minorticks_off()
    axes.set_xlabel("U: one no-op call of a C function, loop included")
    axes.grid(axis="both", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    order = ["refarray", "target", *sorted(named.keys() - {"refarray", "target"})]
    axes.legend([named[name] for name in order], order, loc="lower right", framealpha=1.0)
