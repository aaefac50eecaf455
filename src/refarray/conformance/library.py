"""The functions that a project's own tests call: check, checks, parametrize."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refarray.conformance.cases import Check
from refarray.conformance.findings import Finding, KitError, Outcome
from refarray.conformance.report.text import text
from refarray.conformance.requirements import requirements
from refarray.conformance.runner.engine import Run, run_subject, selected
from refarray.conformance.runner.worker_process import Broken

if TYPE_CHECKING:
    import pytest


FAILURES = (AssertionError, Broken)
"""The exceptions of a case that fails. KitError is none of them."""


@dataclass(frozen=True)
class Report:
    """The findings on one subject. str() is the output of `refarray check`."""

    run: Run
    expected_failures: Mapping[str, str]

    @property
    def findings(self) -> list[Finding]:
        """All cases, in the order of the checks."""
        return self.run.findings

    @property
    def unexpected(self) -> list[Finding]:
        """Broken MUSTs, crashes and hangs of requirements that are not expected to fail."""
        return [f for f in self.findings if f.outcome.failed and f.id not in self.expected_failures]

    @property
    def errors(self) -> list[Finding]:
        """Cases in which the kit itself failed; they say nothing of the subject."""
        return [found for found in self.findings if found.outcome is Outcome.ERROR]

    @property
    def stale(self) -> list[str]:
        """Expected failures that were tried, and did not fail."""
        failed = {found.id for found in self.findings if found.outcome.failed}
        tried = {found.id for found in self.findings}
        unknown = {found.id for found in self.errors}
        return [name for name in self.expected_failures if name in tried - failed - unknown]

    def raise_for_failures(self) -> None:
        """AssertionError with the report if a case failed unexpectedly, or an expected failure did
        not occur. KitError if the kit itself failed."""
        if self.run.broken:
            raise AssertionError(f"{self.run.subject} could not be tried: {self.run.broken}")
        if self.errors:
            raise KitError(f"{len(self.errors)} checks failed by a bug of the kit\n\n{self}")
        if self.unexpected:
            raise AssertionError(f"{len(self.unexpected)} cases failed\n\n{self}")
        if self.stale:
            raise AssertionError(f"expected to fail, and did not: {', '.join(self.stale)}")

    def __str__(self) -> str:
        return text([self.run])


def checks(*, full: bool = False, ids: Sequence[str] = ()) -> list[Check]:
    """The registered checks: with `full` also the slow ones, with `ids` those of these requirements
    or families only. ValueError for an id without a check."""
    return selected(full=full, ids=ids)


def check(
    subject: str,
    *,
    full: bool = False,
    ids: Sequence[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    raising: bool = True,
    devices: str = "auto",
) -> Report:
    """Checks a library against the standards, in separate processes.

    Parameters
    ----------
    subject
        The name of an adapter (`numpy`, `torch` …) or of a module that follows the array API.
    full
        Run the slow cases, too.
    ids
        Requirements or families only: `["PROD-06", "VERS"]`. ValueError for one without a check.
    expected_failures
        `{id: reason}`: at least one case of each must fail. ValueError for an unknown id.
    raising
        Raise AssertionError for any other failure, and KitError for a bug of the kit.
    devices
        The devices for checks that need streams: "real", "simulated" (refarray-fakegpu),
        "simulated:FOLDER", "none", or "auto". ValueError for another value, or a missing one.

    Returns
    -------
    Report
        The findings; `print` shows them.
    """
    expected = requirements_only(expected_failures)
    report = Report(run_subject(subject, selected(full=full, ids=ids), devices=devices), expected)
    if raising:
        report.raise_for_failures()
    return report


def requirements_only(expected: Mapping[str, str] | None) -> Mapping[str, str]:
    """The expected failures. ValueError for an unknown requirement."""
    if unknown := sorted((expected or {}).keys() - requirements().keys()):
        raise ValueError(f"expected_failures: {', '.join(unknown)}: no such requirement")
    return expected or {}


def parametrize(
    subject: str,
    *,
    full: bool = False,
    ids: Sequence[str] = (),
    expected_failures: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Any]], pytest.MarkDecorator]:
    """A decorator that parametrizes a pytest test over the cases.

    The test's argument `check` is a function that raises AssertionError if the case fails. Cases of
    `expected_failures` are xfails; one more test per requirement, `ID-still-fails`, fails if none
    of them does. ValueError as in check().
    """
    import pytest

    from refarray.conformance.pytest_plugin import bound, still_fails

    expected = requirements_only(expected_failures)
    cases = selected(full=full, ids=ids)
    parameters = [
        pytest.param(
            bound(subject, each),
            id=each.name,
            marks=[pytest.mark.xfail(reason=expected[each.id], strict=False, raises=FAILURES)]
            if each.id in expected
            else [],
        )
        for each in cases
    ]
    for name in expected:
        if of := [each for each in cases if each.id == name]:
            parameters.append(pytest.param(still_fails(subject, of), id=f"{name}-still-fails"))
    return pytest.mark.parametrize("check", parameters)
