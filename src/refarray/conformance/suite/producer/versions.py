"""Owns the checks of a producer's version negotiation: VERS and the names of capsules."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import CheckResult, check
from refarray.conformance.harness.producer import ABSENT, Producer


def _versioned(case: str, name: str, asked: tuple[int, int]) -> None:
    @check(
        name,
        "producer",
        case,
        f"max_version={asked} gives a DLManagedTensorVersioned of major version 1",
    )
    def _(producer: Producer) -> CheckResult:
        export = producer.export(producer.text(), max_version=asked)
        held = export.versioned and export["version"][0] == 1
        return producer.seen(held, export)


for _asked in ((1, 3), (1, 99), (2, 0), (100, 3)):
    _versioned(f"max-version-{_asked[0]}-{_asked[1]}", "VERS-05", _asked)
for _asked in ((1, 0), (1, 1), (1, 2)):
    _versioned(f"max-version-{_asked[0]}-{_asked[1]}", "VERS-06", _asked)


@check(
    "VERS-01",
    "producer",
    "own-version",
    "the version in the struct is the producer's own, whatever the consumer asked for",
)
def _own_version(producer: Producer) -> CheckResult:
    low = producer.export(producer.text(), max_version=(1, 0))
    high = producer.export(producer.text(), max_version=(1, 99))
    held = low["version"] == high["version"] and high["version"] != (1, 99)
    observed = f"asked for (1, 0): {low}; asked for (1, 99): {high}"
    return producer.seen(held, high, observed, field="version.minor" if high.versioned else "")


def _legacy(case: str, name: str, expected: str, **keywords: Any) -> None:
    @check(name, "producer", case, expected)
    def _(producer: Producer) -> CheckResult:
        export = producer.export(producer.text(), **keywords)
        refused = isinstance(export.error, BufferError)
        held = refused or (export.held is not None and not export.versioned)
        return producer.seen(held, export)


_legacy("absent", "VERS-04", "without max_version: the legacy struct, or BufferError")
_legacy(
    "none",
    "VERS-04",
    "max_version=None: the legacy struct, or BufferError",
    max_version=None,
)
for _old in ((0, 8), (0, 0)):
    _legacy(
        f"max-version-{_old[0]}-{_old[1]}",
        "VERS-07",
        f"max_version={_old} gives the legacy struct or BufferError, never the versioned one",
        max_version=_old,
    )


def _malformed(case: str, value: Any) -> None:
    @check("VERS-10", "producer", case, f"max_version={value!r} is a TypeError or a ValueError")
    def _(producer: Producer) -> CheckResult:
        export = producer.export(producer.text(), max_version=value)
        return producer.seen(isinstance(export.error, TypeError | ValueError), export)


for _case, _value in (
    ("list", [1, 3]),
    ("three", (1, 3, 0)),
    ("one", (1,)),
    ("text", "1.3"),
    ("texts", ("1", "3")),
    ("float", 1.3),
):
    _malformed(_case, _value)


@check(
    "VERS-10",
    "producer",
    "huge",
    "max_version=(2**70, 0) is served as any newer version is, or an exception says why not",
    risky=True,
)
def _huge(producer: Producer) -> CheckResult:
    export = producer.export(producer.text(), max_version=(2**70, 0))
    return producer.seen(
        export.held is not None or not isinstance(export.error, SystemError), export
    )


def _name(case: str, **keywords: Any) -> None:
    @check(
        "LIFE-06",
        "producer",
        case,
        "the capsule is named after its struct: dltensor, or dltensor_versioned of major version 1",
    )
    def _(producer: Producer) -> CheckResult:
        export = producer.ask(producer.text(), **keywords)
        if export.error is not None:
            return producer.seen(isinstance(export.error, BufferError), export)
        held = export.held is not None and (not export.versioned or export["version"][0] == 1)
        return producer.seen(held, export)


_name("name-default", max_version=ABSENT)
_name("name-asked", max_version=(1, 3))
