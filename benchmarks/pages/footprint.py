"""Group E of the page: import, memory, allocations and the wheel."""

from __future__ import annotations

from .records import Record, Row, Section, code, newest, origin, rows, table, verdicts

TEXT = """## Footprint

Fresh processes, the minimum of several. E3 counts the bytes of one array object with everything it
owns, E4 the memory blocks that one call allocates.

{origin}

{table}"""


def section(records: list[Record]) -> Section:
    record = newest(records, lambda one: bool(rows(one, "E")) and not one["absent"])
    if record is None:
        raise LookupError("no record holds group E with every partner")
    header = ("id", "case", "refarray", "target", "others")
    return Section(
        TEXT.format(origin=origin(record), table=table(header, map(cells, rows(record, "E"))))
    )


def cells(row: Row) -> tuple[str, ...]:
    if "value" not in row:
        return (
            row["id"],
            code(row["title"]),
            "-",
            verdicts(row),
            row.get("reason", row.get("error", "")),
        )
    others = ", ".join(
        f"{name} {figure if isinstance(figure, str) else f'{figure:.4g}'}"
        for name, figure in row["peers"].items()
    )
    ours = f"{row['value']['value']:.4g} {row['unit']}".rstrip()
    return row["id"], code(row["title"]), ours, verdicts(row), others or "-"
