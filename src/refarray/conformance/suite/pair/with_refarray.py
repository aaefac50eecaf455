"""Checks of a subject together with refarray: DTYPE-15, TENS-19, FLAG-10, LIFE-16."""

from __future__ import annotations

from functools import cache
from typing import Any

from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    check_cases,
    describe_error,
)
from refarray.conformance.harness.consumer import Consumer, Import
from refarray.conformance.harness.exchange import Pair
from refarray.conformance.harness.statement import read_values
from refarray.conformance.subjects.libraries import REFARRAY
from refarray.conformance.suite.producer.dtypes import STANDARD

FIELDS = ("shape", "strides", "dtype", "device")


@cache
def partner() -> Consumer:
    """refarray, by its adapter: the other side of every pair."""
    namespace: dict[str, Any] = {}
    exec(REFARRAY.imports, namespace)
    return Consumer(REFARRAY, namespace)


def to_refarray(pair: Pair, text: str) -> tuple[object, Import]:
    """An array of the subject, and refarray's import of it. NotApplicable if it cannot be exported:
    the producer's checks judge that."""
    array = pair.producer.make(text)
    found = partner().take(array)
    if found.error is not None:
        raise NotApplicable(f"it is not exported: {describe_error(found.error)}")
    return array, found


def read_by_refarray(given: Import) -> Any:
    """The values of an array of refarray, as refarray reads them."""
    return read_values(REFARRAY, partner().namespace, given.array, "")


def from_refarray(pair: Pair, given: Import) -> Import:
    """The subject's import of an array of refarray."""
    found = pair.consumer.take(given.array)
    if found.error is not None:
        raise NotApplicable(f"it refuses refarray's array: {found}")
    return found


def pair_result(pair: Pair, held: bool, observed: str, text: str, back: bool = True) -> CheckResult:
    """The result of a case; `back` says whether the array was sent back."""
    call = pair.consumer.subject.from_dlpack.format("y") if back else "y.tolist()"
    lines = [
        *dict.fromkeys([REFARRAY.imports, pair.producer.subject.imports]),
        f"x = {text}",
        f"y = {REFARRAY.from_dlpack.format('x')}",
        f"print({call})",
    ]
    return CheckResult(held, observed, "\n".join(lines))


@check_cases("DTYPE-15", STANDARD, "ones of {value} are ones of {value} in refarray")
def dtype_is_kept(pair: Pair, dtype: str) -> CheckResult:
    text = pair.producer.express_ones(dtype)
    _, given = to_refarray(pair, text)
    values, name = read_by_refarray(given), str(given.array.dtype)
    held = values == [1, 1, 1] and name == dtype
    return pair_result(pair, held, f"{values} of {name}", text, back=False)


@check(
    "TENS-19",
    "there-and-back",
    "an array sent to refarray comes back with its shape, strides, dtype and device",
    risky=True,
)
def round_trip(pair: Pair) -> CheckResult:
    text, _ = pair.consumer.own("transposed", "plain")
    array, given = to_refarray(pair, text)
    before, after = pair.consumer.look(array), from_refarray(pair, given).read_fields()
    first, second = (tuple(tuple(each[name] or ()) for name in FIELDS) for each in (before, after))
    return pair_result(pair, first == second, f"{first}, came back as {second}", text)


@check(
    "FLAG-10",
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


@check("LIFE-16", "kept", "the data outlives the first objects of both sides", risky=True)
def data_outlives_first_objects(pair: Pair) -> CheckResult:
    text, _ = pair.consumer.own()
    array, given = to_refarray(pair, text)
    values = read_by_refarray(given)
    found = from_refarray(pair, given)
    del array, given
    churn = [pair.producer.make(text) for _ in range(64)]  # reuses freed memory
    now = found.values
    del churn
    return pair_result(pair, now == values, f"{values}, later {now}", text)
