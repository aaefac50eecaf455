"""Owns the checks of a consumer that meets a foreign exchange table: used rightly or left alone."""

from __future__ import annotations

from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, check
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.recorder import FIELDS, Recorder


class Foreign(Recorder):
    """A producer whose table gives what `tensor` is; __dlpack__ works as ever."""

    @property
    def tensor(self) -> Any:
        """One more tensor."""
        self.tensors.append(_adversary.make(**FIELDS))
        return self.tensors[-1]


def foreign(case: str, value: Any, line: str) -> Recorder:
    """A producer of a type of its own, called after the case, with `value` as its table; `line`
    makes the value in a repro."""
    kind: type[Foreign] = type(f"Table_{case}", (Foreign,), {"__dlpack_c_exchange_api__": value})
    made = kind()
    made.text = f"with_table({line})"
    return made


def with_table(value: Any) -> Recorder:
    """A producer whose type has that exchange table."""
    return foreign("given", value, "")


def _falls_back(name: str, case: str, expected: str, **table: Any) -> None:
    @check(name, "consumer", case, expected, risky=True)
    def _(consumer: Consumer) -> CheckResult:
        kept = _adversary.table(**table)
        keywords = ", ".join(f"{key}={each!r}" for key, each in table.items())
        given = foreign(case, kept.capsule(), f"_adversary.table({keywords}).capsule()")
        found = consumer.take(given)
        held = found.error is None and found.values == [0.0, 1.0, 2.0]
        observed = f"{found}" if found.error is not None else f"values {found.values}"
        return consumer.seen(held, observed, given.text)


ALONE = "is left alone; __dlpack__ is used"
_falls_back(
    "CAPI-05", "major2", f"a table of major version 2 {ALONE}", version=(2, 0), unmapped=True
)
_falls_back(
    "CAPI-06",
    "cycle",
    "a prev_api chain that bites its tail does not hang",
    version=(2, 0),
    prev="self",
)
_falls_back("CAPI-28", "works", "with a table or without, the same comes out")
_falls_back("CAPI-08", "borrows", "a table without dltensor_from_py works", missing="dltensor")
_falls_back("CAPI-30", "attached", "from_py is called with an attached thread state")


@check(
    "CAPI-02",
    "consumer",
    "int",
    "a table that is an int, as in 1.2, is left alone or used; the right values come",
    risky=True,
)
def _number(consumer: Consumer) -> CheckResult:
    kept = _adversary.table()  # a consumer of 1.2 follows it, so it has to be one
    given = foreign("int", kept.address, "_adversary.table().address")
    found = consumer.take(given)
    held = found.error is None and found.values == [0.0, 1.0, 2.0]
    observed = f"{found}" if found.error is not None else f"values {found.values}"
    return consumer.seen(held, observed, given.text)
