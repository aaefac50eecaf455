"""Runs hostile cases, forked and in this process, and says for each what was not as specified."""

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

from .case import Case, Off

Finding = tuple[str, str]  # (one of KINDS, text)
SECONDS = 60.0  # after which a child hangs
RANKS = 5  # of the arrays whose memory refarray keeps
DEPTH = 40  # more than it keeps of each kind
NOISE = 4  # blocks that measuring itself may hold; a case is repeated as often, or throws more


def fill_pools() -> None:
    """Puts what refarray keeps for later into one known state, so that blocks can be compared."""
    for rank in range(RANKS):
        held = [refarray.empty((1,) * rank) for _ in range(DEPTH)]
        exported = [x.__dlpack__(max_version=version) for x in held for version in (None, (1, 3))]
        del held, exported


def warm_up(adv: Any) -> None:
    """Lets refarray remember as many foreign types as it ever will: they stay, and are no leak."""
    for _ in range(DEPTH):
        _native._from_exchange_api(producers.foreign(adv, adv.make()))
    refarray.inspect(refarray.empty(1))
    interpreter_keeps_classes()  # now, and once


@cache
def interpreter_keeps_classes() -> bool:
    """Whether a class that was collected leaves a block behind, as on CPython 3.13 without a GIL:
    the interpreter's blocks say nothing there."""
    left = []
    for _ in range(5):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(DEPTH):
            type("Class", (), {})
        gc.collect()
        left.append(sys.getallocatedblocks() - before)
    return statistics.median(left) >= DEPTH


class Balance:
    """Counts what a piece of work leaves behind: the interpreter's blocks, where it leaves none
    itself, and refarray's on the C heap where that is watched."""

    def __init__(self, adv: Any, heap: bool) -> None:
        self.adv = adv
        self.heap = heap
        self.counted = not interpreter_keeps_classes()

    def now(self) -> tuple[int, int]:
        fill_pools()
        gc.collect()
        sys._clear_type_cache()  # it keeps names that were looked up once, by their address
        blocks = sys.getallocatedblocks() if self.counted else 0
        return blocks, self.adv.live_heap_blocks() if self.heap else 0


def unbalanced(adv: Any, first: int) -> list[Finding]:
    """Deleters that ran more or less often than they should have."""
    wrong = [row for row in adv.ledger(first) if row[1] != row[2]]
    return [
        (
            "double deleter" if calls > owed else "leak",
            f"deleter ran {calls} times instead of {owed}",
        )
        for _, owed, calls in wrong
    ]


def once(adv: Any, case: Case) -> tuple[int, list[Finding]]:
    first = adv.made()
    throws = 1
    findings: list[Finding] = []
    try:
        throws = case.body(adv) or 1
    except Off as off:
        findings.append((off.kind, traceback.format_exc()))
    except BaseException:
        findings.append(("other", traceback.format_exc()))
    if not findings and any(row[1] != row[2] for row in adv.ledger(first)):
        gc.collect()
    return throws, findings or unbalanced(adv, first)


def observe(adv: Any, case: Case, heap: bool) -> tuple[int, list[Finding]]:
    """How often the case threw, and what was off; the case is repeated to find what it leaves."""
    throws, findings = once(adv, case)
    if findings or case.repeats == 0:
        return throws, findings
    balance = Balance(adv, heap)
    left: tuple[int, int] = (0, 0)
    for _ in range(4):  # caches of the interpreter fill at times of their own
        before = balance.now()
        for _ in range(case.repeats):
            findings = once(adv, case)[1]
            if findings:
                return throws, findings
        after = balance.now()
        left = (after[0] - before[0], after[1] - before[1])
        if left[0] < NOISE and left[1] <= 0:
            return throws, []
    return throws, [("leak", f"{case.repeats} repetitions leave (Python, C) blocks {left}")]


def receive(reader: int, child: int) -> tuple[bytes, str | None]:
    """What the child wrote, and how it died, if it did."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], SECONDS)
        if not ready:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return b"", f"no end within {SECONDS:.0f} s"
        part = os.read(reader, 1 << 16)
        if not part:
            break
        parts.append(part)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return b"", signal.Signals(os.WTERMSIG(status)).name
    return b"".join(parts), None


def forked(adv: Any, case: Case, heap: bool = False) -> tuple[int, list[Finding]]:
    """In a child, where a crash ends nothing but the child."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of others, should there be any, stay behind
        child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            os.close(reader)
            gc.freeze()
            answer = pickle.dumps(observe(adv, case, heap))
            with os.fdopen(writer, "wb") as stream:
                stream.write(answer)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        answer, death = receive(reader, child)
    finally:
        os.close(reader)
    if death is not None:
        return 1, [("crash", death)]
    if not answer:
        return 1, [("other", "the child said nothing")]
    result: tuple[int, list[Finding]] = pickle.loads(answer)
    return result


def run(adv: Any, case: Case, heap: bool = False) -> tuple[int, list[Finding]]:
    """Forked first; in this process only what survived there."""
    throws, findings = forked(adv, case, heap)
    if findings:
        return throws, [(kind, f"in a child: {text}") for kind, text in findings]
    more, findings = once(adv, case)  # no repetitions: the adversary's pages stay mapped for ever
    return throws + more, findings
