"""Instructions per call on the page: the budget of `make bench-check`."""

from __future__ import annotations

import json

from ..budget import BUDGET, TOLERANCE, order
from ..targets import UNIT
from .records import Record, Section, table

TEXT = """## Instructions per call

`make bench-check` counts them with valgrind and fails if a case exceeds these by {tolerance:.0%}.
The counts are of refarray's extension and of the interpreter, the loop included: what NumPy,
PyTorch and the C library execute depends on the processor and is left out. They are valid for the
versions named; in brackets as multiples of the no-op.
{versions}

{table}"""


def section(_records: list[Record]) -> Section:
    budget = json.loads(BUDGET.read_text(encoding="utf-8"))
    versions = ""
    for abi, build in budget.items():
        facts = ", ".join(f"{name} {value}" for name, value in build["versions"].items())
        versions += f"\n- {abi}: {facts}"
    ids = sorted({id_ for build in budget.values() for id_ in build["instructions"]}, key=order)
    lines = [(id_, *(cell(build["instructions"], id_) for build in budget.values())) for id_ in ids]
    text = TEXT.format(
        tolerance=TOLERANCE, versions=versions, table=table(("case", *budget), lines)
    )
    return Section(text)


def cell(counts: dict[str, float], id_: str) -> str:
    if id_ not in counts:
        return "-"
    return f"{counts[id_]:.0f} ({counts[id_] / counts[UNIT]:.2f})"
