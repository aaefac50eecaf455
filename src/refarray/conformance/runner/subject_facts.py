"""What a worker tells of its subject before the first case."""

from __future__ import annotations

import contextlib

from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Producer


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
    with contextlib.suppress(Exception):
        if not hasattr(producer.make(producer.text()), "tolist"):
            return "[float(each) for each in {}]"
    return "{}.tolist()"
