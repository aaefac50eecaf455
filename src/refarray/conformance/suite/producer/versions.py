"""VERS checks of a producer: which struct and version it exports for a max_version."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import CheckResult, check, check_cases
from refarray.conformance.harness.producer import ABSENT, Producer


def by_version(*versions: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """Cases named after the max_version that they pass."""
    return {f"max-version-{major}-{minor}": (major, minor) for major, minor in versions}


VERSIONED_STRUCT = "max_version={value} gives a DLManagedTensorVersioned of major version 1"


@check_cases("VERS-05", by_version((1, 3), (1, 99), (2, 0), (100, 3)), VERSIONED_STRUCT)
@check_cases(
    "VERS-06",
    by_version((1, 0), (1, 1), (1, 2)),
    VERSIONED_STRUCT,
    same_as="VERS-05[producer-max-version-1-3]",
)
def versioned_struct(producer: Producer, max_version: tuple[int, int]) -> CheckResult:
    export = producer.export(producer.text(), max_version=max_version)
    held = export.versioned and export["version"][0] == 1
    return producer.make_result(held, export)


@check(
    "VERS-01",
    "own-version",
    "the version in the struct is the producer's own, whatever the consumer asked for",
)
def struct_has_own_version(producer: Producer) -> CheckResult:
    low = producer.export(producer.text(), max_version=(1, 0))
    high = producer.export(producer.text(), max_version=(1, 99))
    held = low["version"] == high["version"] and high["version"] != (1, 99)
    observed = f"asked for (1, 0): {low}; asked for (1, 99): {high}"
    return producer.make_result(
        held, high, observed, field="version.minor" if high.versioned else ""
    )


@check_cases(
    "VERS-07",
    by_version((0, 8), (0, 0)),
    "max_version={value} gives the legacy struct or BufferError, never the versioned one",
)
@check_cases("VERS-04", {"none": None}, "max_version=None: the legacy struct, or BufferError")
@check_cases(
    "VERS-04", {"absent": ABSENT}, "without max_version: the legacy struct, or BufferError"
)
def legacy_struct(producer: Producer, max_version: Any) -> CheckResult:
    export = producer.export(producer.text(), max_version=max_version)
    refused = isinstance(export.error, BufferError)
    held = refused or (export.held is not None and not export.versioned)
    return producer.make_result(held, export)


MALFORMED: dict[str, Any] = {
    "list": [1, 3],
    "three": (1, 3, 0),
    "one": (1,),
    "text": "1.3",
    "texts": ("1", "3"),
    "float": 1.3,
}


@check_cases("VERS-10", MALFORMED, "max_version={value!r} is a TypeError or a ValueError")
def malformed_max_version(producer: Producer, max_version: Any) -> CheckResult:
    export = producer.export(producer.text(), max_version=max_version)
    return producer.make_result(isinstance(export.error, TypeError | ValueError), export)


@check(
    "VERS-10",
    "huge",
    "max_version=(2**70, 0) is served like any newer version, or raises an exception",
    risky=True,
)
def huge_max_version(producer: Producer) -> CheckResult:
    export = producer.export(producer.text(), max_version=(2**70, 0))
    held = export.held is not None or not isinstance(export.error, SystemError)
    return producer.make_result(held, export)
