"""Owns the checks of a producer's tensors that have left it: deleters, destructors, threads."""

from __future__ import annotations

import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.producer import VERSIONED, Export, Producer, raised
from refarray.conformance.requirements import Level

BIG = 512 * 1024  # float32 elements of one array: 2 MiB
ROUNDS = 24
BYTES = 16  # of the plain array's 24
TAKE = "from refarray.conformance import _adversary; owned = _adversary.take({call})"


def exported(producer: Producer, array: Any = None, text: str = "") -> Export:
    """A versioned export, or the legacy one of who has no other. NotApplicable when refused."""
    text = text or producer.text()
    array = producer.make(text) if array is None else array
    export = producer.export(text, array, **VERSIONED)
    if export.error is not None:
        raise NotApplicable(f"{export.call} raised {export}")
    if export["device"][0] != 1:
        raise NotApplicable("its data cannot be read from the host")
    return export


class Taken:
    """An export that was taken as a consumer takes it, and what its data was then."""

    def __init__(self, export: Export, **how: bool) -> None:
        self.export = export
        self.owned = _adversary.take(export.capsule, **how)
        self.data = self.owned.read(BYTES)

    def let_capsule_go(self) -> None:
        """The capsule's destructor runs."""
        self.export.capsule = None

    @property
    def still(self) -> bool:
        """Whether the data is what it was."""
        return self.owned.read(BYTES) == self.data


def taken(producer: Producer, **how: bool) -> Taken:
    """The plain array, taken."""
    return Taken(exported(producer), **how)


def seen(producer: Producer, held: bool, export: Export, observed: str, *lines: str) -> CheckResult:
    """What a case showed."""
    return CheckResult(held, observed, producer.repro(TAKE.format(call=export.call), *lines))


def resident() -> int:
    """Bytes of this process that are in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise NotApplicable("this system does not tell how much memory a process has")


def _no_growth(
    name: str, case: str, expected: str, count: int, use: Callable[[Producer, str], None]
) -> None:
    @check(name, "producer", case, expected, risky=True)
    def _(producer: Producer) -> CheckResult:
        text = producer.big(count)
        for _ in range(3):
            use(producer, text)
        before = resident()
        for _ in range(ROUNDS):
            use(producer, text)
        grown = (resident() - before) / 2**20
        export = exported(producer)
        observed = f"{grown:.0f} MiB more after {ROUNDS} arrays of 2 MiB"
        return seen(producer, grown < ROUNDS * 2 * 0.5, export, observed)


def _consume(producer: Producer, text: str) -> None:
    _adversary.take(exported(producer, text=text).capsule).drop()


def _leave(producer: Producer, text: str) -> None:
    exported(producer, text=text)  # the capsule goes as it came


_no_growth("LIFE-01", "consumed", "the deleter gives the memory back", BIG, _consume)
_no_growth(
    "LIFE-08", "unconsumed", "a capsule that nobody took gives the memory back", BIG + 16, _leave
)


@check(
    "LIFE-07",
    "producer",
    "name",
    "the capsule's name is a static string: the same for every capsule",
)
def _name(producer: Producer) -> CheckResult:
    first, second = (exported(producer) for _ in range(2))
    places = [_adversary.inspect(each.capsule)["name_address"] for each in (first, second)]
    observed = f"{places[0]:#x} and {places[1]:#x}"
    return seen(producer, places[0] == places[1], first, observed)


@check(
    "LIFE-09",
    "producer",
    "used",
    "a capsule under its used name goes without touching the tensor",
    risky=True,
)
def _used(producer: Producer) -> CheckResult:
    it = taken(producer)
    it.let_capsule_go()
    held = it.still
    it.owned.drop()
    return seen(producer, held, it.export, "the data is still there" if held else "other data")


@check(
    "LIFE-09",
    "producer",
    "foreign",
    "a capsule under a foreign name goes without a crash",
    risky=True,
)
def _foreign(producer: Producer) -> CheckResult:
    it = taken(producer, rename=False)
    _adversary.rename(it.export.capsule, "foo")
    it.let_capsule_go()
    held = it.still
    it.owned.drop()
    return seen(producer, held, it.export, "the data is still there" if held else "other data")


def _style(case: str, expected: str, **how: bool) -> None:
    @check("LIFE-11", "producer", case, expected, risky=True)
    def _(producer: Producer) -> CheckResult:
        it = taken(producer, **how)
        it.let_capsule_go()
        held = it.still
        it.owned.drop()
        return seen(producer, held, it.export, "the data is still there" if held else "other data")


_style(
    "clears",
    "a consumer that clears the destructor and renames is borne",
    rename=True,
    clear_destructor=True,
)
_style(
    "only-clears",
    "a consumer that only clears the destructor is borne",
    rename=False,
    clear_destructor=True,
)


@check(
    "LIFE-14",
    "producer",
    "pending",
    "a capsule that goes while an exception is pending leaves it as it is",
    risky=True,
)
def _pending(producer: Producer) -> CheckResult:
    kind = "strided" if "strided" in producer.subject.arrays else "plain"
    export = exported(producer, text=producer.text(kind))
    error = ValueError("pending")
    capsules = [export.capsule]
    export.capsule = None
    left = _adversary.drop_pending(capsules, error)
    return seen(producer, left is error, export, f"pending afterwards: {left!r}")


@check("LIFE-15", "producer", "error", "the deleter returns with no exception set", risky=True)
def _error(producer: Producer) -> CheckResult:
    kind = "transposed" if "transposed" in producer.subject.arrays else "plain"
    it = Taken(exported(producer, text=producer.text(kind)))
    try:
        it.owned.drop()
    except Exception as error:
        return seen(producer, False, it.export, raised(error), "owned.drop()")
    return seen(producer, True, it.export, "nothing set", "owned.drop()")


def _elsewhere(case: str, expected: str, drop: Callable[[Any], None]) -> None:
    @check("LIFE-04", "producer", case, expected, risky=True)
    def _(producer: Producer) -> CheckResult:
        it = taken(producer)
        drop(it.owned)
        return seen(producer, True, it.export, "it ran", "owned.drop_in_thread(False)")


_elsewhere(
    "thread",
    "the deleter runs in a thread that Python does not know",
    lambda owned: owned.drop_in_thread(False),
)
_elsewhere(
    "no-gil",
    "the deleter runs in Python's thread without the GIL",
    lambda owned: owned.drop_without_gil(),
)


@check(
    "LIFE-16", "producer", "gone", "the data stays when the producer's object has gone", risky=True
)
def _gone(producer: Producer) -> CheckResult:
    it = taken(producer)
    churn = [producer.make(producer.text()) for _ in range(64)]  # takes what was freed
    held = it.still
    del churn
    return seen(producer, held, it.export, "the data is still there" if held else "other data")


@check(
    "LIFE-17",
    "producer",
    "written",
    "what is written through a writable export is seen by the array",
    risky=True,
)
def _written(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    export = exported(producer, array, text)
    if export.versioned and export.flags & 1:
        raise NotApplicable("its arrays are exported read-only")
    _adversary.take(export.capsule).write(struct.pack("f", 41.5))
    again = _adversary.take(exported(producer, array, text).capsule)
    (value,) = struct.unpack("f", again.read(4))
    return seen(producer, value == 41.5, export, f"wrote 41.5, reads {value}")


@check(
    "LIFE-20",
    "producer",
    "own",
    "each export is a tensor of its own: one outlives the other",
    risky=True,
)
def _own(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    exports = [exported(producer, array, text) for _ in range(2)]
    places = [_adversary.inspect(each.capsule)["managed"] for each in exports]
    first, second = (Taken(each) for each in exports)
    first.owned.drop()
    still = second.still
    told = f"structs at {places[0]:#x} and {places[1]:#x}"
    if places[0] == places[1] and still:
        # It counts its users. Nobody may write to the struct, so nobody can tell; none says so.
        return replace(seen(producer, False, exports[0], told), level=Level.DISPUTED)
    return seen(producer, still, exports[0], told)


@check(
    "LIFE-24",
    "producer",
    "threads",
    "exports of one array in several threads are right",
    risky=True,
)
def _threads(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    export = exported(producer, array, text)

    data = Taken(export).data

    def work(_: int) -> bool:
        return all(Taken(exported(producer, array, text)).data == data for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        right = list(pool.map(work, range(4)))
    return seen(producer, all(right), export, f"right in {sum(right)} of 4 threads")
