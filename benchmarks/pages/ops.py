"""Group C of the page: computations, small ones in U, large ones relative to the better peer."""

from __future__ import annotations

from typing import Any

from .plots import COLOURS, Plot
from .records import Record, Row, Section, newest, origin, rows, table

IMAGE = "bench-ops.svg"
PEERS = ("numpy", "torch")
NAMES = ("refarray", "numpy", "torch", "array_api_strict")
TEXT = """## Computations

One thread, kernels for {isa}. Arrays of 16 elements are in U, the time of a call that does
nothing; larger ones (P) are relative to the better of NumPy and PyTorch in the same run, and rows
in S to array-api-strict. C15 is refarray's strict namespace: above the open one, and relative to
array-api-strict. Products of matrices (C11, C12), Fourier transforms (C13) and
decompositions of matrices (C14) are relative to NumPy. Minima of interleaved rounds on the same
values. Rows that are lost stay here.

{origin}

![Times of large computations relative to the better peer, with the targets](images/bench-ops.svg)

{table}"""


def section(records: list[Record]) -> Section:
    record = newest(records, lambda one: any(row.get("kind") == "ops" for row in one["rows"]))
    if record is None:
        return Section("")
    markdown = TEXT.format(
        isa=record["build"]["isa"],
        origin=origin(record),
        table=table(("id", "case", *NAMES, "unit", "target"), map(cells, rows(record, "C"))),
    )
    shown = [points(row) for row in rows(record, "C") if row["unit"] == "P"]
    return Section(markdown, {IMAGE: Plot(shown, draw, (9.0, 0.17 * len(shown) + 1.2))})


def points(row: Row) -> dict[str, Any]:
    """What is drawn of a row: the name, each library's time, and the target."""
    known = {name: row["ratios"][name] for name in ("refarray", *PEERS) if name in row["ratios"]}
    return {"name": row["id"], "times": known, "target": row["target"]}


def draw(axes: Any, data: Any) -> None:
    places = range(len(data), 0, -1)
    for name in (*PEERS, "refarray"):  # ours on top
        drawn = [
            (row["times"][name], y)
            for row, y in zip(data, places, strict=True)
            if row["times"].get(name) is not None
        ]
        axes.scatter(*zip(*drawn, strict=True), s=14, color=COLOURS[name], label=name, zorder=3)
    for row, y in zip(data, places, strict=True):
        if row["target"] is not None:
            axes.plot([row["target"]] * 2, [y - 0.4, y + 0.4], color=COLOURS["target"], lw=1)
    axes.plot([], [], color=COLOURS["target"], lw=1, label="target")
    axes.axvline(1, color=COLOURS["other"], lw=0.6)
    axes.set_xscale("log")
    axes.set_yticks(list(places), [row["name"] for row in data], fontsize=6.5)
    axes.set_ylim(0.2, len(data) + 0.8)
    axes.set_xlabel("time relative to the better of NumPy and PyTorch (less is faster)")
    axes.legend(loc="upper right", fontsize=8)
    axes.grid(axis="x", which="both", lw=0.3)


def cells(row: Row) -> tuple[str, ...]:
    digits = 4 if row["unit"] == "S" else 2
    ratios = [row["ratios"].get(name) for name in NAMES]
    figures = ["-" if ratio is None else f"{ratio:.{digits}f}" for ratio in ratios]
    title = f"`{row['title']}`"
    if row["target"] is None:
        return row["id"], title, *figures, row["unit"], "-"
    met = "met" if row["ratios"]["refarray"] <= row["target"] else "**missed**"
    return row["id"], title, *figures, row["unit"], f"≤ {row['target']:g}: {met}"
