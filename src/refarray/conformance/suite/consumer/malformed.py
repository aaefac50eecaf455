"""Owns the checks of a consumer over the corpus: what it makes of each, and the deleter's calls."""

from __future__ import annotations

from dataclasses import replace

from refarray.conformance.cases import CheckResult, NotApplicable, check, part
from refarray.conformance.harness.consumer import Consumer, Import, give, settle, text
from refarray.conformance.harness.consumer import Given as Producer
from refarray.conformance.harness.corpus import Given
from refarray.conformance.harness.corpus_fields import GIVEN

OF_READERS = {"DTYPE-07", "DTYPE-08"}
"""What only who looks at the data has to stop at."""


def right_content(found: Import, given: Given) -> tuple[bool, str]:
    """Whether an import has the shape and the values that it must have, and what it has."""
    if given.shape is None:
        held = found.held()
        lanes = tuple(held["dtype"])[2]
        return lanes == given.fields["dtype"][2], f"dtype {tuple(held['dtype'])}"
    shape = tuple(found.held()["shape"] or ())
    if shape != given.shape:
        return False, f"shape {shape}"
    if given.values is None:
        return True, f"shape {shape}"
    values = found.values
    return values == given.values, f"values {values}"


def device_of(found: Import) -> str:
    """What an array calls its device; empty when it does not say."""
    try:
        return str(found.array.device).lower()
    except Exception:
        return ""


def judged(found: Import, given: Given) -> tuple[bool, str]:
    """Whether what came of a tensor is right."""
    if isinstance(found.error, SystemError):
        return False, f"{found}"
    if given.right == "refuse":
        if found.error is None and given.carried(device_of(found)):
            raise NotApplicable(f"it knows that device type: {found}")
        return found.error is not None, f"{found}"
    if found.error is not None:
        if given.may_refuse:
            raise NotApplicable(f"it refuses: {found}")
        return given.right == "either", f"{found}"
    held, content = right_content(found, given)
    return held, f"imported with {content}"


def deleter_of(
    consumer: Consumer, producer: Producer, what: str, given: Given
) -> CheckResult | None:
    """Whether the deleter of what was taken, and is gone, has run once; None when nothing was taken
    or the consumer asked more than once."""
    if len(producer.tensors) != 1 or given.fields.get("deleter", True) is None:
        return None
    settle(lambda: producer.deleter_calls == 1)
    calls = producer.deleter_calls
    return consumer.seen(calls == 1, f"{calls} calls; {what}", text(given.fields))


def _enter(given: Given) -> None:
    @check(given.id, "consumer", given.case, given.expected, risky=True)
    def content(consumer: Consumer) -> CheckResult:
        if consumer.subject.carrier and (given.foreign or given.id in OF_READERS):
            raise NotApplicable(f"{consumer.subject.name} carries every dtype and device")
        if given.fields.get("versioned") is False and not consumer.takes_legacy:
            raise NotApplicable("it takes no legacy capsules")
        producer = give(**given.fields)
        found = consumer.take(producer)
        if producer.unasked:
            raise NotApplicable("it asks for the legacy struct only")
        what = f"{found}"
        try:
            held, observed = judged(found, given)
        except NotApplicable as reason:
            held, observed = None, str(reason)
        found.array = found.error = None
        second = deleter_of(consumer, producer, what, given)
        return replace(consumer.seen(held, observed, text(given.fields)), second=second)

    if given.fields.get("deleter", True) is not None:
        part(
            content,
            "LIFE-03",
            f"{given.id}-{given.case}".lower(),
            f"{given.expected.partition(':')[0]}: the deleter is called exactly once",
        )


for _given in GIVEN:
    _enter(_given)
