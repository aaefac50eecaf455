"""Owns the checks of a subject together with refarray, which does to its arrays what it should."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import refarray
from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.consumer import Consumer, Import
from refarray.conformance.harness.producer import raised
from refarray.conformance.harness.recorder import PLAIN, Recorder
from refarray.conformance.matrix.exchange import Pair
from refarray.conformance.suite.producer.dtypes import STANDARD

FIELDS = ("shape", "strides", "dtype", "device")


def there(pair: Pair, text: str) -> tuple[object, refarray.Array]:
    """An array of the subject's, and what refarray makes of it. NotApplicable when it cannot be
    exported: the checks of producers judge that."""
    array = pair.producer.make(text)
    try:
        return array, refarray.from_dlpack(array)
    except Exception as error:
        raise NotApplicable(f"it is not exported: {raised(error)}") from error


def and_back(pair: Pair, given: refarray.Array) -> Import:
    """What the subject makes of an array of refarray's."""
    found = pair.consumer.take(given)
    if found.error is not None:
        raise NotApplicable(f"it refuses refarray's array: {found}")
    return found


def seen(pair: Pair, held: bool, observed: str, text: str, back: bool = True) -> CheckResult:
    """What a case showed."""
    call = pair.consumer.subject.from_dlpack.format("y") if back else "y.tolist()"
    lines = [f"import refarray; {pair.producer.subject.imports}", f"x = {text}"]
    return CheckResult(
        held, observed, "\n".join([*lines, "y = refarray.from_dlpack(x)", f"print({call})"])
    )


def _values(dtype: str) -> None:
    @check("DTYPE-15", "pair", dtype, f"ones of {dtype} are ones of {dtype} in refarray")
    def _(pair: Pair) -> CheckResult:
        text = pair.producer.typed(dtype)
        _, given = there(pair, text)
        held = given.tolist() == [1, 1, 1] and given.dtype.name == dtype
        return seen(pair, held, f"{given.tolist()} of {given.dtype.name}", text, back=False)


for _dtype in STANDARD:
    _values(_dtype)


@check(
    "TENS-19",
    "pair",
    "there-and-back",
    "an array that went to refarray comes back with its shape, strides, dtype and device",
    risky=True,
)
def _there_and_back(pair: Pair) -> CheckResult:
    text, _ = pair.consumer.own("transposed", "plain")
    array, given = there(pair, text)
    before, after = pair.consumer.look(array), and_back(pair, given).held()
    told = [tuple(tuple(each[name] or ()) for name in FIELDS) for each in (before, after)]
    return seen(pair, told[0] == told[1], f"{told[0]}, came back as {told[1]}", text)


@check(
    "FLAG-10",
    "pair",
    "read-only",
    "data that must not be written comes back from refarray as such",
    risky=True,
)
def _read_only(pair: Pair) -> CheckResult:
    text = pair.producer.text("readonly")
    _, given = there(pair, text)
    if not given.readonly:
        raise NotApplicable("FLAG-02 judges it: it was exported as writable")
    held = and_back(pair, given).readonly
    return seen(pair, held, "READ_ONLY" if held else "exported as writable", text)


@check(
    "LIFE-16",
    "pair",
    "kept",
    "the data is there when both sides' first objects have gone",
    risky=True,
)
def _kept(pair: Pair) -> CheckResult:
    text, _ = pair.consumer.own()
    array, given = there(pair, text)
    values = given.tolist()
    found = and_back(pair, given)
    del array, given
    churn = [pair.producer.make(text) for _ in range(64)]  # takes what was freed
    now = found.values
    del churn
    return seen(pair, now == values, f"{values}, later {now}", text)


@check(
    "LIFE-24",
    "consumer",
    "threads",
    "imports in several threads are right",
    risky=True,
)
def _threads(consumer: Consumer) -> CheckResult:
    def work(_: int) -> str:
        for _ in range(20):
            recorder = Recorder()
            found = consumer.take(recorder)
            if found.error is not None:
                return f"{found}"
            if found.values != [0.0, 1.0, 2.0]:
                return f"values {found.values}"
            found.array = None
        return ""

    probe = consumer.take(Recorder())
    if probe.error is not None:
        raise NotApplicable(f"it refuses: {probe}")
    probe.held()
    with ThreadPoolExecutor(4) as pool:
        wrong = [told for told in pool.map(work, range(4)) if told]
    return consumer.seen(not wrong, "; ".join(wrong) or "right in 4 threads", PLAIN)
