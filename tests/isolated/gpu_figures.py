"""The GPU benchmarks run on the simulated driver; their timings are meaningless and discarded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.gpu import copies, exchanges, report
from benchmarks.gpu.session import OURS, Session

session = Session(0.01, simulated=True)
rows = []
for wanted in ("D5", "D6 32 65", "D7 0231", "D7 ::-1", "D8 cuda_host cuda:0", "D8 cuda:0 cpu"):
    (case,) = [case for case in copies.cases(simulated=True) if case.id == wanted]
    session.simulated = True
    ran = copies.row(session, case)
    assert "ours" not in ran and "ns" not in ran
    session.simulated = False
    copies.TURN_BYTES = 1 << 16
    row = copies.row(session, case)
    assert row["ours"] > 0 and row["ns"]["driver"] > 0, row
    assert row["met"] in ((None,) if case.target is None else (True, False))
    assert row["ns"][OURS] > 0
    rows.append(row)
exchanges.ROUNDS, exchanges.WARM, exchanges.PENDING = 4, 1, 8
exchanges.POOL_ROUNDS, exchanges.POOL_COUNT = 2, 8
loops = exchanges.compiled_loops()
rows += [exchanges.other_stream(session, loops), exchanges.allocation(session, loops)]
rows += exchanges.same_stream(session)
for row in rows[-4:]:
    assert row["ours"] is not None and row["met"] in (True, False), row
printed = report.table(rows)
assert len(printed.splitlines()) == 2 + len(rows), printed
assert all(row["id"] in printed for row in rows)

# A wrong copy is not timed: the view that is copied differs from the one that is checked.
case = next(copies.cases(simulated=True))
views = [lambda array: array, lambda array: array, lambda array: array[::-1]]
copies.VIEWS["whole"] = lambda array: views.pop(0)(array)
with pytest.raises(AssertionError, match="the copy is wrong"):
    copies.verify(session, case, copies.Buffers(session, case))
session.ra.synchronize("cuda:0")
print("alive")
