"""What a worker tells of its subject before the first case, and the limits that it finds later."""

from __future__ import annotations

import contextlib
from typing import Any

from refarray.conformance.cases import Check, NotApplicable, describe_error
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Producer
from refarray.conformance.requirements import Role


def find_lacking(producer: Producer, consumer: Consumer) -> str:
    """Why no check applies to a subject; empty if some do."""
    reasons = []
    try:
        array = producer.make(producer.text())
        if any(hasattr(type(array), name) for name in ("__dlpack__", "__dlpack_device__")):
            return ""
        reasons.append(f"a {type(array).__name__} has no __dlpack__")
    except NotApplicable as reason:
        reasons.append(str(reason))
    try:
        consumer.function()
    except NotApplicable as reason:
        return f"it has no DLPack: {'; '.join([*reasons, str(reason)])}"
    return ""


def find_absence(producer: Producer) -> str:
    """Why no case applies on this machine; empty if the device of the subject's arrays is here."""
    subject = producer.subject
    try:
        if not subject.there or eval(subject.there, producer.namespace):
            return ""
        return f"{subject.name} has no device here: {subject.there} is false"
    except Exception as error:
        why = f"{subject.there} raised {describe_error(error)}"
        return f"{subject.name} has no device here: {why}"


def without_devices(producer: Producer, where: str) -> str:
    """Why no device check applies to a subject; empty if they may. Loads no driver: drivers do not
    survive a fork, and this process forks."""
    found = producer.subject
    if not found.devices:
        return f"{found.name} has no arrays on devices that the kit knows of"
    simulated = any(on.simulated for on in found.devices.values())
    if where.startswith("simulated"):
        return "" if simulated else f"{found.name} does not run on simulated drivers"
    try:
        if any(eval(on.there, producer.namespace) for on in found.devices.values()):
            return ""
        return f"{found.name} finds no device here"
    except Exception as error:
        return f"{found.name} finds no device here: {type(error).__name__}: {error}"


def values_of(producer: Producer) -> str:
    """The expression by which a script reads an array, as harness.statement does."""
    if producer.subject.values or producer.subject.alone:
        return producer.subject.values or "{}.tolist()"
    with contextlib.suppress(Exception):
        if not hasattr(producer.make(producer.text()), "tolist"):
            return "[float(each) for each in {}]"
    return "{}.tolist()"


# --- Limits that an adapter does not declare: a class that claims no array API may refuse what
# others take, and its refusals are no findings where a plain exchange fails for the same reason. A
# crash, wrong data, or a deleter that is not called is a finding whatever the limits.


def find_limit(
    check: Check, message: dict[str, Any], producer: Producer, consumer: Consumer
) -> str:
    """Why a broken requirement is a limit of the class; empty if it is a finding."""
    if message.get("held") is not False or message.get("harm") or producer.subject.array_api:
        return ""
    if check.role is Role.CONSUMER and not check.id.startswith("LIFE-"):
        why = consumer.refuses_plain
        return f"it refuses three plain float32 numbers, too: {why}" if why else ""
    if check.role is Role.PRODUCER and "TypeError" in str(message.get("observed")):
        why = producer.lacks_keywords
        return (
            f"it has the __dlpack__ of before 2023, and claims no array API: {why}" if why else ""
        )
    return ""


def with_limits(
    check: Check, message: dict[str, Any], producer: Producer, consumer: Consumer
) -> dict[str, Any]:
    """The message of a check, or of one of its parts, with `held` None if it is a limit."""
    why = find_limit(check, message, producer, consumer)
    return {**message, "held": None, "observed": why} if why else message
