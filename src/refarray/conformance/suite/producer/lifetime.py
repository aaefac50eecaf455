"""LIFE checks of a producer: memory, data and references while an export is alive and after.

Interpreter shutdown is in lifetime_at_exit.py.
"""

from __future__ import annotations

import gc
import struct
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from refarray._system import system
from refarray.conformance import _adversary
from refarray.conformance.cases import (
    FREED,
    CheckResult,
    NotApplicable,
    about,
    add_harm,
    check,
    check_cases,
    describe_error,
    subject_code,
)
from refarray.conformance.dlpack import HOST_READABLE, READ_ONLY
from refarray.conformance.harness.producer import ABSENT, VERSIONED, Export, Producer
from refarray.conformance.requirements import Level
from refarray.conformance.suite.exports import (
    SubjectCalls,
    Taken,
    host_export,
    intact_result,
    report_taken,
    take_plain,
)
from refarray.conformance.suite.producer.devices import readable

BIG = 512 * 1024  # float32 elements of one array: 2 MiB
ROUNDS = 24
TRIES = 3  # allocators and the system change a process's size too, but not each time
RESIZED = 1 << 24  # float32 elements: 64 MiB, which the allocator returns to the system when freed


def size() -> int:
    """The memory of this process, in bytes. NotApplicable if the system does not tell."""
    try:
        return system.resident()
    except OSError as error:
        raise NotApplicable("this system does not tell how much memory a process has") from error


def memory_is_returned(
    producer: Producer, count: int, use: Callable[[Producer, str], None]
) -> CheckResult:
    """Whether the process stays the same size over many exports of big arrays. They are made in a
    thread: memory that is freed at the thread's end or by a collection was returned."""
    text = producer.big(count)

    def grow(rounds: int) -> int:
        with ThreadPoolExecutor(1) as pool:
            for _ in range(rounds):
                pool.submit(use, producer, text).result()
        gc.collect()
        return size()

    before = grow(3)
    for _ in range(TRIES):
        now = grow(ROUNDS)
        grown, before = (now - before) / 2**20, now
        if is_returned := grown < ROUNDS * 2 * 0.5:
            break
    export = host_export(producer)
    observed = f"{grown:.0f} MiB more after {ROUNDS} arrays of 2 MiB"
    return report_taken(producer, is_returned, export, observed)


EXPORTS: dict[str, dict[str, Any]] = {
    "": VERSIONED,
    "legacy": {},
    "copy": {**VERSIONED, "copy": True},
    "legacy-copy": {"copy": True},
}
"""The exports whose memory is counted: case → keywords."""


def big_export(producer: Producer, text: str, keywords: dict[str, Any]) -> Export:
    """An export in host memory. NotApplicable if the producer refuses."""
    if keywords is EXPORTS[""]:
        return host_export(producer, text=text)
    export = producer.export(text, **keywords).require()
    if export["device"][0] not in HOST_READABLE:
        raise NotApplicable("its data is not in host memory")
    return export


@check_cases(
    "LIFE-01",
    {f"{case}-consumed".lstrip("-"): keywords for case, keywords in EXPORTS.items()},
    "the deleter frees the memory: {case}",
    risky=True,
)
def deleter_frees_memory(producer: Producer, keywords: dict[str, Any]) -> CheckResult:
    def consume(of: Producer, text: str) -> None:
        SubjectCalls(_adversary.take(big_export(of, text, keywords).capsule)).drop()

    return memory_is_returned(producer, BIG, consume)


@check_cases(
    "LIFE-08",
    {f"{case}-unconsumed".lstrip("-"): keywords for case, keywords in EXPORTS.items()},
    "an unconsumed capsule frees its memory: {case}",
    risky=True,
)
def capsule_frees_memory(producer: Producer, keywords: dict[str, Any]) -> CheckResult:
    def leave(of: Producer, text: str) -> None:
        big_export(of, text, keywords)

    return memory_is_returned(producer, BIG + 16, leave)


@check("LIFE-15", "error", "the deleter returns with no exception set", risky=True)
def deleter_sets_no_exception(producer: Producer) -> CheckResult:
    kind = "transposed" if "transposed" in producer.subject.arrays else "plain"
    it = Taken(host_export(producer, text=producer.text(kind)))
    try:
        it.owned.drop()
    except Exception as error:
        return report_taken(producer, False, it.export, describe_error(error), "owned.drop()")
    return report_taken(producer, True, it.export, "nothing set", "owned.drop()")


ELSEWHERE: dict[str, tuple[str, Callable[[Any], None]]] = {
    "thread": ("a thread that Python does not know", lambda owned: owned.drop_in_thread(False)),
    "no-gil": (
        "a Python thread that has released the GIL",
        lambda owned: owned.drop_without_gil(),
    ),
}


@check_cases("LIFE-04", ELSEWHERE, "the deleter runs in {value[0]}", risky=True)
def deleter_elsewhere(producer: Producer, row: tuple[str, Callable[[Any], None]]) -> CheckResult:
    it = take_plain(producer)
    row[1](it.owned)
    return report_taken(producer, True, it.export, "it ran", "owned.drop_in_thread(False)")


@check("LIFE-16", "gone", "the data outlives the producer's object", risky=True)
def data_outlives_array(producer: Producer) -> CheckResult:
    it = take_plain(producer)
    churn = [producer.make(producer.text()) for _ in range(64)]  # reuses freed memory
    held = it.intact
    del churn
    return add_harm(intact_result(producer, held, it.export), FREED)


@check("LIFE-16", "gone-big", "the pages of a big array outlive the producer's object", risky=True)
def pages_outlive_array(producer: Producer) -> CheckResult:
    text = producer.big(RESIZED)
    array = producer.make(text)
    it = Taken(host_export(producer, array, text))
    del array
    gc.collect()
    lines = ("import gc, numpy", f"c = numpy.from_dlpack({text})", "gc.collect()", "print(c)")
    return judge_freed(it, producer.repro(*lines))


def judge_freed(it: Taken, repro: str) -> CheckResult:
    """Whether an export's memory is still mapped, and its data the same."""
    held = readable(it.export.address) and it.intact
    observed = "the data is still there" if held else "its memory was freed while it was exported"
    return add_harm(CheckResult(held, observed, repro), FREED)


@check("LIFE-17", "written", "the array sees writes through a writable export", risky=True)
def writes_are_seen(producer: Producer) -> CheckResult:
    text, array = producer.own()
    export = host_export(producer, array, text)
    if export.versioned and export.flags & READ_ONLY:
        raise NotApplicable("its arrays are exported read-only")
    _adversary.take(export.capsule).write(struct.pack("f", 41.5))
    again = _adversary.take(host_export(producer, array, text).capsule)
    (value,) = struct.unpack("f", again.read(4))
    return report_taken(producer, value == 41.5, export, f"wrote 41.5, reads {value}")


@check(
    "LIFE-18",
    "resized",
    "exported memory is neither freed nor moved when the array is resized",
    risky=True,
)
def resize_keeps_exported_memory(producer: Producer) -> CheckResult:
    small = producer.make(producer.text())
    with subject_code():
        name = next((each for each in ("resize_", "resize") if hasattr(small, each)), None)
    if name is None:
        raise NotApplicable("its arrays are not resized")
    text = producer.big(RESIZED)
    array = producer.make(text)
    it = Taken(host_export(producer, array, text))
    line = f"x.{name}(({2 * RESIZED},))"
    lines = [f"import numpy; x = {text}; c = numpy.from_dlpack(x)", line, "print(c)"]
    about(producer.repro(*lines))
    try:
        getattr(array, name)((2 * RESIZED,))
    except Exception as error:
        return CheckResult(
            it.intact, f"{line} raised {describe_error(error)}", producer.repro(*lines)
        )
    return judge_freed(it, producer.repro(*lines))


REPLACED = {
    "replaced": "x.set_()",
    "assigned": "x.data = x.new_zeros(3)",
    "released": "x.untyped_storage().resize_(0)",
}
"""Statements after which an array has other memory, or none."""


@check_cases(
    "LIFE-18",
    REPLACED,
    "exported memory is not freed when the array gets other memory: {value}",
    risky=True,
)
def replaced_memory_stays(producer: Producer, line: str) -> CheckResult:
    text = producer.big(RESIZED)
    array = producer.make(text)
    it = Taken(host_export(producer, array, text))
    repro = producer.repro(f"import numpy; x = {text}; c = numpy.from_dlpack(x)", line, "print(c)")
    about(repro)
    try:
        exec(line, {**producer.namespace, "x": array})
    except (AttributeError, TypeError) as error:
        raise NotApplicable(f"{line} raised {describe_error(error)}") from error
    except Exception as error:
        return CheckResult(it.intact, f"{line} raised {describe_error(error)}", repro)
    return judge_freed(it, repro)


@check("LIFE-20", "own", "each export is a tensor of its own: one outlives the other", risky=True)
def exports_are_independent(producer: Producer) -> CheckResult:
    text, array = producer.own()
    exports = [host_export(producer, array, text) for _ in range(2)]
    places = [_adversary.inspect(each.capsule)["managed"] for each in exports]
    first, second = (Taken(each) for each in exports)
    first.owned.drop()
    held = second.intact
    observed = f"structs at {places[0]:#x} and {places[1]:#x}"
    if places[0] == places[1] and held:
        # One struct with a count of its users: the texts neither allow nor forbid it, and a
        # consumer cannot tell the difference.
        result = report_taken(producer, False, exports[0], observed)
        return replace(result, level=Level.DISPUTED)
    return report_taken(producer, held, exports[0], observed)


@check("LIFE-21", "refused", "a refused export leaves the array's references unchanged")
def refusal_leaks_no_reference(producer: Producer) -> CheckResult:
    text, array = producer.own()
    before = sys.getrefcount(array)
    for _ in range(8):
        producer.export(text, array, dl_device=(9, 0), **VERSIONED)
    gc.collect()
    after = sys.getrefcount(array)
    repro = producer.repro(
        f"import sys; x = {text}; n = sys.getrefcount(x)",
        "for _ in range(8):",
        "    try: x.__dlpack__(dl_device=(9, 0), max_version=(1, 3))",
        "    except Exception: pass",
        "print(sys.getrefcount(x) - n)",
    )
    return CheckResult(after == before, f"{before} before, {after} after 8 refusals", repro)


@check(
    "LIFE-22",
    "references",
    "an export takes references to its array, and dropping the capsule returns them",
)
def dropped_capsule_returns_references(producer: Producer) -> CheckResult:
    text, array = producer.own()
    producer.export(text, array, **VERSIONED)  # creates caches
    before = sys.getrefcount(array)
    exports = [producer.export(text, array, **VERSIONED) for _ in range(8)]
    during = sys.getrefcount(array)
    exports.clear()
    gc.collect()
    after = sys.getrefcount(array)
    repro = producer.repro(
        f"import sys; x = {text}; n = sys.getrefcount(x)",
        "for _ in range(8): x.__dlpack__(max_version=(1, 3))",
        "print(sys.getrefcount(x) - n)",
    )
    observed = f"{before} before, {during} with 8 capsules, {after} after"
    return CheckResult(after == before, observed, repro)


@check("LIFE-24", "threads", "concurrent exports of one array are right", risky=True)
def concurrent_exports(producer: Producer) -> CheckResult:
    text, array = producer.own()
    export = host_export(producer, array, text)
    data = Taken(export).data

    def work(_: int) -> bool:
        return all(Taken(host_export(producer, array, text)).data == data for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        right = list(pool.map(work, range(4)))
    return report_taken(producer, all(right), export, f"right in {sum(right)} of 4 threads")


# --- capsules: their names and their destructors


@check_cases(
    "LIFE-06",
    {"name-default": ABSENT, "name-asked": (1, 3)},
    "the capsule is named after its struct: dltensor, or dltensor_versioned of major version 1",
)
def capsule_name(producer: Producer, max_version: Any) -> CheckResult:
    export = producer.ask(producer.text(), max_version=max_version)
    if export.error is not None:
        return producer.make_result(isinstance(export.error, BufferError), export)
    held = export.held is not None and (not export.versioned or export["version"][0] == 1)
    return producer.make_result(held, export)


@check("LIFE-07", "name", "the capsule's name is a static string: the same for every capsule")
def capsule_name_is_static(producer: Producer) -> CheckResult:
    first, second = (host_export(producer) for _ in range(2))
    places = [_adversary.inspect(each.capsule)["name_address"] for each in (first, second)]
    observed = f"{places[0]:#x} and {places[1]:#x}"
    return report_taken(producer, places[0] == places[1], first, observed)


def drop_capsule_then_tensor(producer: Producer, it: Taken) -> CheckResult:
    """Drops the capsule of a taken export: its tensor must stay valid."""
    it.export.capsule = None  # the last reference: its destructor runs
    held = it.intact
    it.owned.drop()
    return intact_result(producer, held, it.export)


@check(
    "LIFE-09",
    "used",
    "the destructor of a capsule with the used name does not touch the tensor",
    risky=True,
)
def used_capsule_is_dropped(producer: Producer) -> CheckResult:
    return drop_capsule_then_tensor(producer, take_plain(producer))


@check(
    "LIFE-09",
    "foreign",
    "the destructor of a capsule with a foreign name does not crash",
    risky=True,
)
def foreign_capsule_is_dropped(producer: Producer) -> CheckResult:
    it = take_plain(producer, rename=False)
    _adversary.rename(it.export.capsule, "foo")
    return drop_capsule_then_tensor(producer, it)


@check_cases(
    "LIFE-11",
    {"clears": ("and rename the capsule", True), "only-clears": ("only", False)},
    "a consumer may clear the destructor {value[0]}",
    risky=True,
)
def consumer_clears_destructor(producer: Producer, row: tuple[str, bool]) -> CheckResult:
    it = take_plain(producer, rename=row[1], clear_destructor=True)
    return drop_capsule_then_tensor(producer, it)


@check(
    "LIFE-14",
    "pending",
    "a capsule destroyed while an exception is pending leaves the exception unchanged",
    risky=True,
)
def destructor_keeps_pending_exception(producer: Producer) -> CheckResult:
    kind = "strided" if "strided" in producer.subject.arrays else "plain"
    export = host_export(producer, text=producer.text(kind))
    error = ValueError("pending")
    capsules = [export.capsule]
    export.capsule = None
    left = _adversary.drop_pending(capsules, error)
    with subject_code():
        observed = f"pending afterwards: {left!r}"
    return report_taken(producer, left is error, export, observed)
