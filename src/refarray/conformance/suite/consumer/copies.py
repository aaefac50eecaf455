"""COPY checks of a consumer: the keywords copy and device of its from_dlpack."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    describe_error,
    subject_code,
)
from refarray.conformance.dlpack import IS_COPIED
from refarray.conformance.harness.consumer import Consumer, Import
from refarray.conformance.harness.recorder import (
    PLAIN,
    Recorder,
    describe_calls,
    old,
)
from refarray.conformance.requirements import Level
from refarray.conformance.suite.signatures import has_neutral_default, read_signature


def require_keyword(found: Import, recorder: Recorder, name: str) -> None:
    """NotApplicable if from_dlpack raised TypeError without asking: it lacks the keyword."""
    if isinstance(found.error, TypeError) and not recorder.requests:
        raise NotApplicable(f"it has no {name}: {found}")


def device_of_own_array(consumer: Consumer) -> Any:
    """The device of an array of the library's own. NotApplicable if arrays have none."""
    _, own = consumer.own()
    with subject_code():
        device = getattr(own, "device", None)
    if device is None:
        raise NotApplicable("its arrays have no device")
    return device


def signature_repro(consumer: Consumer) -> str:
    """Prints the signature of from_dlpack."""
    name = consumer.subject.from_dlpack.partition("(")[0]
    return f"{consumer.subject.imports}\nimport inspect; print(inspect.signature({name}))"


@check("COPY-01", "signature", "from_dlpack(x, /, *, device=None, copy=None)")
def signature_has_device_and_copy(consumer: Consumer) -> CheckResult:
    function = consumer.function()
    if not consumer.subject.array_api:
        raise NotApplicable(f"{consumer.subject.name} does not claim the array API")
    repro = signature_repro(consumer)
    try:
        signature, _ = read_signature(function)
    except (TypeError, ValueError) as error:
        return CheckResult(False, describe_error(error), repro)
    found = signature.parameters
    held = all(name in found and has_neutral_default(found[name]) for name in ("device", "copy"))
    with subject_code():
        observed = f"({', '.join(map(str, found.values()))})"
    return CheckResult(held, observed, repro)


@check("COPY-02", "device", "without device the result is on the CPU, like the input", risky=True)
def same_device_by_default(consumer: Consumer) -> CheckResult:
    found = consumer.import_from(Recorder())
    device = tuple(found.read_fields()["device"])
    return consumer.make_result(device == (1, 0), f"on {device}", PLAIN)


@check(
    "COPY-03", "own-device", "device= of an array of its own on the CPU is served, or BufferError"
)
def own_device(consumer: Consumer) -> CheckResult:
    device = device_of_own_array(consumer)
    found = consumer.take(Recorder(), device=device)
    if isinstance(found.error, TypeError):
        raise NotApplicable(f"COPY-01 judges it: {found}")
    held = found.error is None or isinstance(found.error, BufferError)
    return consumer.make_result(held, f"{found}", PLAIN, device=device)


@check(
    "COPY-04", "forwarded", "from_dlpack(x, copy=True) and copy=False are passed on to the producer"
)
def copy_is_forwarded(consumer: Consumer) -> CheckResult:
    forwarded = []
    for value in (True, False):
        recorder = Recorder()
        found = consumer.take(recorder, copy=value)
        require_keyword(found, recorder, "copy")
        forwarded.append(any(request.get("copy") is value for request in recorder.requests))
    result = consumer.make_result(all(forwarded), describe_calls(recorder), PLAIN, copy=False)
    # The texts say only of the producer who makes the copy; COPY-05 and COPY-07 judge the copy.
    return replace(result, level=Level.DISPUTED)


@check(
    "COPY-05",
    "independent",
    "after copy=True of an array of its own neither side sees the other's writes",
    risky=True,
)
def copy_is_independent(consumer: Consumer) -> CheckResult:
    source, own = consumer.own()
    found = consumer.take(own, copy=True)
    held = found.address != Import(own).address
    observed = "memory of its own" if held else "the same memory"
    result = consumer.make_result(held, observed, source, copy=True)
    if consumer.subject.immutable:  # no write can show the difference
        return replace(result, level=Level.HAZARD)
    return result


@check("COPY-06", "shared", "copy=False shares, or is an exception", risky=True)
def copy_false_shares(consumer: Consumer) -> CheckResult:
    consumer.require_sharing()
    recorder = Recorder()
    found = consumer.import_from(recorder, copy=False)
    held = found.address == recorder.address
    return consumer.make_result(held, "shared" if held else "copied", PLAIN, copy=False)


@check("COPY-07", "ignored", "if the producer ignores copy=True, the consumer copies", risky=True)
def producer_ignores_copy(consumer: Consumer) -> CheckResult:
    recorder = Recorder()
    found = consumer.import_from(recorder, copy=True)
    held = found.address != recorder.address
    return consumer.make_result(
        held, "copied" if held else "the producer's own memory", PLAIN, copy=True
    )


@check(
    "COPY-08",
    "copied",
    "a producer that copies under copy=False, and says so, is refused",
    risky=True,
)
def producer_copies_anyway(consumer: Consumer) -> CheckResult:
    recorder = Recorder(flags=IS_COPIED)
    found = consumer.take(recorder, copy=False)
    require_keyword(found, recorder, "copy")
    if recorder.unasked:
        raise NotApplicable("it asks for the legacy struct only")
    given = "give(shape=(3,), flags=2)"
    return consumer.make_result(found.error is not None, f"{found}", given, copy=False)


OLD_PRODUCER = "stream max_version"
"""The keywords of a producer without copy."""


def copy_of_old_producer(consumer: Consumer, copy: bool) -> tuple[Import, Recorder, str]:
    """An import with copy= from a producer that does not know the keyword, and its repro."""
    recorder = old(OLD_PRODUCER)
    found = consumer.take(recorder, copy=copy)
    require_keyword(found, recorder, "copy")
    return found, recorder, f"give(shape=(3,), knows='{OLD_PRODUCER}')"


@check(
    "COPY-09",
    "old-copy-true",
    "an old producer under copy=True: the consumer copies or refuses; the request is not dropped",
    risky=True,
)
def old_producer_with_copy_true(consumer: Consumer) -> CheckResult:
    found, recorder, given = copy_of_old_producer(consumer, True)
    held = found.error is not None or found.address != recorder.address
    return consumer.make_result(held, f"{found}", given, copy=True)


@check(
    "COPY-09",
    "old-copy-false",
    "an old producer under copy=False: refused, the request is not dropped",
    risky=True,
    level="HAZARD",  # the producer may have made no copy; the consumer cannot tell
)
def old_producer_with_copy_false(consumer: Consumer) -> CheckResult:
    found, _, given = copy_of_old_producer(consumer, False)
    return consumer.make_result(found.error is not None, f"{found}", given, copy=False)


@check(
    "COPY-10",
    "other",
    "device= of its own arrays, answered with data on another device: refused, not touched",
    risky=True,
    same_as=("DEV-07[consumer-device2]",),
)
def producer_answers_with_other_device(consumer: Consumer) -> CheckResult:
    device = device_of_own_array(consumer)
    fields: dict[str, Any] = {"shape": (3,), "data": 0xDEAD0008, "device": (2, 0)}
    recorder = Recorder(**fields)
    found = consumer.take(recorder, device=device)
    require_keyword(found, recorder, "device")
    if not recorder.tensors:
        raise NotApplicable(f"it refuses before it asks: {found}; {describe_calls(recorder)}")
    given = "give(shape=(3,), data=0xDEAD0008, device=(2, 0))"
    return consumer.make_result(found.error is not None, f"{found}", given, device=device)


@check("COPY-11", "foreign", "an invalid device is an exception", risky=True)
def invalid_device(consumer: Consumer) -> CheckResult:
    found = consumer.take(Recorder(), device="no such device")
    return consumer.make_result(found.error is not None, f"{found}", PLAIN, device="no such device")


@check(
    "COPY-12",
    "further",
    "keywords of from_dlpack outside the standard have a default that means: not given",
)
def further_keywords_have_defaults(consumer: Consumer) -> CheckResult:
    try:
        signature, _ = read_signature(consumer.function())
    except (TypeError, ValueError) as error:
        raise NotApplicable(f"no signature can be read: {error}") from error
    parameters = list(signature.parameters.values())[1:]
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    further = [
        each
        for each in parameters
        if each.name not in {"device", "copy"} and each.kind not in variadic
    ]
    if not further:
        raise NotApplicable("it has none")
    held = all(has_neutral_default(each) for each in further)
    with subject_code():
        observed = ", ".join(map(str, further))
    return CheckResult(held, observed, signature_repro(consumer))


# --- from one device in host memory to another


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
