"""Owns the checks of a producer's copy and dl_device: PROD-06 to PROD-16."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.requirements import Level
from refarray.conformance.suite.producer.layouts import exported, is_member


def _copy(name: str, case: str, keywords: dict[str, Any]) -> None:
    @check(name, "producer", case, "copy=True gives memory of its own")
    def _(producer: Producer) -> CheckResult:
        text = producer.text()
        array = producer.make(text)
        plain = producer.export(text, array, **keywords)
        if plain.error is not None:
            raise NotApplicable(f"{plain.call} raised {plain}")
        copy = producer.export(text, array, copy=True, **keywords)
        if copy.error is not None:
            seen = producer.seen(False, copy)
            # A copy has to be flagged, and the legacy struct has no flags: refusing is a way out.
            excused = name == "PROD-16" and isinstance(copy.error, BufferError)
            return replace(seen, level=Level.DISPUTED) if excused else seen
        held = plain.address != copy.address
        return producer.seen(
            held, copy, "its own memory" if held else "the array's own memory", field="data"
        )


_copy("PROD-11", "versioned", VERSIONED)
_copy("PROD-16", "legacy", {})
_copy("PROD-16", "legacy-asked", {"max_version": (0, 8)})


@check("FLAG-05", "producer", "two-copies", "two copies share no memory")
def _two_copies(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    first, second = (producer.export(text, array, copy=True, **VERSIONED) for _ in range(2))
    if first.error is not None or second.error is not None:
        raise NotApplicable(f"{first.call} raised {first}")
    held = first.address != second.address
    return producer.seen(held, first, f"{first.address:#x} and {second.address:#x}", field="data")


def _no_copy(kind: str) -> None:
    @check("PROD-12", "producer", kind, "copy=False gives the array's own memory, or BufferError")
    def _(producer: Producer) -> CheckResult:
        text = producer.text(kind)
        array = producer.make(text)
        plain = exported(producer, kind)
        export = producer.export(text, array, copy=False, **VERSIONED)
        if export.error is not None:
            return producer.seen(isinstance(export.error, BufferError), export)
        plain = producer.export(text, array, **VERSIONED)
        held = export.address == plain.address
        return producer.seen(
            held, export, "the same memory" if held else "other memory", field="data"
        )


for _kind in ("plain", "strided", "transposed"):
    _no_copy(_kind)


def knowing(producer: Producer, export: Export) -> Export:
    """The export. NotApplicable for a TypeError of a producer that does not know dl_device at all:
    that is how consumers tell an old one, and PROD-01 judges it; and of one that takes the members
    of an enumeration, as the array API writes, and no ints."""
    if isinstance(export.error, TypeError):
        text = producer.text()
        if isinstance(producer.export(text, dl_device=None).error, TypeError):
            raise NotApplicable("it does not know dl_device: PROD-01 judges that")
        array = producer.make(text)
        own = type(array).__dlpack_device__(array)
        if is_member(own[0]) and producer.export(text, array, dl_device=own).error is None:
            raise NotApplicable("it takes members of its own enumeration, and no ints")
    return export


@check("PROD-06", "producer", "own-device", "dl_device equal to __dlpack_device__() is served")
def _own_device(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    own = producer.device(array)
    export = knowing(producer, producer.export(text, array, dl_device=own, **VERSIONED))
    return producer.seen(export.held is not None and tuple(export["device"]) == own, export)


@check(
    "PROD-08", "producer", "cpu", "dl_device=(1, 0) is served: every array can be had on the CPU"
)
def _cpu(producer: Producer) -> CheckResult:
    export = knowing(producer, producer.export(producer.text(), dl_device=(1, 0), **VERSIONED))
    return producer.seen(export.held is not None and tuple(export["device"]) == (1, 0), export)


def _foreign(case: str, device: tuple[int, int], versioned: bool) -> None:
    @check(
        "PROD-06",
        "producer",
        case,
        f"dl_device={device}, which it cannot serve, is a BufferError",
        # The header gives every CPU the id 0; nothing says what another number asks for.
        level="DISPUTED" if device[0] == 1 else "",
    )
    def _(producer: Producer) -> CheckResult:
        keywords = VERSIONED if versioned else {}
        export = producer.export(producer.text(), dl_device=device, **keywords)
        export = knowing(producer, export)
        return producer.seen(isinstance(export.error, BufferError), export)


for _case, _pair in (
    ("vpi", (9, 0)),
    ("no-such-gpu", (2, 2**30)),
    ("second-cpu", (1, 1)),
    ("unknown-type", (99, 0)),
):
    _foreign(_case, _pair, True)
    _foreign(f"{_case}-legacy", _pair, False)


def _malformed_device(case: str, value: Any) -> None:
    @check("PROD-07", "producer", case, f"dl_device={value!r} is a TypeError or a ValueError")
    def _(producer: Producer) -> CheckResult:
        export = producer.export(producer.text(), dl_device=value, **VERSIONED)
        return producer.seen(isinstance(export.error, TypeError | ValueError), export)


for _case, _value in (
    ("list", [1, 0]),
    ("one", (1,)),
    ("text", "cpu"),
    ("none", (None, 0)),
    ("int", 1),
):
    _malformed_device(_case, _value)


def _malformed_copy(case: str, value: Any) -> None:
    @check("PROD-15", "producer", case, f"copy={value!r} is a TypeError or a ValueError")
    def _(producer: Producer) -> CheckResult:
        export = producer.export(producer.text(), copy=value, **VERSIONED)
        return producer.seen(isinstance(export.error, TypeError | ValueError), export)


for _case, _value in (("one", 1), ("text", "no"), ("list", [])):
    _malformed_copy(_case, _value)
