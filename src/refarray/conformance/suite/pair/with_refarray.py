"""Checks of a subject together with refarray: DTYPE-15, TENS-19, FLAG-10, LIFE-16."""

from __future__ import annotations

import refarray
from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.harness.consumer import Import
from refarray.conformance.harness.producer import raised
from refarray.conformance.matrix.exchange import Pair
from refarray.conformance.suite.producer.dtypes import STANDARD

FIELDS = ("shape", "strides", "dtype", "device")


def to_refarray(pair: Pair, text: str) -> tuple[object, refarray.Array]:
    """An array of the subject, and refarray's import of it. NotApplicable if it cannot be exported:
    the producer's checks judge that."""
    array = pair.producer.make(text)
    try:
        return array, refarray.from_dlpack(array)
    except Exception as error:
        raise NotApplicable(f"it is not exported: {raised(error)}") from error


def from_refarray(pair: Pair, given: refarray.Array) -> Import:
    """The subject's import of an array of refarray."""
    found = pair.consumer.take(given)
    if found.error is not None:
        raise NotApplicable(f"it refuses refarray's array: {found}")
    return found


def pair_result(pair: Pair, held: bool, observed: str, text: str, back: bool = True) -> CheckResult:
    """The result of a case; `back` says whether the array was sent back."""
    call = pair.consumer.subject.from_dlpack.format("y") if back else "y.tolist()"
    lines = [f"import refarray; {pair.producer.subject.imports}", f"x = {text}"]
    return CheckResult(
        held, observed, "\n".join([*lines, "y = refarray.from_dlpack(x)", f"print({call})"])
    )


@check_cases(
    "DTYPE-15",
    "pair",
    {dtype: dtype for dtype in STANDARD},
    "ones of {value} are ones of {value} in refarray",
)
def dtype_is_kept(pair: Pair, dtype: str) -> CheckResult:
    text = pair.producer.typed(dtype)
    _, given = to_refarray(pair, text)
    held = given.tolist() == [1, 1, 1] and given.dtype.name == dtype
    return pair_result(pair, held, f"{given.tolist()} of {given.dtype.name}", text, back=False)


@check(
    "TENS-19",
    "pair",
    "there-and-back",
    "an array sent to refarray comes back with its shape, strides, dtype and device",
    risky=True,
)
def round_trip(pair: Pair) -> CheckResult:
    text, _ = pair.consumer.own("transposed", "plain")
    array, given = to_refarray(pair, text)
    before, after = pair.consumer.look(array), from_refarray(pair, given).held()
    first, second = (tuple(tuple(each[name] or ()) for name in FIELDS) for each in (before, after))
    return pair_result(pair, first == second, f"{first}, came back as {second}", text)


@check(
    "FLAG-10",
    "pair",
    "read-only",
    "data that must not be written comes back from refarray read-only",
    risky=True,
)
def read_only_is_kept(pair: Pair) -> CheckResult:
    text = pair.producer.text("readonly")
    _, given = to_refarray(pair, text)
    if not given.readonly:
        raise NotApplicable("FLAG-02 judges it: it was exported as writable")
    held = from_refarray(pair, given).readonly
    return pair_result(pair, held, "READ_ONLY" if held else "exported as writable", text)


@check(
    "LIFE-16",
    "pair",
    "kept",
    "the data outlives the first objects of both sides",
    risky=True,
)
def data_outlives_first_objects(pair: Pair) -> CheckResult:
    text, _ = pair.consumer.own()
    array, given = to_refarray(pair, text)
    values = given.tolist()
    found = from_refarray(pair, given)
    del array, given
    churn = [pair.producer.make(text) for _ in range(64)]  # reuses freed memory
    now = found.values
    del churn
    return pair_result(pair, now == values, f"{values}, later {now}", text)
