"""STRM checks of a producer on the CPU: host memory has no streams."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.dlpack import CPU
from refarray.conformance.harness.producer import VERSIONED, Producer
from refarray.conformance.suite.producer.methods_dl_device import require_no_stream

MALFORMED: dict[str, Any] = {"below": -2, "huge": 2**80, "float": 1.0, "text": "1"}
"""Values that are no stream on any device."""


def cpu_text(producer: Producer) -> str:
    """The expression of an array on the CPU. NotApplicable if there is none."""
    text = producer.text()
    device = producer.device(producer.make(text))[0]
    if device != CPU:
        raise NotApplicable(f"its arrays lie on device type {device}, which has streams")
    return text


@check_cases(
    "STRM-05",
    {f"cpu-{case}": value for case, value in MALFORMED.items()},
    "stream={value!r} is refused: it is no int of -1 or more",
    same_as="STRM-14[producer-cpu-1]",
)
@check_cases(
    "STRM-14",
    {f"cpu-{value}": value for value in (-1, 0, 1, 2)},
    "stream={value} is refused on the CPU: only None is valid",
    # One sentence allows -1 to every consumer, another only None on the CPU.
    level={"cpu--1": "DISPUTED"},
)
def stream_is_refused(producer: Producer, stream: Any) -> CheckResult:
    export = producer.export(cpu_text(producer), stream=stream, **VERSIONED)
    return producer.make_result(export.error is not None, export)


@check("STRM-14", "cpu-none", "stream=None is accepted on the CPU")
def none_is_accepted(producer: Producer) -> CheckResult:
    export = producer.export(cpu_text(producer), stream=None, **VERSIONED)
    return producer.make_result(export.held is not None, export)


@check("STRM-17", "cpu", "a stream that does not fit dl_device is an exception")
def stream_does_not_fit_device(producer: Producer) -> CheckResult:
    require_no_stream(producer, 2)
    export = producer.export(producer.text(), dl_device=(1, 0), stream=2, **VERSIONED)
    return producer.make_result(export.error is not None, export)
