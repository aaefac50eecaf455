"""Capsules with wrong names, two consumers, no destructor, and deleters that do what they
should not."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

from native.corpus import FLOATS
from native.producers import Recorder

import refarray

from .case import Off, case, deleted, expect, refused
from .structs import Awkward, drop

VALUES = [0.0, 1.0, 2.0]
NAMES = [
    "used_dltensor",
    "used_dltensor_versioned",
    "foo",
    "dltensor_",
    "DLTENSOR",
    "dltensor_versioned2",
    "dlpack_exchange_api",
    "arrow_schema",
]


def consume(capsule: Any, way: str) -> Any:
    if way == "from_capsule":
        return refarray.from_capsule(capsule)
    take = refarray.from_dlpack if way == "from_dlpack" else refarray.asarray
    return take(Recorder(lambda **_: capsule))


def try_name(adv: Any, name: str | None) -> int:
    """R36: whatever is behind another name is not looked at, and is not ours to delete."""
    for way in ("from_capsule", "from_dlpack", "asarray"):
        tensor = adv.make(shape=None, ndim=2**31 - 1, data=None, name=name)
        capsule = tensor.capsule()
        with refused(BufferError, words="name"):
            consume(capsule, way)
        with refused(ValueError):
            refarray.inspect(capsule)
        del capsule
        deleted(tensor, 0)
    return 6


for _name in (*NAMES, "", None):
    case("R36 C33", f"name-{_name}", "capsule")(lambda adv, name=_name: try_name(adv, name))


@case("R37", "name-elsewhere", "capsule")
def name_elsewhere(adv: Any) -> None:
    tensor = adv.make(data=FLOATS)
    capsule = tensor.capsule()
    adv.rename(capsule, "dltensor_versioned")
    held = [refarray.from_capsule(capsule)]
    expect(held[0].tolist() == VALUES, "other values")
    drop(adv, held)
    deleted(tensor, 1)


def try_no_capsule(thing: Any) -> int:
    with refused(TypeError):
        refarray.from_capsule(thing)
    with refused(TypeError, words="not a capsule"):
        refarray.from_dlpack(Recorder(lambda **_: thing))
    return 2


for _label, _thing in {
    "none": None,
    "int": 0xDEAD0008,
    "object": object(),
    "bytes": b"dltensor",
    "str": "dltensor",
    "tuple": (1, 2),
    "type": int,
    "array": refarray.arange(3),
}.items():
    case("R38 C33", f"returns-{_label}", "capsule")(lambda adv, thing=_thing: try_no_capsule(thing))


def try_twice(adv: Any, versioned: bool, way: str) -> int:
    """R39: the second consumer is refused, the first one's array is untouched."""
    tensor = adv.make(data=FLOATS, versioned=versioned)
    capsule = tensor.capsule()
    held = [consume(capsule, way)]
    for other in ("from_capsule", "from_dlpack", "asarray"):
        with refused(BufferError, words="consumed"):
            consume(capsule, other)
    expect(held[0].tolist() == VALUES, "the first consumer's data changed")
    del capsule
    deleted(tensor, 0)
    drop(adv, held)
    deleted(tensor, 1)
    return 4


for _versioned in (True, False):
    for _way in ("from_capsule", "from_dlpack", "asarray"):
        case("R39 C39", f"twice-{_way}-{'versioned' if _versioned else 'legacy'}", "capsule")(
            lambda adv, versioned=_versioned, way=_way: try_twice(adv, versioned, way)
        )


@case("R39 C39", "twice-after-refusal", "capsule")
def twice_after_refusal(adv: Any) -> int:
    """A refused tensor is gone: the second call sees a consumed capsule, the deleter runs once."""
    tensor = adv.make(data=None)
    capsule = tensor.capsule()
    with refused(BufferError, words="data"):
        refarray.from_capsule(capsule)
    deleted(tensor, 1)
    with refused(BufferError, words="consumed"):
        refarray.from_capsule(capsule)
    del capsule
    deleted(tensor, 1)
    return 2


@case("R40 C39", "two-threads", "capsule", repeats=0)
def two_threads(adv: Any) -> int:
    """In lock step; tests/dlpack/test_lifetime.py does it many more times."""
    rounds = 200
    tensors = [adv.make(data=FLOATS) for _ in range(rounds)]
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
        deleted(tensor, 1)
    return rounds


@case("R41", "no-destructor", "capsule")
def no_destructor(adv: Any) -> None:
    tensor = adv.make(data=FLOATS, destructor=False).expect_deletes(1)
    held = [refarray.from_capsule(tensor.capsule())]
    expect(held[0].tolist() == VALUES, "other values")
    drop(adv, held)
    deleted(tensor, 1)


@case("R41", "no-destructor-refused", "capsule")
def no_destructor_refused(adv: Any) -> None:
    tensor = adv.make(data=None, destructor=False).expect_deletes(1)
    with refused(BufferError):
        refarray.from_capsule(tensor.capsule())
    deleted(tensor, 1)


@case("R42", "renamed-only", "capsule")
def renamed_only(adv: Any) -> None:
    """What the protocol lets a consumer do is all that is done: the destructor stays."""
    capsule = adv.make(data=FLOATS).capsule()
    held = [refarray.from_capsule(capsule)]
    found = adv.inspect(capsule)
    expect(found["destructor"] and found["name"] == "used_dltensor_versioned", f"{found}")
    drop(adv, held)


@case("R46 C38", "deleter-consumes-the-same-capsule", "capsule")
def deleter_consumes_the_capsule(adv: Any) -> None:
    held: list[Any] = []

    def again() -> None:
        with refused(BufferError, words="consumed"):
            refarray.from_capsule(held[0])

    with Awkward() as awkward:
        tensor = adv.make(data=None, deleter=again)
        held.append(tensor.capsule())
        with refused(BufferError, words="data"):
            refarray.from_capsule(held[0])
        deleted(tensor, 1)
        expect(awkward.seen == [], f"{awkward.seen}")


@case("R46 C38", "deleter-drops-the-last-array", "capsule")
def deleter_drops_the_last_array(adv: Any) -> None:
    """A chain: each deleter drops the array that keeps the next tensor."""
    held: list[Any] = []
    tensors = []
    for _ in range(20):
        tensors.append(adv.make(data=FLOATS, deleter=held.clear))
        held = [refarray.from_capsule(tensors[-1].capsule()), held]
    drop(adv, [held])
    del held
    gc.collect()
    for tensor in tensors:
        deleted(tensor, 1)


@case("R46 C38", "deleter-collects-garbage", "capsule")
def deleter_collects(adv: Any) -> None:
    class Cycle:
        pass

    tensor = adv.make(data=FLOATS, deleter=gc.collect)
    cycle = Cycle()
    cycle.me, cycle.array = cycle, refarray.from_capsule(tensor.capsule())  # type: ignore[attr-defined]
    del cycle
    gc.collect()
    deleted(tensor, 1)


@case("R45 R46", "deleter-replaces-the-hook", "capsule")
def deleter_replaces_the_hook(adv: Any) -> None:
    """The hook for the unraisable fails too; the error that was on its way still arrives."""

    def fail(_: Any) -> None:
        raise SystemError("from the hook")

    def refuse() -> None:
        raise RuntimeError("from a deleter")

    before, sys.unraisablehook = sys.unraisablehook, fail
    stderr, sys.stderr = sys.stderr, None  # what CPython says about such a hook is not the point
    try:
        tensor = adv.make(data=None, deleter=refuse)
        with refused(BufferError, words="data"):
            refarray.from_capsule(tensor.capsule())
    finally:
        sys.unraisablehook, sys.stderr = before, stderr
    deleted(tensor, 1)


@case("R47 C38", "deleter-waits-for-a-thread", "capsule", repeats=2)
def deleter_waits(adv: Any) -> int:
    """The other thread needs the GIL and imports; no lock of ours may be held meanwhile."""
    done: list[Any] = []

    def work() -> None:
        done.append(refarray.from_dlpack(refarray.arange(3)).tolist())

    def wait() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    for data in (FLOATS, None):
        tensor = adv.make(data=data, deleter=wait)
        try:
            held = [refarray.from_capsule(tensor.capsule())]
        except BufferError:
            held = [None]
        drop(adv, held)
        deleted(tensor, 1)
    expect(done == [[0, 1, 2]] * 2, f"{done}")
    return 2


@case("R47", "deleter-in-another-thread", "capsule", repeats=2)
def deleter_elsewhere(adv: Any) -> int:
    """The last export is dropped by a thread that Python has never seen, with and without the
    GIL."""
    for keep_gil in (True, False):
        tensor = adv.make(data=FLOATS)
        x = refarray.from_capsule(tensor.capsule())
        owned = adv.take(x.__dlpack__(max_version=(1, 3)))
        del x
        deleted(tensor, 0)
        owned.drop_in_thread(keep_gil)
        deleted(tensor, 1)
    return 2


@case("R49 R50", "message-outlives-the-tensor", "capsule")
def message_outlives(adv: Any) -> int:
    """What the error reports was read before the deleter poisoned it."""
    for fields, words in (
        ({"version": (77, 5)}, "77"),
        ({"ndim": -123}, "-123"),
        ({"shape": (-99,), "strides": (1,)}, "-99"),
        ({"dtype": (98, 8, 1)}, "98"),
        ({"device": (97, 6)}, "(97, 6)"),
        ({"shape": (2,), "strides": (2**61,)}, str(2**61)),
    ):
        tensor = adv.make(data=FLOATS, **fields)
        with refused(BufferError, words=words):
            refarray.from_capsule(tensor.capsule())
        deleted(tensor, 1)
    return 6


@case("R56", "rewritten-afterwards", "capsule")
def rewritten_afterwards(adv: Any) -> int:
    for versioned in (True, False):
        tensor = adv.make(shape=(2, 3), data=FLOATS, versioned=versioned)
        x = refarray.from_capsule(tensor.capsule())
        tensor.scramble()
        expect((x.shape, x.strides) == ((2, 3), (3, 1)), f"{x.shape}, {x.strides}")
        expect(x.tolist()[1] == [3.0, 4.0, 5.0], "other values")
    return 2


@case("R57", "rewritten-meanwhile", "capsule", repeats=0)
def rewritten_meanwhile(adv: Any) -> int:
    """Each field is read once: what comes out is either refused or sound, whatever was read."""
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
                raise Off("silent accept", f"{x.shape} {x.tolist()}")
        del x, capsule
        deleted(tensor, 1)
    expect(turns >= rounds, f"the fields were rewritten {turns} times only")
    expect(taken < rounds, "never refused: the fields were not rewritten during the import")
    return rounds


@case("C38 R44", "unconsumed-with-a-raising-deleter", "capsule")
def unconsumed_raising(adv: Any) -> None:
    """The destructor of a capsule of ours runs while an exception is pending."""
    with Awkward() as awkward:
        tensor = adv.make(data=FLOATS, deleter=awkward.refuse)
        x = refarray.from_capsule(tensor.capsule())
        capsules = [x.__dlpack__(), x.__dlpack__(max_version=(1, 3))]
        del x
        drop(adv, capsules)
        deleted(tensor, 0)
        drop(adv, capsules)
        deleted(tensor, 1)
        expect(len(awkward.seen) == 1, f"{awkward.seen}")
