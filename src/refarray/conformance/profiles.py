"""Profiles: named selections of the checks, by what an exchange needs. Rule sets: by release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from refarray.conformance.cases import Check
from refarray.conformance.requirements import Level, Role, requirement

OLD = ("DLPack 0.2+", "array API 2021.12+", "array API 2022.12+", "CPython 3.11+")
"""The first versions of the requirements that hold without DLManagedTensorVersioned."""
STREAMS = {"LIFE-26", "CAPI-12", "CAPI-25", "CAPI-26", "CONS-08", "PROD-10", "PROD-14", "AAPI-04"}
"""Requirements on streams outside the family STRM."""


@dataclass(frozen=True)
class Profile:
    """A selection of the checks."""

    about: str
    takes: Callable[[Check], bool]


def legacy(check: Check) -> bool:
    """Whether a library that exchanges DLManagedTensor only has to pass it."""
    return (
        check.role is not Role.EXCHANGE_API
        and any(version in OLD for version in requirement(check.id).versions)
        and not check.case.startswith(("versioned-", "table-"))
    )


def is_versioned(check: Check) -> bool:
    """Whether it is about DLManagedTensorVersioned, or about both structs."""
    return check.role is not Role.EXCHANGE_API and not (
        check.case.startswith(("legacy-", "table-")) or check.case.endswith("-legacy")
    )


def table(check: Check) -> bool:
    """Whether it calls a function of the C exchange table, or lets the library call one."""
    return check.role is Role.EXCHANGE_API or check.case.startswith("table-")


def streams(check: Check) -> bool:
    """Whether it is about streams, or needs a device that has them."""
    return check.id.startswith("STRM-") or check.id in STREAMS or check.devices


def hostile(check: Check) -> bool:
    """Whether its input is malformed, or its requirement is about safety alone."""
    return bool(check.provoked) or (check.risky and requirement(check.id).level is Level.HAZARD)


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "legacy": Profile("what holds of DLManagedTensor, without versions and flags", legacy),
        "versioned": Profile("what holds of DLManagedTensorVersioned", is_versioned),
        "table": Profile("the C exchange table, from both sides", table),
        "streams": Profile("streams, and everything that needs a device", streams),
        "hostile": Profile("malformed tensors, and safety where the texts are silent", hostile),
    }
)
"""The profiles by name."""


RULES = ("2026.1", "2026.2")
"""The rule sets, the oldest first. Each has the cases of those before it, and is frozen once the
kit is released with it: later cases belong to a new one, so that who names a set meets no new
failure (tests/kit/rule_sets.toml)."""


def frozen(rules: str, checks: Sequence[Check]) -> list[Check]:
    """The checks of a rule set among `checks`, in their order. ValueError for an unknown set."""
    if rules not in RULES:
        raise ValueError(f"there are no rules {rules!r}; there are {', '.join(RULES)}")
    sets = RULES[: RULES.index(rules) + 1]
    return [check for check in checks if check.rules in sets]


def within(profile: str, checks: Sequence[Check]) -> list[Check]:
    """The checks of a profile among `checks`, in their order. ValueError for an unknown profile."""
    if profile not in PROFILES:
        raise ValueError(f"there is no profile {profile!r}; there are {', '.join(PROFILES)}")
    takes = PROFILES[profile].takes
    return [check for check in checks if takes(check)]
