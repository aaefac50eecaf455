"""Group C of the page: computations, small ones in U, large ones relative to the better peer."""

from __future__ import annotations

from .records import Record, Row, Section, newest, origin, rows, table

NAMES = ("refarray", "numpy", "torch", "array_api_strict")
TEXT = """## Computations

One thread, kernels for {isa}. Arrays of 16 elements are in U, the time of a call that does
nothing; larger ones (P) are relative to the better of NumPy and PyTorch in the same run, and rows
in S to array-api-strict. Products of matrices (C11, C12), Fourier transforms (C13) and
decompositions of matrices (C14) are relative to NumPy. Minima of interleaved rounds on the same
values. Rows that are lost stay here.

{origin}

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
    return Section(markdown)


def cells(row: Row) -> tuple[str, ...]:
    digits = 4 if row["unit"] == "S" else 2
    ratios = [row["ratios"].get(name) for name in NAMES]
    figures = ["-" if ratio is None else f"{ratio:.{digits}f}" for ratio in ratios]
    title = f"`{row['title']}`"
    if row["target"] is None:
        return row["id"], title, *figures, row["unit"], "-"
    met = "met" if row["ratios"]["refarray"] <= row["target"] else "**missed**"
    return row["id"], title, *figures, row["unit"], f"≤ {row['target']:g}: {met}"
