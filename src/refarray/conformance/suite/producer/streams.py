"""Owns the checks of a CPU producer's stream argument: STRM."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.producer import VERSIONED, Producer


def _on_cpu(producer: Producer) -> str:
    text = producer.text()
    array = producer.make(text)
    device = producer.device(array)[0]
    if device != 1:
        raise NotApplicable(f"its arrays lie on device type {device}, which has streams")
    return text


def _refused(name: str, case: str, value: Any, expected: str, level: str = "") -> None:
    @check(name, "producer", case, expected, level=level)
    def _(producer: Producer) -> CheckResult:
        export = producer.export(_on_cpu(producer), stream=value, **VERSIONED)
        return producer.seen(export.error is not None, export)


for _value in (-1, 0, 1, 2):
    _refused(
        "STRM-14",
        f"cpu-{_value}",
        _value,
        f"stream={_value} is refused on the CPU: only None is valid",
        # One sentence allows -1 to every consumer, another None only on the CPU.
        level="DISPUTED" if _value == -1 else "",
    )
BAD: dict[str, Any] = {"below": -2, "huge": 2**80, "float": 1.0, "text": "1"}
for _case, _bad in BAD.items():
    _refused(
        "STRM-05",
        f"cpu-{_case}",
        _bad,
        f"stream={_bad!r} is refused: it is no int of -1 or more",
    )


@check("STRM-14", "producer", "cpu-none", "stream=None is accepted on the CPU")
def _none(producer: Producer) -> CheckResult:
    export = producer.export(_on_cpu(producer), stream=None, **VERSIONED)
    return producer.seen(export.held is not None, export)
