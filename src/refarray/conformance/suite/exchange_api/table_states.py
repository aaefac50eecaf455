"""CAPI checks of the table's exports of arrays in unusual states."""

from __future__ import annotations

from refarray.conformance.cases import (
    WRONG_DATA,
    CheckResult,
    NotApplicable,
    add_harm,
    check_cases,
    subject_code,
)
from refarray.conformance.harness.producer import Producer, describe_error
from refarray.conformance.harness.statement import statement
from refarray.conformance.suite.exchange_api.table_from_py import FROM_PY
from refarray.conformance.suite.exchange_table import table_result, table_with
from refarray.conformance.suite.producer.tensors_states import (
    CANNOT_BE_DESCRIBED,
    PENDING,
    WITHOUT_MEMORY,
)
from refarray.conformance.suite.reading import Reading

REFUSED = ("unexportable", "sparse", "conjugate", *WITHOUT_MEMORY, *CANNOT_BE_DESCRIBED)
"""The kinds of arrays that __dlpack__ may refuse."""


@check_cases("CAPI-31", REFUSED, "from_py refuses what __dlpack__ refuses", risky=True)
def from_py_refuses_as_dlpack(producer: Producer, kind: str) -> CheckResult:
    text = producer.text(kind)
    api = table_with(producer, "from_py")
    refusal = producer.ask(text, max_version=(1, 3)).error
    if refusal is None:
        raise NotApplicable(f"__dlpack__ of {text} exports")
    array = producer.make(text)
    line = FROM_PY.format(text=text)
    try:
        owned = api.from_py(array)
    except AssertionError as error:
        raise NotApplicable(f"CAPI-09 judges it: {error}") from error
    except Exception as error:
        return table_result(producer, True, describe_error(error), line)
    with subject_code():
        owned.drop()
    return table_result(producer, False, f"exported; __dlpack__: {describe_error(refusal)}", line)


@check_cases(
    "CAPI-14",
    {f"pending-{kind}": kind for kind in PENDING},
    "from_py of {value} values: every element is right, or it is refused",
    same_as="TENS-01[producer-versioned-{value}]",
)
def from_py_of_pending_values(producer: Producer, kind: str) -> CheckResult:
    text, array = producer.own(kind)
    name, triple = PENDING[kind]
    api = table_with(producer, "from_py")
    line = FROM_PY.format(text=text)
    try:
        owned = api.from_py(array)
    except AssertionError as error:
        raise NotApplicable(f"CAPI-09 judges it: {error}") from error
    except Exception as error:
        return table_result(producer, True, describe_error(error), line)
    said = statement(producer.subject, producer.namespace, array, name)
    held, observed = Reading(owned.fields(), said, triple).judge_values()
    return add_harm(table_result(producer, held, observed, line), WRONG_DATA)
