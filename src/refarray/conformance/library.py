"""Owns the functions that a project's own tests call: check, checks, parametrize."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refarray.conformance.cases import Check
from refarray.conformance.findings import Finding
from refarray.conformance.report.text import text
from refarray.conformance.requirements import requirements
from refarray.conformance.runner.engine import Run, run_subject, selected

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Report:
    """What came of one subject. Its text is what `refarray check` prints."""

    run: Run
    expected_failures: Mapping[str, str]

    @property
    def findings(self) -> list[Finding]:
        """Every case, in the order of the checks."""
        return self.run.findings

    @property
    def unexpected(self) -> list[Finding]:
        """Broken MUSTs, crashes and hangs of requirements that are not expected to fail."""
        return [f for f in self.findings if f.outcome.failed and f.id not in self.expected_failures]

    @property
    def stale(self) -> list[str]:
        """Expected failures that were tried and did not fail."""
        failed = {found.id for found in self.findings if found.outcome.failed}
        tried = {found.id for found in self.findings}
        return [name for name in self.expected_failures if name in tried - failed]

    def raise_for_failures(self) -> None:
        """AssertionError with the report when anything failed that was not expected to, or did not
        that was."""
        if self.run.broken:
            raise AssertionError(f"{self.run.subject} could not be tried: {self.run.broken}")
        if self.unexpected:
            raise AssertionError(f"{len(self.unexpected)} cases failed\n\n{self}")
        if self.stale:
            raise AssertionError(f"expected to fail, and did not: {', '.join(self.stale)}")

    def __str__(self) -> str:
        return text([self.run])


def checks(*, full: bool = False, ids: Sequence[str] = ()) -> list[Check]:
    """The checks there are: all with `full`, those of some requirements or families with `ids`.
    ValueError for an id that none of them is of."""
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
    """Tries a library against the standards, in processes of its own.

    Parameters
    ----------
    subject
        An adapter's name (`numpy`, `torch` …) or a module with the array API's names.
    full
        Every case and profile.
    ids
        Requirements or families only: `["PROD-06", "VERS"]`. ValueError for one without a check.
    expected_failures
        `{id: reason}`: these may fail, and have to. ValueError for an id that is no requirement.
    raising
        Whether anything else that fails is an AssertionError.
    devices
        What stands for devices with streams: "real", "simulated" (refarray-fakegpu),
        "simulated:FOLDER", "none", or "auto". ValueError for anything else, or what is not there.

    Returns
    -------
    Report
        The findings; `print` it to read them.
    """
    expected = requirements_only(expected_failures)
    report = Report(run_subject(subject, selected(full=full, ids=ids), devices=devices), expected)
    if raising:
        report.raise_for_failures()
    return report


def requirements_only(expected: Mapping[str, str] | None) -> Mapping[str, str]:
    """The expected failures: ValueError for one that nothing can bear out."""
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
    """A decorator for a pytest test that takes `check`: a function without arguments, one for each
    case, that raises AssertionError when the case fails. The cases of expected failures, by
    requirement id, are xfails; one more, `ID-still-fails`, fails when none of them does. ValueError
    as of check()."""
    import pytest

    from refarray.conformance.pytest_plugin import bound, still_fails

    expected = requirements_only(expected_failures)
    cases = selected(full=full, ids=ids)
    parameters = [
        pytest.param(
            bound(subject, each),
            id=each.name,
            marks=[pytest.mark.xfail(reason=expected[each.id], strict=False)]
            if each.id in expected
            else [],
        )
        for each in cases
    ]
    for name in expected:
        if of := [each for each in cases if each.id == name]:
            parameters.append(pytest.param(still_fails(subject, of), id=f"{name}-still-fails"))
    return pytest.mark.parametrize("check", parameters)
