"""Access to a library's C exchange table, shared by the checks in exchange_api/."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    about,
    describe_error,
    note_raised,
    subject_code,
)
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.exports import SubjectCalls

NAME = "__dlpack_c_exchange_api__"


def array_type(producer: Producer) -> tuple[str, Any]:
    """The expression of the array type, and the type."""
    text = producer.text()
    return f"type({text})", type(producer.make(text))


def attribute(producer: Producer, name: str = NAME) -> tuple[str, Any]:
    """The expression of the array type, and an attribute of it. NotApplicable if it is missing."""
    text, kind = array_type(producer)
    with subject_code():
        value = getattr(kind, name, None)
    if value is None:
        raise NotApplicable(f"{text} has no {name}")
    return text, value


def any_table(producer: Producer) -> Any:
    """The table, whatever its version. NotApplicable if there is none."""
    text, _ = attribute(producer)
    _, kind = array_type(producer)
    try:
        return SubjectCalls(_adversary.api(kind))
    except Exception as error:
        raise NotApplicable(f"{text}.{NAME} is no table: {describe_error(error)}") from error


def table(producer: Producer) -> Any:
    """The table, of major version 1. NotApplicable if there is none."""
    api = any_table(producer)
    if api.members()["version"][0] != 1:
        raise NotApplicable(f"the table is of version {api.members()['version']}")
    return api


def table_with(producer: Producer, name: str) -> Any:
    """The table, if that member is not NULL; else NotApplicable."""
    api = table(producer)
    about(table_result(producer, True, "").repro)
    if not api.members()[name]:
        raise NotApplicable(f"the table's {name} is NULL")
    return api


def attempt(function: Callable[[Any], Any], argument: Any) -> Any:
    """What a function of the table returns, or the exception that it sets. NotApplicable if it
    breaks the contract of its results."""
    try:
        return function(argument)
    except AssertionError as error:
        raise NotApplicable(f"CAPI-09 judges it: {error}") from error
    except Exception as error:
        note_raised(error)
        return error


def table_result(producer: Producer, held: bool, observed: str, line: str = "") -> CheckResult:
    """The result of a case. The repro calls the table through refarray, as C would."""
    text, _ = array_type(producer)
    return CheckResult(
        held,
        observed,
        producer.repro(
            "from refarray.conformance import _adversary",
            f"api = _adversary.api({text})",
            line or "print(api.members())",
        ),
    )


def tensor(**fields: Any) -> Any:
    """A managed tensor for to_py and the allocator."""
    return _adversary.make(**{"shape": (3,), "data": FLOATS, **fields})


def allocate(producer: Producer, prototype: Any, **keywords: Any) -> tuple[int, Any, list[Any]]:
    """The allocator's return code, the tensor or None, and the calls of SetError."""
    api = table_with(producer, "allocator")
    out: tuple[int, Any, list[Any]] = api.allocate(prototype, **keywords)
    return out


def require_allocator(producer: Producer) -> None:
    """NotApplicable if the allocator refuses an ordinary array, as a library without arrays of its
    own does."""
    code, _, errors = allocate(producer, _adversary.make(shape=(2, 3)))
    if code != 0:
        raise NotApplicable(f"it allocates nothing: {errors}")
