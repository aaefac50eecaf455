"""Findings: the outcome of one case, with the expected and observed behaviour and a repro."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from refarray.conformance.requirements import Level


class Outcome(StrEnum):
    """How a case ended. FAIL, CRASH and HANG are deviations of the subject and make a run fail."""

    PASS = "pass"
    FAIL = "fail"
    """A MUST is broken, or data was wrong or freed twice (Finding.harm), whatever the level."""
    CRASH = "crash"
    """The process was killed by a signal, or exited, while the case ran."""
    HANG = "hang"
    """The case made no progress until its timeout."""
    ERROR = "error"
    """The check itself failed: a bug of the kit, which says nothing of the subject."""
    WARN = "warn"
    """A SHOULD is broken."""
    INFO = "info"
    """The texts leave the behaviour open, or allow it although it is dangerous."""
    NOT_APPLICABLE = "not-applicable"
    """The subject lacks something that the case needs; `observed` names it."""

    @property
    def failed(self) -> bool:
        """Whether the subject deviates so that the run fails."""
        return self in {Outcome.FAIL, Outcome.CRASH, Outcome.HANG}


DEVIATIONS = (Outcome.CRASH, Outcome.HANG, Outcome.FAIL, Outcome.ERROR, Outcome.WARN, Outcome.INFO)
"""The outcomes of cases that did not pass, the worst first."""
WORST_FIRST = (*DEVIATIONS, Outcome.PASS, Outcome.NOT_APPLICABLE)
BROKEN: dict[Level, Outcome] = {
    Level.MUST: Outcome.FAIL,
    Level.SHOULD: Outcome.WARN,
    Level.MAY: Outcome.INFO,
    Level.HAZARD: Outcome.INFO,
    Level.DISPUTED: Outcome.INFO,
}
"""The outcome of a case that does not hold, by the level at which it is judged."""


FAIL_ON = ("must", "should", "info", "crash")
"""What a run may fail on. "crash" are crashes, hangs and wrong data, whatever the level."""


def fails_on(what: Container[str], found: Finding) -> bool:
    """Whether a run fails on that finding. An expected failure counts as any other."""
    if found.outcome in {Outcome.CRASH, Outcome.HANG} or found.harm:
        return "crash" in what or ("must" in what and found.level is Level.MUST)
    names = {Outcome.FAIL: "must", Outcome.WARN: "should", Outcome.INFO: "info"}
    return names.get(found.outcome, "") in what


class Deviation(AssertionError):
    """A case failed. The message holds the finding."""


class KitError(Exception):
    """A check failed by a bug of the kit. The message holds the finding and the traceback."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One case of one subject. Its fields are those of the JSON report."""

    id: str
    """The requirement."""
    level: Level
    subject: str
    """The name in its adapter; the name on the command line if two subjects have the same."""
    version: str
    """The version of the subject; empty if it has none."""
    role: str
    case: str
    outcome: Outcome
    expected: str
    observed: str
    repro: str
    """A script that shows it, exits with status 1 and needs no refarray; the kit's own lines where
    there is no such script (repros/script.py). Of an ERROR, the traceback."""
    seconds: float = 0.0
    expected_failure: str = ""
    """Why this failure was expected; empty for every other finding."""
    derived: bool = False
    """As Requirement.derived: no sentence of the standards states the requirement."""
    harm: str = ""
    """What the deviation does whatever the level: "crash", "abort", "hang", "wrong data", "double
    free" or "freed memory"; empty for a deviation that only breaks a rule."""
    provoked: str = ""
    """What of the input provoked it; empty where the input is valid, or nothing happened."""
    same_as: str = ""
    """The case that shows the same mistake more directly, and failed too; empty for a finding of
    its own. One cause is counted once."""
    origin: str = ""
    """Where the library raised the exception that was observed: file and line, or its text if
    native code raised it. Findings of one origin have one cause."""
    inherited: str = ""
    """The library from which it is inherited, with its version: "numpy 2.4.6"."""

    @property
    def name(self) -> str:
        """The name of its check: "VERS-05[producer-future-major]"."""
        return f"{self.id}[{self.role}-{self.case}]"

    def to_dict(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        """The inverse of to_dict. TypeError for unknown or missing fields, ValueError for unknown
        outcomes and levels."""
        return cls(**{**data, "outcome": Outcome(data["outcome"]), "level": Level(data["level"])})


@dataclass(frozen=True, slots=True)
class Dropped:
    """An expression of the adapter that no case uses, because it does not do what it promises."""

    part: str
    """The field of Subject: "arrays['offset']"."""
    expression: str
    why: str
    place: str
    """The file and the line of the adapter, and where an exception was raised."""
    mistake: bool = True
    """False if some versions of the library may lack what the expression uses."""

    def __str__(self) -> str:
        return f"{self.part} = {self.expression}: {self.why} ({self.place})"


@dataclass
class Run:
    """The findings on one subject."""

    subject: str
    """The name in every report: the adapter's, such as "mylib", or `asked` until it is known."""
    version: str = ""
    broken: str = ""
    """Why nothing could be tried, such as a failed import; empty otherwise."""
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    name: str = ""
    """The name in its adapter; empty if it could not be imported."""
    asked: str = ""
    """As the user named it, "mypackage.module:MYLIB"; empty if that is `subject`."""
    dropped: list[Dropped] = field(default_factory=list)
    """What was tried of the adapter and failed, so that no case uses it."""
    conduct: list[str] = field(default_factory=list)
    """What the library did to its process, such as closing a descriptor; the kit undid it."""

    @property
    def mistakes(self) -> list[Dropped]:
        """The mistakes of the adapter: the run does not say all that it was asked for."""
        return [each for each in self.dropped if each.mistake]

    def head(self) -> list[str]:
        """The first lines of every report: why nothing applies, what was dropped and why, and the
        library's conduct."""
        kinds = {True: "the adapter is wrong, dropped", False: "this version lacks"}
        lines = [f"{kinds[each.mistake]}: {each}" for each in self.dropped]
        seen = {(found.outcome, found.observed) for found in self.findings}
        if not lines and len(seen) == 1:
            lines = [
                f"no case applies: {why}" for what, why in seen if what is Outcome.NOT_APPLICABLE
            ]
        return lines + self.conduct

    @property
    def title(self) -> str:
        """The subject and its version."""
        return f"{self.subject} {self.version}".rstrip()

    def called(self, name: str) -> Run:
        """The same run with another name in the reports."""
        asked = self.asked or self.subject
        findings = [replace(found, subject=name) for found in self.findings]
        return replace(self, subject=name, asked="" if asked == name else asked, findings=findings)
