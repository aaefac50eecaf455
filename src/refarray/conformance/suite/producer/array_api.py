"""AAPI checks of a producer: the array API's methods, signature and to_device."""

from __future__ import annotations

from itertools import product
from typing import Any

from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    check_cases,
    describe_error,
    subject_code,
)
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import ABSENT, VERSIONED, Export, Producer
from refarray.conformance.requirements import Level
from refarray.conformance.suite.on_devices import (
    check_on_devices,
    export_for,
    handle_of,
    is_copied_on,
)
from refarray.conformance.suite.producer.protocol import list_missing
from refarray.conformance.suite.signatures import KEYWORDS, has_neutral_default, read_signature


def require_array_api(producer: Producer) -> None:
    """NotApplicable for a library that does not claim the array API."""
    if not producer.subject.array_api:
        raise NotApplicable(f"{producer.subject.name} does not claim the array API")


@check("AAPI-01", "names", "from_dlpack is in the namespace, both methods are on the array")
def namespace_has_from_dlpack(producer: Producer) -> CheckResult:
    missing = list_missing(producer.make(producer.text()))
    if missing:
        raise NotApplicable(f"missing: {', '.join(missing)}")
    call = producer.subject.from_dlpack
    if call:
        try:
            eval(call.partition("(")[0], producer.namespace)
        except Exception as error:
            missing.append(describe_error(error))
    return CheckResult(
        not missing,
        f"missing: {', '.join(missing) or 'none'}",
        producer.repro(f"print(dir({producer.text()}))"),
    )


@check(
    "AAPI-02",
    "signature",
    "inspect.signature reads stream, max_version, dl_device, copy, each None by default",
)
def signature_has_keywords(producer: Producer) -> CheckResult:
    require_array_api(producer)
    text, array = producer.own()
    repro = producer.repro(f"import inspect; print(inspect.signature(type({text}).__dlpack__))")
    with subject_code():
        method = type(array).__dlpack__
    try:
        signature, observed = read_signature(method)
    except (TypeError, ValueError) as error:
        return CheckResult(False, describe_error(error), repro)
    found = [signature.parameters.get(name) for name in KEYWORDS]
    if not all(parameter is not None for parameter in found):
        return CheckResult(False, observed, repro)
    held = all(has_neutral_default(parameter) for parameter in found if parameter)
    # Another default is a choice that PyTorch made and the standard's authors discuss.
    return CheckResult(held, observed, repro, level=Level.DISPUTED)


def combinations() -> dict[str, tuple[Any, Any, Any]]:
    """(copy, max_version, dl_device) as the array API's test suite passes them."""
    versions: tuple[Any, ...] = (ABSENT, (0, 0), (1, 0), (2, 0))
    out = {}
    for copy, version, device in product((None, True, False), versions, (ABSENT, (1, 0))):
        major = "none" if version is ABSENT else version[0]
        place = "any" if device is ABSENT else "cpu"
        out[f"copy-{copy}-version-{major}-{place}".lower()] = (copy, version, device)
    return out


@check_cases(
    "AAPI-03", combinations(), "a capsule, as the array API's test suite expects for these keywords"
)
def keyword_combination(producer: Producer, keywords: tuple[Any, Any, Any]) -> CheckResult:
    require_array_api(producer)
    copy, version, device = keywords
    export = producer.export(producer.text(), copy=copy, max_version=version, dl_device=device)
    if export.error is not None and copy is not None:
        raise NotApplicable(f"PROD-11 and PROD-12 judge it: {export}")
    refused = version == (0, 0) and isinstance(export.error, BufferError)  # as VERS-07 allows
    return producer.make_result(export.held is not None or refused, export)


# --- on devices


@check_on_devices("AAPI-04", "move", "to_device with stream copies in that stream")
def to_device_copies_in_stream(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    fixture.several()
    array = fixture.array()
    source = export_for(producer, fixture, array, -1)
    stream = fixture.foreign(1)
    text = fixture.on.move.format("_x", 1, "_t")

    def move() -> Export:
        moved = fixture.eval(text, _x=array, _t=stream)
        return producer.export(text, moved, stream=-1, **VERSIONED)

    held, observed = is_copied_on(fixture, stream, source.address, move)
    there = fixture.on.stream.format(1)
    call = fixture.on.move.format("x", 1, handle_of(fixture))
    repro = fixture.repro(f"x = {fixture.text()}; t = {there}", f"y = {call}")
    return CheckResult(held, observed, repro)


@check_on_devices("AAPI-04", "values", "to_device refuses the streams that __dlpack__ refuses")
def to_device_refuses_bad_streams(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    fixture.several()
    array = fixture.array()
    wrong = 0 if fixture.vendor.name == "cuda" else 1
    if producer.export(fixture.text(), array, stream=wrong, **VERSIONED).error is None:
        raise NotApplicable(f"__dlpack__ takes stream={wrong}; STRM-10 and STRM-12 judge that")
    if not fixture.on.move:
        raise NotApplicable(f"no to_device of {fixture.subject.name} is known")
    call = fixture.on.move.format("_x", 1, wrong)
    repro = fixture.repro(f"print({fixture.on.move.format(fixture.text(), 1, wrong)})")
    try:
        eval(call, {**fixture.namespace, "_x": array})
    except Exception as error:
        return CheckResult(True, describe_error(error), repro)
    return CheckResult(False, f"stream={wrong} is taken", repro)
