"""Limits that an adapter does not declare: a class that claims no array API may refuse what others
take, and its refusals are no findings where a plain exchange fails for the same reason.

A crash, wrong data, or a deleter that is not called is a finding whatever the limits.
"""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import Check
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Producer
from refarray.conformance.requirements import Role


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
