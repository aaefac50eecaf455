"""Owns the checks of a producer at the edges of what it can serve: sizes, resizing, devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, about, check
from refarray.conformance.harness.producer import VERSIONED, Producer, raised
from refarray.conformance.suite.producer.layouts import exported
from refarray.conformance.suite.producer.lifetime import Taken
from refarray.conformance.suite.producer.lifetime import exported as readable

GPU = {2, 10}  # CUDA and ROCm: memory that the host cannot read
COUNT = 1 << 24  # float32 elements: 64 MiB, which go back to the system when they are freed
HUGE = 1 << 45  # float32 elements: more than an address space holds


def mapped(address: int) -> bool:
    """Whether this process may read at an address. NotApplicable where the system does not tell."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError as error:
        raise NotApplicable("this system does not tell what memory a process has") from error
    for line in lines:
        span, rights, *_ = line.split()
        first, last = (int(end, 16) for end in span.split("-"))
        if first <= address < last:
            return rights.startswith("r")
    return False


@check(
    "DEV-05",
    "producer",
    "host",
    "memory that the host can read is not announced under a GPU's device type",
)
def _host(producer: Producer) -> CheckResult:
    export = exported(producer, "plain")
    kind = export["device"][0]
    held = kind not in GPU or not mapped(export.address)
    return producer.seen(held, export, f"device type {kind}", field="device_type")


@check(
    "PROD-05",
    "producer",
    "no-memory",
    "a copy that no memory can hold is an exception of its own kind, not a SystemError",
    risky=True,
)
def _no_memory(producer: Producer) -> CheckResult:
    text = producer.text("broadcast")
    huge = text.replace("(3,)", f"({HUGE},)")
    if huge == text:
        raise NotApplicable("no way to make an array of that size is known")
    export = producer.export(huge, copy=True, **VERSIONED)
    held = export.error is not None and not isinstance(export.error, SystemError)
    return producer.seen(held, export)


@check(
    "LIFE-18",
    "producer",
    "resized",
    "memory that was exported is not freed or moved when the array is resized",
    risky=True,
)
def _resized(producer: Producer) -> CheckResult:
    name = next((n for n in ("resize_", "resize") if hasattr(plain(producer), n)), None)
    if name is None:
        raise NotApplicable("its arrays are not resized")
    text = producer.big(COUNT)
    array = producer.make(text)
    it = Taken(readable(producer, array, text))
    line = f"x.{name}(({2 * COUNT},))"
    lines = [f"import numpy; x = {text}; c = numpy.from_dlpack(x)", line, "print(c)"]
    about(producer.repro(*lines))
    try:
        getattr(array, name)((2 * COUNT,))
    except Exception as error:
        return CheckResult(it.still, f"{line} raised {raised(error)}", producer.repro(*lines))
    held = mapped(it.export.address) and it.still
    observed = "the data is still there" if held else "its memory was freed while it was exported"
    return CheckResult(held, observed, producer.repro(*lines))


def plain(producer: Producer) -> Any:
    """A small array."""
    return producer.make(producer.text())
