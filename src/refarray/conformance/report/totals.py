"""The totals of a run by requirement: the numbers that all reports show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from refarray.conformance.findings import Finding, Outcome

KEPT = {Outcome.PASS, Outcome.INFO}


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of requirements. Each is counted once, by the worst outcome of its cases."""

    broken: int = 0
    """With a `fail`, `crash` or `hang`."""
    expected: int = 0
    """Of the broken ones, those whose failures are all expected."""
    repeated: int = 0
    """Of the broken ones, those whose failures all have the cause of another requirement's."""
    inherited: int = 0
    """Of the broken ones, those whose failures are all inherited from another library."""
    unknown: int = 0
    """With an `error` of the kit, and not broken."""
    warned: int = 0
    """With a `warn`, and none of the above."""
    kept: int = 0
    """With a `pass` or an `info`, and none of the above."""
    inapplicable: int = 0
    """The rest: no case applies."""

    @property
    def tried(self) -> int:
        """The requirements that the run has an answer to."""
        return self.broken + self.warned + self.kept

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(getattr(self, n) + getattr(other, n) for n in self.__slots__))

    def __str__(self) -> str:
        parts = [f"{self.kept} of {self.tried} requirements kept"]
        if self.broken:
            kinds = {
                "expected": self.expected,
                "with the cause of another": self.repeated,
                "inherited": self.inherited,
            }
            known = ", ".join(f"{count} of them {kind}" for kind, count in kinds.items() if count)
            parts.append(f"{self.broken} broken{f' ({known})' if known else ''}")
        if self.warned:
            parts.append(f"{self.warned} with a warning")
        if self.unknown:
            parts.append(f"{self.unknown} not decided")
        if self.inapplicable:
            parts.append(f"{self.inapplicable} not applicable")
        return ", ".join(parts)


def totals(findings: Iterable[Finding]) -> Totals:
    """The totals of one subject's findings."""
    groups: dict[str, list[Finding]] = {}
    for found in findings:
        groups.setdefault(found.id, []).append(found)
    out = Totals()
    for group in groups.values():
        outcomes = {found.outcome for found in group}
        if failures := [found for found in group if found.outcome.failed]:
            out += Totals(
                broken=1,
                expected=all(f.expected_failure for f in failures),
                repeated=all(f.same_as for f in failures),
                inherited=all(f.inherited for f in failures),
            )
        elif Outcome.ERROR in outcomes:
            out += Totals(unknown=1)
        elif Outcome.WARN in outcomes:
            out += Totals(warned=1)
        elif outcomes & KEPT:
            out += Totals(kept=1)
        else:
            out += Totals(inapplicable=1)
    return out


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the selected cases a run says something about."""

    tried: int
    possible: int

    def __str__(self) -> str:
        share = 100 * self.tried // self.possible if self.possible else 0
        return f"coverage: {self.tried} of {self.possible} cases tried ({share} %)"


def coverage(findings: Iterable[Finding]) -> Coverage:
    """The coverage of one subject's findings: cases that do not apply, or in which the kit failed,
    were not tried."""
    outcomes = [found.outcome for found in findings]
    untried = sum(each in {Outcome.NOT_APPLICABLE, Outcome.ERROR} for each in outcomes)
    return Coverage(len(outcomes) - untried, len(outcomes))
