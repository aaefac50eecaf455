"""Groups A to C by processor: the newest record of each, side by side."""

from __future__ import annotations

from .exchange import times_of_imports
from .records import Record, Row, Section, code, rows, table

GROUPS = {
    "A": ("Exchange", "In U; in parentheses, relative to the fastest import of another library."),
    "B": ("Copies", "Relative to memcpy; in parentheses, to the faster of NumPy and PyTorch."),
    "C": ("Computations", "In the unit of the row, as above."),
}
TEXT = """## By processor

The newest record of each processor. Ratios to a call that does nothing, or to memcpy, change with
the processor: a target that one machine meets another can miss.

{tables}"""


def section(records: list[Record]) -> Section:
    found = {group: by_processor(records, group) for group in GROUPS}
    tables = [compared(group, by) for group, by in found.items() if len(by) > 1]
    return Section(TEXT.format(tables="\n".join(tables)) if tables else "")


def by_processor(records: list[Record], group: str) -> dict[str, Record]:
    """The newest record with rows of the group for each processor, the newest last."""
    by: dict[str, Record] = {}
    for record in records:
        processor = record["machine"]["cpu"]
        if rows(record, group):
            by.pop(processor, None)
            by[processor] = record
    return by


def compared(group: str, by: dict[str, Record]) -> str:
    title, unit = GROUPS[group]
    cells = [{row["id"]: cell(row) for row in rows(record, group)} for record in by.values()]
    newest = rows(list(by.values())[-1], group)
    lines = [
        (row["id"], code(row["title"]), *(one.get(row["id"], "-") for one in cells))
        for row in newest
        if cell(row) != "-"
    ]
    header = [f"{name}, {record['date']}" for name, record in by.items()]
    return f"### {title} by processor\n\n{unit}\n\n{table(('id', 'case', *header), lines)}"


def cell(row: Row) -> str:
    """Ours, and relative to the fastest other library where the row has one."""
    if "units" in row:
        others = times_of_imports(row)
        ours = row["units"]["value"]
        return f"{ours:.2f} ({1 / min(others):.2f})" if others else f"{ours:.2f}"
    ratios = row.get("ratios", {})
    ours = ratios.get("refarray")
    if ours is None:
        return "-"
    others = [ratio for name, ratio in ratios.items() if name in ("numpy", "torch") and ratio]
    if "unit" in row or not others:
        return f"{ours:.2f}"
    return f"{ours:.2f} ({ours / min(others):.2f})"
