"""Group B of the page: strided copies in units of memcpy, and how a transpose's cost grows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .plots import COLOURS, Plot
from .records import Record, Row, Section, newest, origin, rows, table

IMAGE = "bench-copy.svg"
NAMES = ("refarray", "numpy", "torch", "hptt")
KINDS = {"f32": "float32", "u8": "uint8"}
TEXT = """## Strided copies

One thread, kernels for {isa}. Each figure is the time of the copy relative to a memcpy of the
same number of bytes in the same run, minima of interleaved rounds on the same memory. B14 is the
geometric mean over the 57 permutations of HPTT's benchmark, B15 a copy into a new array relative
to one into an existing array, B16 the penalty of a power of two. "-": the library has no such
copy. [How a copy works](copy.md) explains the figures.

{origin}

![Ratio to memcpy against the size of a square transpose](images/{image})

{table}"""


def section(records: list[Record]) -> Section:
    record = newest(records, lambda one: bool(rows(one, "B")) and bool(rows(one, "S")))
    if record is None:
        raise LookupError("no record holds group B and the transposes of growing size")
    markdown = TEXT.format(
        isa=record["build"]["isa"],
        origin=origin(record),
        image=IMAGE,
        table=table(("id", "case", *NAMES, "target"), map(cells, rows(record, "B"))),
    )
    return Section(markdown, {IMAGE: Plot(points(rows(record, "S")), draw, (9.0, 4.2))})


def cells(row: Row) -> tuple[str, ...]:
    figures = [f"{row['ratios'][name]:.2f}" if name in row["ratios"] else "-" for name in NAMES]
    if row["target"] is None:
        return row["id"], row["title"], *figures, "-"
    met = "met" if row["ratios"]["refarray"] <= row["target"] else "**missed**"
    return row["id"], row["title"], *figures, f"≤ {row['target']:g}: {met}"


def points(found: Iterable[Row]) -> dict[str, dict[str, list[list[float]]]]:
    """Kind of element -> library -> [bytes, ratio] in the order of their size."""
    series: dict[str, dict[str, list[list[float]]]] = {kind: {} for kind in KINDS}
    for row in sorted(found, key=lambda row: row["nbytes"]):
        for name, ratio in row["ratios"].items():
            of_kind = series[row["id"].split()[1]]
            of_kind.setdefault(name, []).append([row["nbytes"], ratio])
    return series


def draw(axes: Any, series: dict[str, dict[str, list[list[float]]]]) -> None:
    styles = {"f32": "-", "u8": "--"}
    for kind, libraries in series.items():
        for name, found in libraries.items():
            axes.plot(
                [size for size, _ in found],
                [ratio for _, ratio in found],
                styles[kind],
                marker=".",
                color=COLOURS[name],
                label=f"{name}, {KINDS[kind]}",
            )
    axes.axhline(1.0, color=COLOURS["target"], linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes of a square transpose")
    axes.set_ylabel("time / memcpy's")
    axes.legend(ncols=2, fontsize=8)
