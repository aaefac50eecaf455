"""CAPI checks of the table's import: managed_tensor_to_py_object_no_sync."""

from __future__ import annotations

from functools import partial

from refarray.conformance import _adversary
from refarray.conformance.cases import (
    DOUBLE_FREE,
    Check,
    CheckResult,
    NotApplicable,
    about,
    add,
    add_harm,
    check,
    describe_error,
)
from refarray.conformance.harness.consumer import text
from refarray.conformance.harness.corpus import GIVEN, Given
from refarray.conformance.harness.producer import Producer
from refarray.conformance.harness.provocation import provoked
from refarray.conformance.requirements import Level, Role
from refarray.conformance.suite.exchange_table import (
    array_type,
    attempt,
    table_result,
    table_with,
    tensor,
)


@check(
    "CAPI-10",
    "many-axes",
    "to_py of 64 axes, which few libraries support: an array or an exception, no crash",
    risky=True,
    level="HAZARD",  # the sentence on exceptions stands at the other functions, not at to_py
)
def many_axes(producer: Producer) -> CheckResult:
    api = table_with(producer, "to_py")
    line = "print(api.to_py(_adversary.make(shape=(1,) * 64)))"
    about(table_result(producer, True, "", line).repro)
    given = tensor(shape=(1,) * 64)
    made = attempt(api.to_py, given)
    if isinstance(made, Exception):
        return table_result(producer, not isinstance(made, SystemError), describe_error(made), line)
    return table_result(producer, True, f"a {type(made).__name__}", line)


@check(
    "CAPI-17",
    "to-py",
    "to_py takes ownership: an array of the type, whose destruction calls the deleter once",
    risky=True,
)
def to_py_takes_ownership(producer: Producer) -> CheckResult:
    api = table_with(producer, "to_py")
    _, kind = array_type(producer)
    given = tensor()
    line = "print(api.to_py(_adversary.make(shape=(3,))))"
    made = api.to_py(given)
    right = isinstance(made, kind)
    during = given.deleter_calls
    del made
    calls = f"{during} deleter calls while it lives, {given.deleter_calls} after"
    observed = f"{'' if right else 'not '}of the type; {calls}"
    held = right and during == 0 and given.deleter_calls == 1
    result = table_result(producer, held, observed, line)
    return add_harm(result, DOUBLE_FREE) if given.deleter_calls > 1 else result


@check(
    "CAPI-18", "failure", "after a failure of to_py the caller still owns the tensor", risky=True
)
def caller_keeps_tensor_after_failure(producer: Producer) -> CheckResult:
    api = table_with(producer, "to_py")
    given = tensor(dtype=(99, 32, 1))
    line = "api.to_py(_adversary.make(dtype=(99, 32, 1)))"
    try:
        api.to_py(given)
    except Exception as error:
        calls = given.deleter_calls
        return table_result(
            producer, calls == 0, f"{describe_error(error)}; {calls} deleter calls", line
        )
    raise NotApplicable("it imports any dtype")


REFUSED = {
    f"{given.id}-{given.case}".lower(): given
    for given in GIVEN
    if given.right == "refuse"
    and given.id
    in {"TENS-05", "TENS-08", "TENS-09", "TENS-10", "VERS-02", "DTYPE-12", "DTYPE-07", "DTYPE-08"}
    and given.fields.get("versioned", True)
}
"""The malformed tensors of the corpus."""
BINDING = {"VERS-02", "DTYPE-07", "DTYPE-08"}
"""Requirements whose sentences in the header say what every consumer must do, so to_py as well."""


def to_py_validates(given: Given, producer: Producer) -> CheckResult:
    """Whether to_py refuses a malformed tensor."""
    if producer.subject.carrier and given.for_readers:
        raise NotApplicable(f"{producer.subject.name} carries every dtype and device")
    fields = given.fields
    api = table_with(producer, "to_py")
    sent = _adversary.make(**fields)
    line = f"print(api.to_py({text(fields).replace('give', '_adversary.make')}))"
    about(table_result(producer, True, "", line).repro)
    try:
        made = api.to_py(sent)
    except Exception as error:
        calls = sent.deleter_calls
        if calls == 0:
            sent.delete()  # after a failure the kit still owns the tensor
        seen = f"{describe_error(error)}; {calls} deleter calls"
        return add_harm(table_result(producer, calls <= 1, seen, line), DOUBLE_FREE)
    return table_result(producer, False, f"imported as {type(made).__name__}", line)


for _case, _given in REFUSED.items():
    add(
        Check(
            "CAPI-19",
            _case,
            Role.EXCHANGE_API,
            f"to_py, {_given.expected}",
            partial(to_py_validates, _given),
            risky=True,
            level=Level.MUST if _given.id in BINDING else None,
            provoked=provoked(_given.fields),
            same_as=(f"{_given.id}[consumer-{_given.case}]",),
        )
    )
