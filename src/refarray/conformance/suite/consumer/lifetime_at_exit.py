"""LIFE checks of a consumer whose deleters run when a thread ends or the interpreter exits."""

from __future__ import annotations

import contextlib
import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from refarray.conformance import _adversary
from refarray.conformance.cases import AtExit, CheckResult, NotApplicable, check
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.recorder import PLAIN
from refarray.conformance.suite.consumer.tensors_read import import_tensor
from refarray.conformance.suite.consumer_kinds import NEGATIVE, TENSORS


@check(
    "LIFE-03",
    "exit",
    "imports of every layout and dtype, dropped: no deleter is called again at a collection, at a "
    "thread's end or when the interpreter exits",
    exits=True,
)
def deleters_at_exit(consumer: Consumer) -> CheckResult:
    legacy = ("legacy",) if consumer.takes_legacy else ()
    first = _adversary.made()

    def work() -> None:
        for name, sent in TENSORS.items():
            if name in NEGATIVE:
                continue  # a crash would be a finding of TENS-12
            for way in ("versioned", *legacy):
                with contextlib.suppress(NotApplicable):
                    import_tensor(consumer, way, name, sent).found.array = None

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    work()
    gc.collect()
    rows = _adversary.ledger(first)
    count, calls = sum(row[1] for row in rows), sum(row[2] for row in rows)
    result = consumer.make_result(
        calls == count, f"{calls} deleter calls of {count} tensors", PLAIN
    )
    return replace(result, at_exit=AtExit(first, count, late=False))
