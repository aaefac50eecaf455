"""Hostile capsules: wrong names, two consumers, no destructor, and deleters that misbehave."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

from native.corpus import FLOATS
from native.producers import Recorder

import refarray

from .case import Violation, add, case, expect, expect_deleter_calls, refused
from .structs import UnraisableLog, drop_while_raising

VALUES = [0.0, 1.0, 2.0]
NAMES = [
    *("used_dltensor", "used_dltensor_versioned", "foo", "dltensor_", "dltensor ", "DLTENSOR"),
    *("dltensor_versioned2", "dlpack_exchange_api", "arrow_schema", "arrow_array"),
]


def consume(capsule: Any, entry_point: str) -> Any:
    if entry_point == "from_capsule":
        return refarray.from_capsule(capsule)
    take = refarray.from_dlpack if entry_point == "from_dlpack" else refarray.asarray
    return take(Recorder(lambda **_: capsule))


def import_with_name(adv: Any, name: str | None) -> int:
    """R36: the contents of a capsule with another name are neither read nor deleted."""
    for entry_point in ("from_capsule", "from_dlpack", "asarray"):
        tensor = adv.make(shape=None, ndim=2**31 - 1, data=None, name=name)
        capsule = tensor.capsule()
        with refused(BufferError, message="name"):
            consume(capsule, entry_point)
        with refused(ValueError):
            refarray.inspect(capsule)
        del capsule
        expect_deleter_calls(tensor, 0)
    return 6


for _name in (*NAMES, "", None):
    add("R36 C33 CONS-05", f"name-{_name}", "capsule", import_with_name, _name)


@case("R37 CONS-05", "name-elsewhere", "capsule")
def name_elsewhere(adv: Any) -> None:
    tensor = adv.make(data=FLOATS)
    capsule = tensor.capsule()
    adv.rename(capsule, "dltensor_versioned")
    held = [refarray.from_capsule(capsule)]
    expect(held[0].tolist() == VALUES, "values differ")
    drop_while_raising(adv, held)
    expect_deleter_calls(tensor, 1)


def import_non_capsule(adv: Any, thing: Any) -> int:
    with refused(TypeError):
        refarray.from_capsule(thing)
    with refused(TypeError, message="not a capsule"):
        refarray.from_dlpack(Recorder(lambda **_: thing))
    return 2


for _label, _thing in {
    "none": None,
    "int": 0xDEAD0008,
    "zero": 0,
    "object": object(),
    "bytes": b"dltensor",
    "str": "dltensor",
    "tuple": (1, 2),
    "type": int,
    "array": refarray.arange(3),
}.items():
    add("R38 C33 CONS-05", f"returns-{_label}", "capsule", import_non_capsule, _thing)


def import_twice(adv: Any, versioned: bool, entry_point: str) -> int:
    """R39: the second consumer is refused; the first one's array is unaffected."""
    tensor = adv.make(data=FLOATS, versioned=versioned)
    capsule = tensor.capsule()
    name = adv.inspect(capsule)["name"]
    held = [consume(capsule, entry_point)]
    expect(adv.name_of(capsule) == f"used_{name}", "the capsule was not renamed")
    for other in ("from_capsule", "from_dlpack", "asarray"):
        with refused(BufferError, message="consumed"):
            consume(capsule, other)
    expect(held[0].tolist() == VALUES, "the first consumer's data changed")
    del capsule
    expect_deleter_calls(tensor, 0)
    drop_while_raising(adv, held)
    expect_deleter_calls(tensor, 1)
    return 4


for _versioned in (True, False):
    for _entry_point in ("from_capsule", "from_dlpack", "asarray"):
        _name = f"twice-{_entry_point}-{'versioned' if _versioned else 'legacy'}"
        _rows = "R39 C39 CONS-11 LIFE-10 LIFE-12"
        add(_rows, _name, "capsule", import_twice, _versioned, _entry_point)


def twice_after_refusal(adv: Any, versioned: bool) -> int:
    """A refused tensor is consumed: the deleter runs once, a second import sees a used capsule."""
    tensor = adv.make(data=None, versioned=versioned)
    capsule = tensor.capsule()
    with refused(BufferError, message="data"):
        refarray.from_capsule(capsule)
    expect_deleter_calls(tensor, 1)
    with refused(BufferError, message="consumed"):
        refarray.from_capsule(capsule)
    del capsule
    expect_deleter_calls(tensor, 1)
    return 2


def two_threads(adv: Any, versioned: bool) -> int:
    """Two threads in lockstep; tests/dlpack/test_lockstep.py runs many more rounds."""
    rounds = 200
    tensors = [adv.make(data=FLOATS, versioned=versioned) for _ in range(rounds)]
    capsules = [tensor.capsule() for tensor in tensors]
    barrier = threading.Barrier(2)
    won: list[int] = []

    def work() -> None:
        for number in range(rounds):
            barrier.wait()
            try:
                array = refarray.from_capsule(capsules[number])
            except BufferError:
                continue
            if array.tolist() == VALUES:
                won.append(number)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(sorted(won) == list(range(rounds)), "not exactly one winner", "silent accept")
    for tensor in tensors:
        expect_deleter_calls(tensor, 1)
    return rounds


for _versioned, _kind in ((True, "versioned"), (False, "legacy")):
    _rows = "R39 C39 LIFE-12 LIFE-13 LIFE-03"
    add(_rows, f"twice-after-refusal-{_kind}", "capsule", twice_after_refusal, _versioned)
    _rows = "R40 C39 LIFE-24 LIFE-12 CONS-06"
    add(_rows, f"two-threads-{_kind}", "capsule", two_threads, _versioned, repeats=0)


@case("R41 LIFE-10", "no-destructor", "capsule")
def no_destructor(adv: Any) -> None:
    tensor = adv.make(data=FLOATS, destructor=False).expect_deletes(1)
    capsule = tensor.capsule()
    held = [refarray.from_capsule(capsule)]
    expect(adv.inspect(capsule)["destructor"] is False, "a destructor was set")
    expect(held[0].tolist() == VALUES, "values differ")
    drop_while_raising(adv, held)
    expect_deleter_calls(tensor, 1)


@case("R41", "no-destructor-refused", "capsule")
def no_destructor_refused(adv: Any) -> None:
    tensor = adv.make(data=None, destructor=False).expect_deletes(1)
    with refused(BufferError):
        refarray.from_capsule(tensor.capsule())
    expect_deleter_calls(tensor, 1)


@case("R42 LIFE-10", "renamed-only", "capsule")
def renamed_only(adv: Any) -> None:
    """Consuming a capsule only renames it: its destructor stays in place."""
    capsule = adv.make(data=FLOATS).capsule()
    held = [refarray.from_capsule(capsule)]
    found = adv.inspect(capsule)
    expect(found["destructor"] and found["name"] == "used_dltensor_versioned", f"{found}")
    drop_while_raising(adv, held)


@case("R46 C38", "deleter-consumes-the-same-capsule", "capsule")
def deleter_consumes_the_capsule(adv: Any) -> None:
    held: list[Any] = []

    def again() -> None:
        with refused(BufferError, message="consumed"):
            refarray.from_capsule(held[0])

    with UnraisableLog() as log:
        tensor = adv.make(data=None, deleter=again)
        held.append(tensor.capsule())
        with refused(BufferError, message="data"):
            refarray.from_capsule(held[0])
        expect_deleter_calls(tensor, 1)
        expect(log.seen == [], f"{log.seen}")


@case("R46 C38", "deleter-drops-the-last-array", "capsule")
def deleter_drops_the_last_array(adv: Any) -> None:
    """A chain: each deleter drops the array that owns the next tensor."""
    held: list[Any] = []
    tensors = []
    for _ in range(20):
        tensors.append(adv.make(data=FLOATS, deleter=held.clear))
        held = [refarray.from_capsule(tensors[-1].capsule()), held]
    drop_while_raising(adv, [held])
    del held
    gc.collect()
    for tensor in tensors:
        expect_deleter_calls(tensor, 1)


@case("R46 C38", "deleter-collects-garbage", "capsule")
def deleter_collects(adv: Any) -> None:
    class Cycle:
        pass

    tensor = adv.make(data=FLOATS, deleter=gc.collect)
    cycle = Cycle()
    cycle.me, cycle.array = cycle, refarray.from_capsule(tensor.capsule())  # type: ignore[attr-defined]
    del cycle
    gc.collect()
    expect_deleter_calls(tensor, 1)


@case("R45 R46", "deleter-replaces-the-hook", "capsule")
def deleter_replaces_the_hook(adv: Any) -> None:
    """sys.unraisablehook raises too; the original error still propagates."""

    def fail(_: Any) -> None:
        raise SystemError("from the hook")

    def refuse() -> None:
        raise RuntimeError("from a deleter")

    before, sys.unraisablehook = sys.unraisablehook, fail
    stderr, sys.stderr = sys.stderr, None  # silences CPython's report of the failing hook
    try:
        tensor = adv.make(data=None, deleter=refuse)
        with refused(BufferError, message="data"):
            refarray.from_capsule(tensor.capsule())
    finally:
        sys.unraisablehook, sys.stderr = before, stderr
    expect_deleter_calls(tensor, 1)


@case("R47 C38 LIFE-27 LIFE-03", "deleter-waits-for-a-thread", "capsule", repeats=2)
def deleter_waits(adv: Any) -> int:
    """The deleter imports, and joins a thread that needs the GIL and imports: refarray must hold no
    lock."""
    done: list[Any] = []

    def work() -> None:
        inner = refarray.from_dlpack(adv.make(data=FLOATS))
        with refused(BufferError):
            refarray.from_dlpack(adv.make(data=None))
        done.append(refarray.from_dlpack(inner).tolist())
        gc.collect()

    def wait() -> None:
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    of: list[dict[str, Any]] = [{}, {"data": None}, {"dtype": (99, 8, 1)}, {"device": (99, 0)}]
    of.append({"version": (2, 0), "unmapped_body": True})
    for fields in of:
        tensor = adv.make(**{"data": FLOATS, **fields}, deleter=wait)
        try:
            held = [refarray.from_capsule(tensor.capsule())]
        except BufferError:
            held = [None]
        drop_while_raising(adv, held)
        expect_deleter_calls(tensor, 1)
    expect(done == [VALUES] * 2 * len(of), f"{done}")
    return len(of)


@case("R47", "deleter-in-another-thread", "capsule", repeats=2)
def deleter_elsewhere(adv: Any) -> int:
    """A thread unknown to Python drops the last export, with and without the GIL."""
    for keep_gil in (True, False):
        tensor = adv.make(data=FLOATS)
        x = refarray.from_capsule(tensor.capsule())
        owned = adv.take(x.__dlpack__(max_version=(1, 3)))
        del x
        expect_deleter_calls(tensor, 0)
        owned.drop_in_thread(keep_gil)
        expect_deleter_calls(tensor, 1)
    return 2


@case("R49 R50", "message-outlives-the-tensor", "capsule")
def message_outlives(adv: Any) -> int:
    """The error message quotes values read before the deleter overwrote them."""
    for fields, message in (
        ({"version": (77, 5)}, "77"),
        ({"ndim": -123}, "-123"),
        ({"shape": (-99,), "strides": (1,)}, "-99"),
        ({"dtype": (98, 8, 1)}, "98"),
        ({"device": (97, 6)}, "(97, 6)"),
        ({"shape": (2,), "strides": (2**61,)}, str(2**61)),
    ):
        tensor = adv.make(data=FLOATS, **fields)
        with refused(BufferError, message=message):
            refarray.from_capsule(tensor.capsule())
        expect_deleter_calls(tensor, 1)
    return 6


@case("R56", "rewritten-afterwards", "capsule")
def rewritten_afterwards(adv: Any) -> int:
    for versioned in (True, False):
        tensor = adv.make(shape=(2, 3), data=FLOATS, versioned=versioned)
        x = refarray.from_capsule(tensor.capsule())
        tensor.scramble()
        expect((x.shape, x.strides) == ((2, 3), (3, 1)), f"{x.shape}, {x.strides}")
        expect(x.tolist()[1] == [3.0, 4.0, 5.0], "values differ")
    return 2


@case("R57", "rewritten-meanwhile", "capsule", repeats=0)
def rewritten_meanwhile(adv: Any) -> int:
    """Each field is read once: the import either fails or is consistent, whatever it read."""
    rounds, turns, taken = 400, 0, 0
    for _ in range(rounds):
        tensor = adv.make(shape=(3,), data=FLOATS)
        capsule = tensor.capsule()
        adv.start_flipping(tensor)
        try:
            x = refarray.from_capsule(capsule)
        except BufferError:
            x = None
        turns += adv.stop_flipping()
        if x is not None:
            taken += 1
            if (x.shape, x.ndim, x.tolist()) != ((3,), 1, VALUES):
                raise Violation("silent accept", f"{x.shape} {x.tolist()}")
        del x, capsule
        expect_deleter_calls(tensor, 1)
    expect(turns >= rounds, f"the fields were rewritten only {turns} times")
    expect(taken < rounds, "never refused: the fields were not rewritten during the import")
    return rounds


@case("C38 R44", "unconsumed-with-a-raising-deleter", "capsule")
def unconsumed_raising(adv: Any) -> None:
    """The destructor of our own capsule runs while an exception is pending."""
    with UnraisableLog() as log:
        tensor = adv.make(data=FLOATS, deleter=log.raise_error)
        x = refarray.from_capsule(tensor.capsule())
        capsules = [x.__dlpack__(), x.__dlpack__(max_version=(1, 3))]
        del x
        drop_while_raising(adv, capsules)
        expect_deleter_calls(tensor, 0)
        drop_while_raising(adv, capsules)
        expect_deleter_calls(tensor, 1)
        expect(len(log.seen) == 1, f"{log.seen}")
