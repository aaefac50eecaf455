"""Owns the checks of a consumer that meets a foreign exchange table: used rightly or left alone."""

from __future__ import annotations

from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import Seen, check
from refarray.conformance.consumer import Consumer
from refarray.conformance.recorder import FIELDS, Recorder


class Foreign(Recorder):
    """A producer whose table gives what `tensor` is; __dlpack__ works as ever."""

    @property
    def tensor(self) -> Any:
        """One more tensor."""
        self.tensors.append(_adversary.make(**FIELDS))
        return self.tensors[-1]


def foreign(value: Any) -> Recorder:
    """A producer of a type of its own with `value` as its table."""
    kind: type[Foreign] = type("WithTable", (Foreign,), {"__dlpack_c_exchange_api__": value})
    return kind()


def _falls_back(name: str, case: str, expected: str, **table: Any) -> None:
    @check(name, "consumer", case, expected, risky=True)
    def _(consumer: Consumer) -> Seen:
        value = table["value"] if "value" in table else _adversary.table(**table).capsule()
        found = consumer.take(foreign(value))
        held = found.error is None and found.values == [0.0, 1.0, 2.0]
        observed = f"{found}" if found.error is not None else f"values {found.values}"
        return consumer.seen(held, observed, "a producer with such a table")


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
_falls_back("CAPI-02", "int", f"a table that is an int, as in 1.2, {ALONE}", value=4096)
_falls_back("CAPI-28", "works", "with a table or without, the same comes out")
