"""CAPI checks of a consumer that meets the exchange table of a foreign array type."""

from __future__ import annotations

from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, check, check_cases
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.recorder import Recorder


class Foreign(Recorder):
    """A producer whose type has an exchange table; the table exports `tensor`. `__dlpack__` works
    as well."""

    @property
    def tensor(self) -> Any:
        self.tensors.append(_adversary.make(**self.fields))
        return self.tensors[-1]


def foreign(case: str, value: Any, line: str, **fields: Any) -> Recorder:
    """A producer of a new type named after the case, with `value` as its table; `line` is the
    expression of the value in a repro, `fields` are the tensor's."""
    kind: type[Foreign] = type(f"Table_{case}", (Foreign,), {"__dlpack_c_exchange_api__": value})
    made = kind(**fields)
    made.text = f"with_table({line})"
    return made


def with_table(value: Any) -> Recorder:
    """A producer whose type has that exchange table. Repros call it."""
    return foreign("given", value, "")


def right_values(consumer: Consumer, given: Recorder) -> CheckResult:
    """Whether the consumer imports the right values, by the table or by `__dlpack__`."""
    found = consumer.take(given)
    if found.error is not None:
        return consumer.make_result(False, f"{found}", given.text)
    values = found.values
    return consumer.make_result(values == [0.0, 1.0, 2.0], f"values {values}", given.text)


# case: (requirement, members of the table, expected)
TABLES: dict[str, tuple[str, dict[str, Any], str]] = {
    "major2": (
        "CAPI-05",
        {"version": (2, 0), "unmapped": True},
        "a table of major version 2 is not used; __dlpack__ is",
    ),
    "cycle": (
        "CAPI-06",
        {"version": (2, 0), "prev": "self"},
        "a cyclic prev_api chain does not hang",
    ),
    "works": ("CAPI-28", {}, "the import is the same with a table and without"),
    "borrows": ("CAPI-08", {"missing": "dltensor"}, "a table without dltensor_from_py works"),
    "attached": ("CAPI-30", {}, "from_py is called with an attached thread state"),
}


def import_with_table(consumer: Consumer, row: tuple[str, dict[str, Any]]) -> CheckResult:
    case, members = row
    kept = _adversary.table(**members)
    keywords = ", ".join(f"{key}={each!r}" for key, each in members.items())
    given = foreign(case, kept.capsule(), f"_adversary.table({keywords}).capsule()")
    return right_values(consumer, given)


for _case, (_id, _members, _expected) in TABLES.items():
    check_cases(_id, {_case: (_case, _members)}, _expected, risky=True)(import_with_table)


@check(
    "CAPI-02",
    "int",
    "a table given as an int, as in 1.2, is ignored or used; the values are right",
    risky=True,
)
def table_is_an_int(consumer: Consumer) -> CheckResult:
    kept = _adversary.table()  # a consumer of 1.2 follows the address
    return right_values(consumer, foreign("int", kept.address, "_adversary.table().address"))
