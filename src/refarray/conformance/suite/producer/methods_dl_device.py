"""PROD checks of a producer: the keyword dl_device."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    check_cases,
    subject_code,
)
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.suite.on_devices import check_on_devices, is_member


def if_known(producer: Producer, export: Export) -> Export:
    """The export. NotApplicable for the TypeError of a producer that does not know dl_device at all
    (PROD-01 judges that), or that takes members of its own enumeration but no ints."""
    if isinstance(export.error, TypeError):
        text = producer.text()
        if isinstance(producer.export(text, dl_device=None).error, TypeError):
            raise NotApplicable("it does not know dl_device: PROD-01 judges that")
        array = producer.make(text)
        with subject_code():
            own = type(array).__dlpack_device__(array)
            enumeration = is_member(own[0])
        if enumeration and producer.export(text, array, dl_device=own).error is None:
            raise NotApplicable("it takes members of its own enumeration, and no ints")
    return export


@check("PROD-06", "own-device", "dl_device equal to __dlpack_device__() is served")
def own_device(producer: Producer) -> CheckResult:
    text, array = producer.own()
    own = producer.device(array)
    export = if_known(producer, producer.export(text, array, dl_device=own, **VERSIONED))
    return producer.make_result(export.held is not None and tuple(export["device"]) == own, export)


UNSERVED = {"vpi": (9, 0), "no-such-gpu": (2, 2**30), "second-cpu": (1, 1), "unknown-type": (99, 0)}


def judge_unserved_device(
    producer: Producer, device: tuple[int, int], **keywords: tuple[int, int]
) -> CheckResult:
    export = producer.export(producer.text(), dl_device=device, **keywords)
    export = if_known(producer, export)
    return producer.make_result(isinstance(export.error, BufferError), export)


UNSERVED_DEVICE = "dl_device={value}, which it cannot serve, is a BufferError"


# The header gives every CPU the id 0; the texts do not say what another id asks for.
@check_cases("PROD-06", UNSERVED, UNSERVED_DEVICE, level={"second-cpu": "DISPUTED"})
def unserved_device_versioned(producer: Producer, device: tuple[int, int]) -> CheckResult:
    return judge_unserved_device(producer, device, **VERSIONED)


@check_cases(
    "PROD-06",
    {f"{case}-legacy": device for case, device in UNSERVED.items()},
    UNSERVED_DEVICE,
    level={"second-cpu-legacy": "DISPUTED"},
)
def unserved_device_legacy(producer: Producer, device: tuple[int, int]) -> CheckResult:
    return judge_unserved_device(producer, device)


MALFORMED: dict[str, Any] = {
    "list": [1, 0],
    "one": (1,),
    "text": "cpu",
    "none": (None, 0),
    "int": 1,
}


@check_cases("PROD-07", MALFORMED, "dl_device={value!r} is a TypeError or a ValueError")
def malformed_device(producer: Producer, device: Any) -> CheckResult:
    export = producer.export(producer.text(), dl_device=device, **VERSIONED)
    return producer.make_result(isinstance(export.error, TypeError | ValueError), export)


@check("PROD-08", "cpu", "dl_device=(1, 0) is served: every array can be exported to the CPU")
def cpu_device(producer: Producer) -> CheckResult:
    export = producer.export(producer.text(), dl_device=(1, 0), **VERSIONED)
    export = if_known(producer, export)
    return producer.make_result(
        export.held is not None and tuple(export["device"]) == (1, 0), export
    )


@check_on_devices("PROD-09", "copy-False", "to the host with copy=False: BufferError")
def to_host_without_copy(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    keywords = {"dl_device": (1, 0), "copy": False, **VERSIONED}
    export = producer.export(fixture.text(), fixture.array(), **keywords)
    held = isinstance(export.error, BufferError)
    return CheckResult(held, f"{export}", fixture.repro(f"print({export.call})"))


def require_no_stream(producer: Producer, stream: int) -> None:
    """NotApplicable if a stream is accepted for host memory even without dl_device: STRM-14 judges
    that."""
    if producer.export(producer.text(), stream=stream, **VERSIONED).error is None:
        raise NotApplicable(f"it takes stream={stream} without dl_device, too")


@check("PROD-10", "stream", "dl_device on the CPU with a stream is an exception")
def cpu_device_with_stream(producer: Producer) -> CheckResult:
    require_no_stream(producer, 1)
    export = producer.export(producer.text(), dl_device=(1, 0), stream=1, **VERSIONED)
    return producer.make_result(export.error is not None, export)
