"""Owns what a check is: one requirement, one case, how it is tried and how it is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from refarray.conformance.requirements import Level, Role


class NotApplicable(Exception):
    """The subject has nothing to try a case on. The message says what it lacks."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a case saw: whether the requirement held, what was observed, how to see it again."""

    held: bool | None
    """None: there was nothing to try it on, and `observed` says what is lacking."""
    observed: str
    repro: str
    second: CheckResult | None = None
    """What another check, which is a part of this one, is told: one trial serves both."""
    level: Level | None = None
    """As Check.level, where it depends on what was seen."""


@dataclass(frozen=True, slots=True)
class Check:
    """One case of one requirement. `probe` tries it and returns what it saw."""

    id: str
    case: str
    role: Role
    expected: str
    probe: Callable[[Any], CheckResult]
    risky: bool = False
    """It may crash or hang the subject: it runs in a process of its own."""
    full: bool = False
    """It runs with --full only."""
    part_of: str = ""
    """The check whose trial shows this one, too; it has no trial of its own."""
    level: Level | None = None
    """What it is judged by, where the texts ask less of this case than of the requirement."""
    exits: bool = False
    """The process ends after it as Python's does, and how it ends is a part of what was seen."""
    devices: bool = False
    """It needs a device with streams, and runs in a process where its driver is."""

    @property
    def name(self) -> str:
        """ "VERS-05[producer-future-major]": unique, and what pytest calls it."""
        return f"{self.id}[{self.role}-{self.case}]"


announce: list[Callable[[str], None]] = []
"""Who is told what is about to be tried, as a repro: all that is left of a case that dies."""


def about(repro: str) -> None:
    """Tells who listens what is about to be tried."""
    for listener in announce:
        listener(repro)


CHECKS: dict[str, Check] = {}
"""Every check by its name, in the order of definition."""


def check(
    name: str,
    role: str,
    case: str,
    expected: str,
    *,
    risky: bool = False,
    full: bool = False,
    level: str = "",
    exits: bool = False,
    devices: bool = False,
) -> Callable[[Callable[[Any], CheckResult]], Check]:
    """Enters the decorated probe as one check."""

    def enter(probe: Callable[[Any], CheckResult]) -> Check:
        weaker = Level(level) if level else None
        return add(
            Check(
                name,
                case,
                Role(role),
                expected,
                probe,
                risky or exits,
                full,
                level=weaker,
                exits=exits,
                devices=devices,
            )
        )

    return enter


def part(of: Check, name: str, case: str, expected: str) -> Check:
    """Enters what the trial of another check shows besides: its CheckResult.second."""
    return add(Check(name, case, of.role, expected, of.probe, of.risky, of.full, of.name))


def add(made: Check) -> Check:
    """Enters a check. ValueError when there is one of its name."""
    if made.name in CHECKS:
        raise ValueError(f"{made.name} is defined twice")
    CHECKS[made.name] = made
    return made
