"""Measures group D on the device, with the peers: `python -m benchmarks.gpu.figures OUT`."""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from . import copies, exchanges
from .session import DEVICE, NotMeasured, Row, Session


class Notes:
    """The record, written after each row, so that a crash loses nothing measured before."""

    def __init__(self, out: Path, session: Session) -> None:
        self.out = out
        self.record: dict[str, Any] = {
            "facts": session.facts(),
            "absent": session.absent,
            "versions": {name: module.__version__ for name, module in session.peers.items()},
            "rows": [],
            "not_run": {},
        }

    def keep(self, row: Row) -> None:
        self.record["rows"].append({"kind": "gpu", **row})
        self.write()

    def lose(self, id_: str, why: object) -> None:
        self.record["not_run"][id_] = str(why)
        self.write()

    def write(self) -> None:
        self.out.write_text(json.dumps(self.record), encoding="utf-8")


def groups(session: Session, notes: Notes) -> Iterator[tuple[str, Callable[[], Iterable[Row]]]]:
    """Yields the rows that are measured together, with their id."""
    yield "D1", lambda: exchanges.same_stream(session)
    try:
        loops = exchanges.compiled_loops()
    except NotMeasured as why:
        notes.lose("D2", why)
        notes.lose("D10", why)
    else:
        yield "D2", lambda: [exchanges.other_stream(session, loops)]
        yield "D10", lambda: [exchanges.allocation(session, loops)]
    for case in copies.cases(session.simulated):
        yield case.id, lambda case=case: [copies.row(session, case)]


def measure(session: Session, notes: Notes, deadline: float) -> list[str]:
    """Measures all rows; returns the errors. A failing row does not stop the others."""
    failed = []
    for id_, rows in groups(session, notes):
        if time.monotonic() > deadline:
            notes.lose(id_, "the time was up")
            continue
        try:
            for row in rows():
                notes.keep(row)
        except Exception as error:
            failed.append(f"{id_}: {type(error).__name__}: {error}")
        gc.collect()
        session.ra.synchronize(DEVICE)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=1.5, help="time per copy")
    parser.add_argument(
        "--minutes", type=float, default=4.0, help="time limit; later rows are not run"
    )
    parser.add_argument("--simulated", action="store_true", help="run every row without measuring")
    options = parser.parse_args()
    session = Session(options.seconds, options.simulated)
    notes = Notes(options.out, session)
    notes.write()
    failed = measure(session, notes, time.monotonic() + 60 * options.minutes)
    if session.simulated:
        import fakegpu

        fakegpu.run()
        if found := fakegpu.violations():
            raise AssertionError(f"not ordered on the simulated driver: {found[:3]}")
    print("\n".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
