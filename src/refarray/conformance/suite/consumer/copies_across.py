"""COPY checks of a consumer that has several devices in host memory: from one to the other."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check, subject_code
from refarray.conformance.harness.consumer import Consumer, Import
from refarray.conformance.harness.producer import describe_error


def on_second_device(consumer: Consumer) -> tuple[str, Any, Any, Any]:
    """(expression, array, its device, the device of new arrays). NotApplicable if the subject has
    no second device."""
    text, array = consumer.own("second-device")
    _, plain = consumer.own()
    with subject_code():
        devices = getattr(array, "device", None), getattr(plain, "device", None)
    if None in devices or devices[0] == devices[1]:
        raise NotApplicable("its arrays have no device, or there is only one")
    return text, array, *devices


@check("COPY-02", "second-device", "without device= an array of its own stays on its device")
def device_is_kept(consumer: Consumer) -> CheckResult:
    text, array, device, _ = on_second_device(consumer)
    found = consumer.import_from(array)
    with subject_code():
        there = found.array.device
    call = consumer.subject.from_dlpack.format("x")
    lines = [consumer.subject.imports, f"x = {text}", f"print({call}.device == x.device)"]
    return CheckResult(
        there == device, f"from {device!r} to {there!r}", "\n".join(lines), wrong="not saw"
    )


@check("COPY-06", "across", "copy=False to another device shares the memory, or is an exception")
def copy_false_across(consumer: Consumer) -> CheckResult:
    text, array, _, other = on_second_device(consumer)
    found = consumer.take(array, device=other, copy=False)
    call = consumer.subject.from_dlpack.format(f"x, device={consumer.own()[0]}.device, copy=False")
    lines = [consumer.subject.imports, f"x = {text}", f"print({call})"]
    if found.error is not None:
        return CheckResult(found.refused, f"{found}", "\n".join(lines))
    held = found.address == Import(array).address
    return CheckResult(held, "shared" if held else "copied", "\n".join(lines))


@check("COPY-05", "across", "copy=True to another device gives memory of its own", risky=True)
def copy_true_across(consumer: Consumer) -> CheckResult:
    text, array, _, other = on_second_device(consumer)
    if not consumer.copies_own:
        raise NotApplicable('no copy of a plain array is one: the case "independent" judges it')
    found = consumer.take(array, device=other, copy=True)
    call = consumer.subject.from_dlpack.format(f"x, device={consumer.own()[0]}.device, copy=True")
    lines = [consumer.subject.imports, f"x = {text}", f"print({call})"]
    if found.error is not None:
        raise NotApplicable(f"it refuses: {describe_error(found.error)}")
    held = found.address != Import(array).address
    observed = "memory of its own" if held else "the same memory"
    return CheckResult(held, observed, "\n".join(lines))
