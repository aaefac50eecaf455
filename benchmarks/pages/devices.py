"""Group D on the page: what was measured on a device, once there is a record of one."""

from __future__ import annotations

from benchmarks.gpu import report

from .records import Record, Section, newest, origin

TEXT = """## Devices

Exchanges and copies on {device} ({memory} GiB), driver {driver}, by `make gpu-hardware`. Copies are
shares of the driver's own copy of as many bytes in the same run: 1 is as fast as it, and more is
faster.

{origin}

{table}
"""


def section(records: list[Record]) -> Section:
    """Nothing as long as nothing was measured."""
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
        )
    )
