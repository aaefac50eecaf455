"""Runs hostile cases in a forked child and in this process; reports violations and leaks."""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import select
import signal
import statistics
import sys
import traceback
import warnings
from functools import cache
from typing import Any

from native import producers

import refarray
from refarray import _native

from .case import Case, Violation

Finding = tuple[str, str]  # (one of KINDS, text)
TIMEOUT = 60.0  # seconds before a child counts as hung
CACHED_RANKS = 5  # refarray caches the memory of arrays of ndim 0 to 4
CACHE_DEPTH = 40  # more objects than any of refarray's caches holds
NOISE = 4  # blocks the measurement itself may hold; repeated attempts leak more


def fill_pools() -> None:
    """Fill refarray's caches, so that block counts before and after a case are comparable."""
    for rank in range(CACHED_RANKS):
        held = [refarray.empty((1,) * rank) for _ in range(CACHE_DEPTH)]
        exported = [x.__dlpack__(max_version=version) for x in held for version in (None, (1, 3))]
        del held, exported


def warm_up(adv: Any) -> None:
    """Import once by each route before blocks are counted."""
    _native._from_exchange_api(producers.foreign(adv, adv.make()))
    refarray.inspect(refarray.empty(1))
    interpreter_leaks_classes()  # measured once, before any case runs


@cache
def interpreter_leaks_classes() -> bool:
    """Whether a collected class leaves a block behind, as on free-threaded CPython 3.13. The
    interpreter's block count is useless there."""
    left = []
    for _ in range(5):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(CACHE_DEPTH):
            type("Class", (), {})
        gc.collect()
        left.append(sys.getallocatedblocks() - before)
    return statistics.median(left) >= CACHE_DEPTH


#: The interpreter's caches keep attribute names alive.
CLEAR_CACHES = getattr(sys, "_clear_internal_caches", sys._clear_type_cache)


class LiveBlocks:
    """Counts live memory blocks: the interpreter's, unless it leaks blocks itself, and refarray's
    on the C heap where that is instrumented."""

    def __init__(self, adv: Any, heap: bool) -> None:
        self.adv = adv
        self.heap = heap
        self.counted = not interpreter_leaks_classes()

    def now(self) -> tuple[int, int]:
        fill_pools()
        gc.collect()
        CLEAR_CACHES()
        gc.collect()  # namespaces, which are cycles that the caches may have kept
        blocks = sys.getallocatedblocks() if self.counted else 0
        return blocks, self.adv.live_heap_blocks() if self.heap else 0


def wrong_deleter_counts(adv: Any, first: int) -> list[Finding]:
    """Tensors made since `first` whose deleter ran too often or not often enough."""
    wrong = [row for row in adv.ledger(first) if row[1] != row[2]]
    return [
        (
            "double deleter" if calls > expected else "leak",
            f"deleter ran {calls} times instead of {expected}",
        )
        for _, expected, calls in wrong
    ]


def run_once(adv: Any, case: Case) -> tuple[int, list[Finding]]:
    first = adv.made()
    attempts = 1
    findings: list[Finding] = []
    try:
        attempts = case.body(adv) or 1
    except Violation as violation:
        findings.append((violation.kind, traceback.format_exc()))
    except BaseException:
        findings.append(("other", traceback.format_exc()))
    if not findings and any(row[1] != row[2] for row in adv.ledger(first)):
        gc.collect()
    return attempts, findings or wrong_deleter_counts(adv, first)


def run_and_find_leaks(adv: Any, case: Case, heap: bool) -> tuple[int, list[Finding]]:
    """Run the case once, then `case.repeats` more times while counting blocks."""
    attempts, findings = run_once(adv, case)
    if findings or case.repeats == 0:
        return attempts, findings
    live = LiveBlocks(adv, heap)
    left: tuple[int, int] = (0, 0)
    for _ in range(4):  # the interpreter fills caches at unpredictable times
        before = live.now()
        for _ in range(case.repeats):
            findings = run_once(adv, case)[1]
            if findings:
                return attempts, findings
        after = live.now()
        left = (after[0] - before[0], after[1] - before[1])
        if left[0] < NOISE and left[1] <= 0:
            return attempts, []
    return attempts, [("leak", f"{case.repeats} repetitions leave (Python, C) blocks {left}")]


def read_child(reader: int, child: int) -> tuple[bytes, str | None]:
    """Return the bytes the child wrote, and the signal or timeout that ended it, if any."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], TIMEOUT)
        if not ready:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return b"", f"timed out after {TIMEOUT:.0f} s"
        part = os.read(reader, 1 << 16)
        if not part:
            break
        parts.append(part)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return b"", signal.Signals(os.WTERMSIG(status)).name
    return b"".join(parts), None


def run_forked(adv: Any, case: Case, heap: bool = False) -> tuple[int, list[Finding]]:
    """Run the case in a child process, so that a crash is a finding."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other libraries' threads do not survive the fork
        child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            os.close(reader)
            gc.freeze()
            answer = pickle.dumps(run_and_find_leaks(adv, case, heap))
            with os.fdopen(writer, "wb") as stream:
                stream.write(answer)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        answer, death = read_child(reader, child)
    finally:
        os.close(reader)
    if death is not None:
        return 1, [("crash", death)]
    if not answer:
        return 1, [("other", "the child reported nothing")]
    result: tuple[int, list[Finding]] = pickle.loads(answer)
    return result


def run(adv: Any, case: Case, heap: bool = False) -> tuple[int, list[Finding]]:
    """Run the case in a child; if it passed there, run it in this process as well."""
    attempts, findings = run_forked(adv, case, heap)
    if findings:
        return attempts, [(kind, f"in a child: {text}") for kind, text in findings]
    # No repetitions here: the adversary's guard pages are never unmapped.
    more, findings = run_once(adv, case)
    return attempts + more, findings
