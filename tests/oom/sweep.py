"""Lets allocation k of a call fail, for k = 0, 1, ... until none is left to fail."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import mmap
import os
import pickle
import signal
import struct
import sys
import tempfile
import traceback
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, BinaryIO

from hostile.runner import Balance, unbalanced

import adversary
import refarray

from .recipes import Recipe

RANKS = 5
DEPTH = 40  # more than refarray keeps of anything
MOST = 20_000  # allocations that no call makes
NOISE = 4  # blocks that measuring itself may hold

#: kind: (C heap?, how many fail); -1 is all from there on
KINDS = {"python": (0, 1), "heap": (1, 1), "python, all": (0, -1), "heap, all": (1, -1)}

#: What the allocator's hook writes where it fails something; shared with children.
MARK = mmap.mmap(-1, mmap.PAGESIZE)
BELOW = 1
adversary.mark_failures(ctypes.addressof(ctypes.c_char.from_buffer(MARK)))

PROGRESS: BinaryIO | None = None  # in a child: where the numbers go
END = -1
LOST = 70  # exit status of a child whose interpreter raises where nothing can
PATIENCE = 300  # seconds for a child, which needs less than one
Finding = tuple[str, str]


@dataclass
class Result:
    """What became of one recipe: allocations failed, calls that did without one, crashes of the
    interpreter itself, and what was off."""

    name: str
    family: str
    failed: int = 0
    absorbed: int = 0
    interpreter: int = 0
    findings: list[Finding] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def drained() -> list[Any]:
    """Takes all that refarray keeps for later, and the interpreter's free lists: what is made next
    has to be allocated."""
    held = [refarray.empty((1,) * rank) for rank in range(RANKS) for _ in range(DEPTH)]
    gc.collect()
    return held


def attempt(
    recipe: Recipe, heap: int, first: int, count: int
) -> tuple[BaseException | None, int, int]:
    """(exception, allocations that failed, those below refarray) of one call."""
    state = recipe.make()
    held = drained()
    call, arm, stop = recipe.call, adversary.fail_allocations, adversary.stop_failing
    error = None
    try:
        arm(heap, first, count)
        call(state)
    except BaseException as caught:
        error = caught
    _, failed, below = stop()
    del held
    return error, failed, below


@cache
def is_forgetful() -> bool:
    """CPython loses an exception where it has no memory for a frame that the traceback needs: the
    function's own in 3.11, its caller's from 3.12 on. Asked of this one, with no code of ours."""
    control = Recipe("control", "", lambda _: {}[0], lambda: None, (KeyError,), False, ())
    for number in range(MOST):
        error, failed, _ = attempt(control, 0, number, 1)
        if isinstance(error, SystemError) or not failed:
            break
    return isinstance(error, SystemError)


def interpreter_forgot(error: BaseException, failed: int, below: int) -> bool:
    """Only where a failure was not below our own code, or where it says itself that the function
    was one written in Python."""
    if not isinstance(error, SystemError) or not is_forgetful():
        return False
    return failed > below or str(error).startswith("<function ")


def judge(recipe: Recipe, error: BaseException | None, failed: int, below: int) -> str | None:
    """What is wrong with how a call ended, or None."""
    if error is None:
        return "nothing was raised" if recipe.raises and not failed else None
    if isinstance(error, recipe.raises):
        return None
    if failed and isinstance(error, (MemoryError, *recipe.instead)):
        return None
    if interpreter_forgot(error, failed, below):
        return None
    return described(error)


def described(error: BaseException) -> str:
    """With its traceback, where that can be formatted: one that memory ran out for may not be."""
    try:
        return "".join(traceback.format_exception(error))[-1500:]
    except Exception as another:
        return f"{error!r} (its traceback: {another!r})"


def try_one(recipe: Recipe, kind: str, first: int) -> tuple[int, int, bool, list[Finding]]:
    """(failed, failed below refarray, did without, what was off), allocation `first` failing."""
    heap, count = KINDS[kind]
    made = adversary.made()
    MARK[0] = 0  # an interpreter may crash before the next allocation fails
    error, failed, below = attempt(recipe, heap, first, count)
    wrong = judge(recipe, error, failed, below)
    absorbed = bool(failed) and error is None
    error = None
    findings = [("other", f"{kind}, allocation {first}: {wrong}")] if wrong else []
    if recipe.python and failed and not below:
        return failed, below, absorbed, findings  # CPython 3.11 drops the arguments of such calls
    if unbalanced(adversary, made):
        gc.collect()  # a traceback may hold the frame that holds the tensor
    for which, text in unbalanced(adversary, made):
        findings.append((which, f"{kind}, allocation {first}: {text}"))
    return failed, below, absorbed, findings


def sweep(recipe: Recipe, kind: str, result: Result, first: int = 0) -> list[int]:
    """From allocation `first` on, until the call needs no more; which failed below our own code."""
    mine = []
    for number in range(first, MOST):
        failed, below, absorbed, findings = try_one(recipe, kind, number)
        result.findings += findings
        if below:
            mine.append(number)
        if findings or not failed:
            return mine
        result.failed += 1
        result.absorbed += absorbed
        if PROGRESS:
            PROGRESS.write(struct.pack("q", number))
    result.findings.append(("other", f"{kind}: more than {MOST} allocations"))
    return mine


def sweep_in_children(recipe: Recipe, kind: str, result: Result) -> list[int]:
    """As sweep(), for recipes that run Python code of ours: CPython itself may crash when it has no
    memory there (3.11 does for `for item in dict.items()`), or later: 3.12 and 3.13 at the
    generator expression after one that had none, now and then with a fatal error's text, and 3.13
    goes on with broken inline caches, so that calls return nonsense or raise where nothing can.
    What ends a child or is off after something has failed in it is asked again in a new one, and
    counted. A crash below our native code is a finding, and so is a call that does not end."""
    mine: list[int] = []
    first = 0
    while first < MOST:
        status, answer, said = in_child(recipe, kind, first)
        numbers = [number for (number,) in struct.iter_unpack("q", answer[: len(answer) // 8 * 8])]
        is_dead = END not in numbers
        survived = numbers if is_dead else numbers[: numbers.index(END)]
        last = max([first - 1, *survived]) + 1  # crashed, or was off, or needed no more
        is_alone = last == first  # nothing has failed before in this child
        if is_dead:
            result.failed += last - first + is_alone
            by = signal.Signals(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
            if by and (MARK[0] == BELOW or (by == signal.SIGALRM and is_alone)):
                result.findings.append(("crash", f"{kind}, allocation {last}: {by.name} {said}"))
                return mine
        else:
            part, below = pickle.loads(answer[len(survived) * 8 + 8 :])
            is_suspect = bool(part.findings) and last not in below and not is_alone
            if is_suspect:
                part.findings.clear()
            merge(result, part)
            mine += below
            if not is_suspect:
                sys.stderr.write(said)
                return mine
        result.interpreter += 1
        first = last + 1 if is_dead and is_alone else last
    result.findings.append(("other", f"{kind}: every child of {MOST} was lost"))
    return mine


def in_child(recipe: Recipe, kind: str, first: int) -> tuple[int, bytes, str]:
    """(status, all that it answered, what went to its stderr) of a child that sweeps from `first`
    on."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as words:
        child = os.fork()
        if child == 0:
            os.dup2(words.fileno(), 2)  # the last words of an interpreter are none of ours
            work_in_child(recipe, kind, first, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            answer = stream.read()
        status = os.waitpid(child, 0)[1]
        words.seek(0)
        return status, answer, words.read().decode(errors="replace")


def work_in_child(recipe: Recipe, kind: str, first: int, writer: int) -> None:
    """Tells the number of each allocation that was survived, then what was found."""
    global PROGRESS
    faulthandler.disable()
    signal.alarm(PATIENCE)
    part = Result("", "")
    PROGRESS = os.fdopen(writer, "wb", buffering=0)
    try:
        mine = sweep(recipe, kind, part, first)
        PROGRESS.write(struct.pack("q", END) + pickle.dumps((part, mine)))
    except BaseException:  # try_one() lets none through: the interpreter itself has lost its way
        os._exit(LOST)
    os._exit(0)


def merge(into: Result, part: Result) -> None:
    into.failed += part.failed
    into.absorbed += part.absorbed
    into.findings += part.findings


def sweep_all(recipe: Recipe, heap: bool) -> Result:
    """All kinds of failure; then those below our own code again, to find what is left behind."""
    result = Result(str(recipe), recipe.family)
    kinds = [kind for kind in KINDS if (heap or not kind.startswith("heap"))]
    if recipe.python:
        kinds = [kind for kind in kinds if "all" not in kind]
    attempt(recipe, 0, MOST, 0)  # caches fill
    again: list[tuple[str, int]] = []
    for kind in kinds:
        run = sweep_in_children if recipe.python and kind == "python" else sweep
        again += [(kind, number) for number in run(recipe, kind, result)]
        if result.findings:
            return result
    balance = Balance(adversary, heap)
    left: tuple[int, int] = (0, 0)
    for _ in range(3):
        before = balance.now()
        for kind, number in again:
            try_one(recipe, kind, number)
        after = balance.now()
        left = (after[0] - before[0], after[1] - before[1])
        if left[0] < NOISE and left[1] <= 0:
            return result
    result.findings.append(("leak", f"{len(again)} failures leave (Python, C) blocks {left}"))
    return result
