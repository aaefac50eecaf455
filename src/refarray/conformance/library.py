"""The functions that a project's own tests call: check, checks, parametrize."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from refarray._terminal import suggestion
from refarray.conformance.cases import Check
from refarray.conformance.findings import Finding, KitError, Outcome, Run
from refarray.conformance.report.text import text
from refarray.conformance.requirements import requirements
from refarray.conformance.runner.engine import run_subject, select
from refarray.conformance.runner.worker_process import Broken

if TYPE_CHECKING:
    import pytest


FAILURES = (AssertionError, Broken)
"""The exceptions of a case that fails. KitError is none of them."""


@dataclass(frozen=True)
class Report:
    """The findings on one subject. str() is the output of `refarray check -v`."""

    run: Run
    expected_failures: Mapping[str, str]

    @property
    def findings(self) -> list[Finding]:
        """All cases, in the order of the checks."""
        return self.run.findings

    @property
    def unexpected(self) -> list[Finding]:
        """Broken MUSTs, crashes and hangs of requirements that are not expected to fail."""
        return [f for f in self.findings if f.outcome.failed and not f.expected_failure]

    @property
    def errors(self) -> list[Finding]:
        """Cases in which the kit itself failed; they say nothing of the subject."""
        return [found for found in self.findings if found.outcome is Outcome.ERROR]

    @property
    def stale(self) -> list[str]:
        """Expected failures that were tried, and did not fail."""
        failed = {name for f in self.findings if f.outcome.failed for name in names_of(f)}
        tried = {name for found in self.findings for name in names_of(found)}
        unknown = {name for found in self.errors for name in names_of(found)}
        return [name for name in self.expected_failures if name in tried - failed - unknown]

    def raise_for_failures(self) -> None:
        """AssertionError with the report if a case failed unexpectedly, or an expected failure did
        not occur. KitError if the kit itself failed."""
        if self.run.broken:
            raise AssertionError(f"{self.run.subject} could not be tried: {self.run.broken}")
        if self.run.mistakes:
            raise AssertionError(f"the adapter is wrong: {self.run.mistakes[0]}\n\n{self}")
        if self.errors:
            raise KitError(f"{len(self.errors)} checks failed by a bug of the kit\n\n{self}")
        if self.unexpected:
            raise AssertionError(f"{len(self.unexpected)} cases failed\n\n{self}")
        if self.stale:
            raise AssertionError(f"expected to fail, and did not: {', '.join(self.stale)}")

    def __str__(self) -> str:
        return text([self.run])


def names_of(of: Finding | Check) -> tuple[str, str]:
    """The names that select a case: "COPY-07[consumer-false-refused]" and "COPY-07"."""
    return of.name, of.id


def reason(of: Finding | Check, expected: Mapping[str, str]) -> str:
    """Why a case may fail; empty if it must not."""
    return next((expected[name] for name in names_of(of) if name in expected), "")


def checks(
    *,
    full: bool = False,
    ids: Sequence[str] = (),
    skip: Sequence[str] = (),
    profile: str = "",
    rules: str = "",
) -> list[Check]:
    """The registered checks: with `full` also the slow ones, with `ids` only those, without those
    in `skip`. Both name requirements, families or cases. With `profile` only those of a profile:
    "legacy", "versioned", "table", "streams" or "hostile", with `rules` those of a rule set:
    "2026.1". ValueError for a name without a check."""
    return select(full=full, ids=ids, skip=skip, profile=profile, rules=rules)


def check(
    subject: str,
    *,
    full: bool = False,
    ids: Sequence[str] = (),
    skip: Sequence[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    raising: bool = True,
    devices: str = "auto",
    profile: str = "",
    rules: str = "",
) -> Report:
    """Checks a library against the standards, in separate processes.

    Parameters
    ----------
    subject
        The name of an adapter (`numpy`, `torch` …) or of a module that follows the array API.
    full
        Run the slow cases, too.
    ids
        Requirements, families or cases only: `["PROD-06", "VERS"]`. ValueError for one without a
        check.
    skip
        What to leave out of them.
    expected_failures
        `{id: reason}`: at least one case of each must fail. A key may name one case:
        `"COPY-07[consumer-false-refused]"`. ValueError for an unknown key.
    raising
        Raise AssertionError for any other failure, and KitError for a bug of the kit.
    devices
        The devices for checks that need streams: "real", "simulated" (refarray-fakegpu),
        "simulated:FOLDER", "none", or "auto". ValueError for another value, or a missing one.
    profile
        The checks of a profile only: "legacy", "versioned", "table", "streams" or "hostile".
    rules
        The checks of a frozen rule set only, "2026.1"; later releases of the kit add none to it.

    Returns
    -------
    Report
        The findings; `print` shows them.
    """
    expected = check_known(expected_failures)
    cases = select(full=full, ids=ids, skip=skip, profile=profile, rules=rules)
    run = run_subject(subject, cases, devices=devices)
    marked = [
        replace(f, expected_failure=reason(f, expected)) if f.outcome.failed else f
        for f in run.findings
    ]
    report = Report(replace(run, findings=marked), expected)
    if raising:
        report.raise_for_failures()
    return report


def check_known(expected: Mapping[str, str] | None) -> Mapping[str, str]:
    """The expected failures. ValueError for a key that no check has, and for an empty reason."""
    expected = expected or {}
    covered = {name for each in select(full=True) for name in names_of(each)}
    if unknown := sorted(expected.keys() - requirements().keys() - covered):
        hint = suggestion(unknown, [*requirements(), *covered])
        raise ValueError(f"expected_failures: {', '.join(unknown)}: no such requirement{hint}")
    if unchecked := sorted(expected.keys() - covered):
        raise ValueError(f"expected_failures: no check covers {', '.join(unchecked)}")
    if missing := [name for name, why in expected.items() if not why]:
        raise ValueError(f"expected_failures: {', '.join(missing)}: the reason is empty")
    return expected


def parametrize(
    subject: str,
    *,
    full: bool = False,
    ids: Sequence[str] = (),
    skip: Sequence[str] = (),
    expected_failures: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Any]], pytest.MarkDecorator]:
    """A decorator that parametrizes a pytest test over the cases.

    The test's argument `check` is a function that raises AssertionError if the case fails. Cases of
    `expected_failures` are xfails; one more test per requirement, `ID-still-fails`, fails if none
    of them does. ValueError as in check().
    """
    import pytest

    from refarray.conformance.pytest_plugin import bind, still_fails

    expected = check_known(expected_failures)
    cases = select(full=full, ids=ids, skip=skip)
    parameters = [
        pytest.param(
            bind(subject, each),
            id=each.name,
            marks=[pytest.mark.xfail(reason=why, strict=False, raises=FAILURES)] if why else [],
        )
        for each, why in ((each, reason(each, expected)) for each in cases)
    ]
    for name in expected:
        if of := [each for each in cases if name in names_of(each)]:
            parameters.append(
                pytest.param(still_fails(subject, name, of), id=f"{name}-still-fails")
            )
    return pytest.mark.parametrize("check", parameters)
