"""Group D on the page: measurements on a device, if a record has any."""

from __future__ import annotations

from benchmarks.gpu import report

from .records import Record, Section, newest, origin

TEXT = """## Devices

Exchanges and copies on {device} ({memory} GiB), driver {driver}, by `make gpu-hardware`. Copies
are relative to the driver's own copy of the same number of bytes in the same run: 1 is equally
fast, more is faster.

{origin}

{table}

The greatest risks of the GPU layer, with what was expected and what was seen in the same run:

{risks}
"""


def section(records: list[Record]) -> Section:
    """Returns no section if nothing was measured."""
    record = newest(records, lambda one: "gpu" in one and bool(one["rows"]))
    if record is None:
        return Section("")
    gpu = record["gpu"]
    return Section(
        TEXT.format(
            device=gpu["device"],
            memory=f"{gpu['memory_bytes'] / 2**30:.0f}",
            driver=gpu["driver"],
            origin=origin(record),
            table=report.table(record["rows"]),
            risks=report.risk_table(record),
        )
    )
