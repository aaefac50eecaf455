"""CAPI checks of the exchange table itself: the attribute, the version and the members."""

from __future__ import annotations

import gc

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, check, subject_code
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.exchange_table import (
    NAME,
    any_table,
    array_type,
    attribute,
    table,
    table_result,
)
from refarray.conformance.suite.exports import SubjectCalls

REQUIRED = ("allocator", "from_py", "to_py", "stream")
OLD_NAME = "__c_dlpack_exchange_api__"
"""The attribute's name in DLPack 1.2."""


@check("CAPI-01", "there", f"the array's type has {NAME}")
def type_has_table(producer: Producer) -> CheckResult:
    text, kind = array_type(producer)
    with subject_code():
        held = getattr(kind, NAME, None) is not None
    repro = producer.repro(f"print(hasattr({text}, {NAME!r}))")
    return CheckResult(held, "there" if held else "not there", repro)


@check("CAPI-02", "name", "the attribute is a capsule named dlpack_exchange_api")
def attribute_is_a_capsule(producer: Producer) -> CheckResult:
    text, value = attribute(producer)
    with subject_code():
        shown = repr(value)
    repro = producer.repro(f"print({text}.{NAME})")
    return CheckResult('"dlpack_exchange_api"' in shown, shown, repro)


@check("CAPI-03", "type", "the table is found on the type, always the same")
def table_is_always_the_same(producer: Producer) -> CheckResult:
    _, kind = array_type(producer)
    first = table(producer).members()["address"]
    second = SubjectCalls(_adversary.api(kind)).members()["address"]
    return table_result(producer, first == second, f"{first:#x} and {second:#x}")


@check("CAPI-04", "static", "the table outlives every capsule of it", risky=True)
def table_is_static(producer: Producer) -> CheckResult:
    api = table(producer)
    gc.collect()
    before = api.members()
    churn = [producer.make(producer.text()) for _ in range(64)]
    after = api.members()
    del churn
    return table_result(producer, before == after, f"version {after['version']}")


@check("CAPI-05", "version", "header.version is of a major version that exists: 1")
def version_exists(producer: Producer) -> CheckResult:
    version = any_table(producer).members()["version"]
    held = version[0] == 1 and version[1] < 1000
    return table_result(producer, held, f"version {version}")


@check("CAPI-07", "members", "allocator, from_py, to_py and current_work_stream are not NULL")
def required_members(producer: Producer) -> CheckResult:
    members = table(producer).members()
    missing = [name for name in REQUIRED if not members[name]]
    return table_result(producer, not missing, f"NULL: {', '.join(missing) or 'none'}")


@check(
    "CAPI-29",
    "older",
    "the name of 1.2, if present as well, holds the table's address as an int, or a capsule",
)
def attribute_of_dlpack_1_2(producer: Producer) -> CheckResult:
    text, value = attribute(producer, OLD_NAME)
    with subject_code():
        held = type(value).__name__ in {"int", "PyCapsule"} and bool(value)
        shown = repr(value)
    return CheckResult(held, shown, producer.repro(f"print({text}.{OLD_NAME})"))
