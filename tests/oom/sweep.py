"""Out-of-memory sweep: fails allocation k of a call, for k = 0, 1, ..., until none fails."""

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
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from typing import Any, BinaryIO

from hostile.runner import LiveBlocks, wrong_deleter_counts

import adversary
import refarray

from .recipes import Recipe

#: More than refarray's caches hold: objects of each of some ranks, blocks.
CACHED_RANKS, CACHE_DEPTH, CACHED_BLOCKS = 5, 20, 40
MAX_ALLOCATIONS = 20_000  # no call makes as many
NOISE = 4  # blocks the measurement itself may hold

#: kind: (1 for the C heap or 0 for Python's allocator, number of failures; -1 means all later ones)
KINDS = {"python": (0, 1), "heap": (1, 1), "python, all": (0, -1), "heap, all": (1, -1)}

#: Shared with the children: the allocator hook writes BELOW here if a failure is inside refarray.
MARK = mmap.mmap(-1, mmap.PAGESIZE)
BELOW = 1
adversary.mark_failures(ctypes.addressof(ctypes.c_char.from_buffer(MARK)))

PROGRESS: BinaryIO | None = None  # in a child: pipe for the numbers of survived allocations
END = -1  # end of these numbers
INTERPRETER_BROKEN = 70  # exit status of a child whose interpreter raised at an impossible place
TIMEOUT = 60  # seconds for a child, which normally needs less than one
Finding = tuple[str, str]


@dataclass
class Result:
    """Result of one recipe: allocations failed, failures after which the call still succeeded,
    crashes of the interpreter itself, and violations."""

    name: str
    family: str
    failed: int = 0
    absorbed: int = 0
    interpreter: int = 0
    findings: list[Finding] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def empty_caches() -> list[Any]:
    """Take every cached object of refarray, and empty the interpreter's free lists, so that the
    next object has to be allocated."""
    held = [refarray.empty(()) for _ in range(CACHED_BLOCKS)]
    for rank in range(1, CACHED_RANKS):
        held += refarray.empty((CACHE_DEPTH, *(1,) * rank))  # iteration makes views
    gc.collect()
    return held


def attempt(
    recipe: Recipe, heap: int, first: int, count: int
) -> tuple[BaseException | None, int, int]:
    """Call once. Returns the exception, the failed allocations, and those of them in refarray."""
    state = recipe.make()
    held = empty_caches()
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
def interpreter_loses_exceptions() -> bool:
    """CPython replaces an exception by SystemError if it cannot allocate a frame for the traceback:
    the function's own in 3.11, its caller's from 3.12 on. Measured here without refarray."""
    control = Recipe("control", "", lambda _: {}[0], lambda: None, (KeyError,), False, ())
    for number in range(MAX_ALLOCATIONS):
        error, failed, _ = attempt(control, 0, number, 1)
        if isinstance(error, SystemError) or not failed:
            break
    return isinstance(error, SystemError)


@cache
def interpreter_leaks_types() -> bool:
    """Whether CPython loses a type that it cannot finish: 3.12 does where the type has a metaclass.
    Measured here without refarray."""
    metaclass = type("Metaclass", (type,), {})
    control = Recipe(
        "control", "", lambda _: metaclass("Made", (), {}), lambda: None, (), False, ()
    )
    for number in range(MAX_ALLOCATIONS):
        gc.collect()
        before = sys.getallocatedblocks()
        failed = [attempt(control, 0, number, 1)[1] for _ in range(NOISE)]
        gc.collect()
        if not any(failed) or sys.getallocatedblocks() - before >= 2 * NOISE:
            return any(failed)
    return False


def is_lost_exception(error: BaseException, failed: int, below: int) -> bool:
    """Whether the interpreter lost the exception: a failure was outside refarray's native code, or
    the message says that the function was written in Python."""
    if not isinstance(error, SystemError) or not interpreter_loses_exceptions():
        return False
    return failed > below or str(error).startswith("<function ")


def judge(recipe: Recipe, error: BaseException | None, failed: int, below: int) -> str | None:
    """What is wrong with the call's outcome, or None."""
    if error is None:
        return "nothing was raised" if recipe.raises and not failed else None
    if isinstance(error, recipe.raises or ()):
        return None
    if failed and isinstance(error, (MemoryError, *recipe.instead)):
        return None
    if is_lost_exception(error, failed, below):
        return None
    if failed and isinstance(error, RuntimeError) and "can't allocate" in str(error):
        return None  # how CPython reports a lock without memory
    return format_error(error)


def format_error(error: BaseException) -> str:
    """The error with its traceback, unless that cannot be formatted after an allocation failure."""
    try:
        return "".join(traceback.format_exception(error))[-1500:]
    except Exception as another:
        return f"{error!r} (its traceback: {another!r})"


def try_one(recipe: Recipe, kind: str, first: int) -> tuple[int, int, bool, list[Finding]]:
    """Fail allocation `first`. Returns the failed allocations, those in refarray, whether the call
    succeeded all the same, and violations."""
    heap, count = KINDS[kind]
    made = adversary.made()
    MARK[0] = 0  # the interpreter may crash before the next allocation fails
    error, failed, below = attempt(recipe, heap, first, count)
    wrong = judge(recipe, error, failed, below)
    absorbed = bool(failed) and error is None
    error = None
    findings = [("other", f"{kind}, allocation {first}: {wrong}")] if wrong else []
    if recipe.python and failed and not below:
        return failed, below, absorbed, findings  # CPython 3.11 leaks the arguments of such calls
    if wrong_deleter_counts(adversary, made):
        gc.collect()  # a traceback may keep the frame that keeps the tensor
    for which, text in wrong_deleter_counts(adversary, made):
        findings.append((which, f"{kind}, allocation {first}: {text}"))
    return failed, below, absorbed, findings


def sweep(recipe: Recipe, kind: str, result: Result, first: int = 0) -> list[int]:
    """Fail each allocation from `first` on, as long as there is one. Returns those in refarray."""
    in_refarray = []
    for number in range(first, MAX_ALLOCATIONS):
        failed, below, absorbed, findings = try_one(recipe, kind, number)
        result.findings += findings
        if below:
            in_refarray.append(number)
        if findings or not failed:
            return in_refarray
        result.failed += 1
        result.absorbed += absorbed
        if PROGRESS:
            PROGRESS.write(struct.pack("q", number))
    result.findings.append(("other", f"{kind}: more than {MAX_ALLOCATIONS} allocations"))
    return in_refarray


def sweep_in_children(recipe: Recipe, kind: str, result: Result) -> list[int]:
    """sweep() in child processes, for recipes that run Python code.

    Without memory CPython itself may crash: 3.11 in `for item in dict.items()`, 3.12 and 3.13 at
    the generator expression after one that had none, sometimes with a fatal error message. 3.13 may
    also continue with broken inline caches, so that calls return nonsense or raise at impossible
    places.

    If a child dies or reports a violation after earlier failures in that child, the allocation is
    repeated in a new child and the event counted as the interpreter's. In the new child a crash
    after a failure in refarray's native code is a finding, and so is a timeout."""
    in_refarray: list[int] = []
    first = 0
    while first < MAX_ALLOCATIONS:
        status, answer, stderr = in_child(partial(sweep_part, recipe, kind, first))
        numbers = [number for (number,) in struct.iter_unpack("q", answer[: len(answer) // 8 * 8])]
        is_dead = END not in numbers
        survived = numbers if is_dead else numbers[: numbers.index(END)]
        last = max([first - 1, *survived]) + 1  # where the child crashed, reported or finished
        is_alone = last == first  # no earlier failure in this child
        if is_dead:
            result.failed += last - first + is_alone
            by = signal.Signals(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
            if by and is_alone and (MARK[0] == BELOW or by == signal.SIGALRM):
                result.findings.append(("crash", f"{kind}, allocation {last}: {by.name} {stderr}"))
                return in_refarray
        else:
            part, below = pickle.loads(answer[len(survived) * 8 + 8 :])
            is_suspect = bool(part.findings) and last not in below and not is_alone
            if is_suspect:
                part.findings.clear()
            merge(result, part)
            in_refarray += below
            if not is_suspect:
                sys.stderr.write(stderr)
                return in_refarray
        result.interpreter += 1
        first = last + 1 if is_dead and is_alone else last
    result.findings.append(("other", f"{kind}: all {MAX_ALLOCATIONS} children were lost"))
    return in_refarray


def in_child(work: Callable[[BinaryIO], None]) -> tuple[int, bytes, str]:
    """Call `work` in a child. Returns the exit status, what it wrote, and stderr."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as stderr:
        child = os.fork()
        if child == 0:
            os.dup2(stderr.fileno(), 2)  # the interpreter may print a fatal error
            work_and_exit(work, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            answer = stream.read()
        status = os.waitpid(child, 0)[1]
        stderr.seek(0)
        return status, answer, stderr.read().decode(errors="replace")


def work_and_exit(work: Callable[[BinaryIO], None], writer: int) -> None:
    faulthandler.disable()
    signal.alarm(TIMEOUT)
    try:
        work(os.fdopen(writer, "wb", buffering=0))
    except BaseException:  # try_one() raises nothing: the interpreter is broken
        os._exit(INTERPRETER_BROKEN)
    os._exit(0)


def sweep_part(recipe: Recipe, kind: str, first: int, stream: BinaryIO) -> None:
    """Write the number of each allocation the call survived, then the pickled result."""
    global PROGRESS
    PROGRESS = stream
    part = Result("", "")
    in_refarray = sweep(recipe, kind, part, first)
    stream.write(struct.pack("q", END) + pickle.dumps((part, in_refarray)))


def merge(into: Result, part: Result) -> None:
    into.failed += part.failed
    into.absorbed += part.absorbed
    into.findings += part.findings


def sweep_all(recipe: Recipe, heap: bool) -> Result:
    """All kinds of failure; then those in refarray again, while counting blocks to find leaks."""
    result = Result(str(recipe), recipe.family)
    recipe = recipe.measured()
    kinds = [kind for kind in KINDS if (heap or not kind.startswith("heap"))]
    if recipe.python:
        kinds = [kind for kind in kinds if "all" not in kind]
    attempt(recipe, 0, MAX_ALLOCATIONS, 0)  # fills caches
    again: list[tuple[str, int]] = []
    for kind in kinds:
        run = sweep_in_children if recipe.python and kind == "python" else sweep
        again += [(kind, number) for number in run(recipe, kind, result)]
        if result.findings:
            return result
    if recipe.makes_type and interpreter_leaks_types():
        return result
    if recipe.python:  # an interpreter that may crash
        status, answer, _ = in_child(lambda stream: pickle.dump(leaks(recipe, heap, again), stream))
        result.interpreter += status != 0
        result.findings += pickle.loads(answer) if status == 0 else []
    else:
        result.findings += leaks(recipe, heap, again)
    return result


def leaks(recipe: Recipe, heap: bool, again: list[tuple[str, int]]) -> list[Finding]:
    """Repeat these failures while counting blocks."""
    live = LiveBlocks(adversary, heap)
    left: tuple[int, int] = (0, 0)
    for _ in range(8):  # caches of tables shrink and grow, a leak only grows
        before = live.now()
        # Numbers of children may be others' here: CPython 3.11 leaks where it fails by itself.
        again = [(kind, number) for kind, number in again if try_one(recipe, kind, number)[1]]
        after = live.now()
        left = (after[0] - before[0], after[1] - before[1])
        if left[0] < NOISE and left[1] <= 0:
            return []
    return [("leak", f"{len(again)} failures leave (Python, C) blocks {left}")]
