"""A14 on the page: the cost of the stable ABI against the full API of the same interpreter."""

from __future__ import annotations

from .records import Record, Section, newest, origin, table

TEXT = """## Stable ABI

The cost of an exchange with the abi3 wheel for every CPython from 3.12 on, relative to a build
for one version (`make bench-abi`; limit {limit}). Time is the median of {pairs} alternating pairs
of processes, minimum and maximum in brackets.

{origin}

{table}"""


def section(records: list[Record]) -> Section:
    record = newest(records, lambda one: "comparison" in one)
    if record is None:
        raise LookupError("no record compares the stable ABI with the full one")
    lines = [
        (
            row["id"],
            f"{row['time']:.2f} [{row['low']:.2f}, {row['high']:.2f}]",
            f"{row['instructions']:.2f}",
            "met" if max(row["time"], row["instructions"]) <= record["limit"] else "**missed**",
        )
        for row in record["comparison"]
    ]
    header = ("case", "time", "instructions", f"≤ {record['limit']}")
    return Section(
        TEXT.format(
            limit=record["limit"],
            pairs=record["pairs"],
            origin=origin(record),
            table=table(header, lines),
        )
    )
