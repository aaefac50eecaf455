"""Owns what a case found: its outcome, what was expected and seen, a way to see it again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from refarray.conformance.requirements import Level


class Outcome(StrEnum):
    """How a case ended. Only FAIL, CRASH and HANG make a run fail."""

    PASS = "pass"
    FAIL = "fail"
    """A MUST is broken."""
    CRASH = "crash"
    """The process died of a signal, or left, while the case ran."""
    HANG = "hang"
    """The case did not end in its time."""
    WARN = "warn"
    """A SHOULD is broken."""
    INFO = "info"
    """What the texts leave open, or allow although it is dangerous, was seen."""
    NOT_APPLICABLE = "not-applicable"
    """The subject has nothing to try it on; `observed` says what it lacks."""

    @property
    def failed(self) -> bool:
        """Whether it makes the run fail."""
        return self in {Outcome.FAIL, Outcome.CRASH, Outcome.HANG}


BROKEN: dict[Level, Outcome] = {
    Level.MUST: Outcome.FAIL,
    Level.SHOULD: Outcome.WARN,
    Level.MAY: Outcome.INFO,
    Level.HAZARD: Outcome.INFO,
    Level.DISPUTED: Outcome.INFO,
}
"""What a case is that does not hold, by the level of its requirement."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One case of one subject. Its fields are those of the JSON report."""

    id: str
    """The requirement."""
    level: Level
    subject: str
    """The name that was asked for."""
    version: str
    """Of the subject; empty when it does not say."""
    role: str
    case: str
    outcome: Outcome
    expected: str
    observed: str
    repro: str
    """A few lines of Python that show it, without refarray where that is possible."""
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """What JSON carries."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        """The reverse of to_dict. TypeError for unknown or missing fields, ValueError for an
        outcome that is none."""
        return cls(**{**data, "outcome": Outcome(data["outcome"]), "level": Level(data["level"])})
