"""VERS checks of a consumer: its max_version, and structs of other versions."""

from __future__ import annotations

from typing import Any

from refarray.conformance import _adversary, judgements
from refarray.conformance.cases import (
    WRONG_DATA,
    CheckResult,
    NotApplicable,
    add_harm,
    check,
    check_cases,
)
from refarray.conformance.harness.consumer import Consumer, Given
from refarray.conformance.harness.recorder import (
    FIELDS,
    PLAIN,
    Recorder,
    describe_calls,
    old,
)
from refarray.conformance.suite.corpus_checks import register_corpus

register_corpus("VERS")
VALUES = [0.0, 1.0, 2.0]
"""The elements of the plain tensor."""


@check(
    "VERS-08",
    "ignored",
    "a legacy capsule from a producer that ignores max_version is recognised as legacy",
    risky=True,
)
def legacy_capsule_is_recognised(consumer: Consumer) -> CheckResult:
    found = consumer.import_from(Recorder(versioned=False))
    values = found.values
    given = "give(shape=(3,), versioned=False)"
    result = consumer.make_result(values == VALUES, f"values {values}", given)
    return add_harm(result, WRONG_DATA)


class Forced(Given):
    """Exports a versioned capsule whatever the consumer asks for."""

    def __dlpack__(self, **_: Any) -> Any:
        self.tensors.append(_adversary.make(**self.fields))
        return self.tensors[-1].capsule()


@check(
    "VERS-08",
    "unasked",
    "a versioned capsule that was not asked for is recognised as versioned, or refused",
    risky=True,
)
def versioned_capsule_is_recognised(consumer: Consumer) -> CheckResult:
    found = consumer.take(Forced(FIELDS))
    if found.error is not None:
        return consumer.make_result(found.refused, f"{found}", PLAIN)
    values = found.values
    return add_harm(consumer.make_result(values == VALUES, f"values {values}", PLAIN), WRONG_DATA)


@check("VERS-09", "first", "the first call passes the consumer's own max_version, 1.0 or newer")
def first_call_passes_max_version(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    consumer.take(recorder)
    if not recorder.requests:
        raise NotApplicable("it never called __dlpack__")
    version = recorder.requests[0].get("max_version")
    return consumer.make_result(
        judgements.asks_for_versioned(version), describe_calls(recorder), PLAIN
    )


OLD = {"old-stream": "stream", "old-max-version": "stream max_version"}
"""The keywords of producers older than 2023.12."""


@check_cases(
    "VERS-09",
    OLD,
    "a producer whose __dlpack__ knows only ({value}) is asked again without the rest",
)
def old_producer_is_asked_again(consumer: Consumer, known: str) -> CheckResult:
    recorder = old(known)
    found = consumer.take(recorder)
    given = f"give(shape=(3,), knows={known!r})"
    return consumer.make_result(found.error is None, f"{found}; {describe_calls(recorder)}", given)
