"""The pytest plugin: `pytest --pyargs refarray.conformance --refarray-subject torch`.

Every pytest run in an environment with refarray loads it, so its options begin with --refarray-: a
conftest that adds an option of the same name would end the run. It adds no ini names, markers or
fixtures.

An error of the kit (Outcome.ERROR) is reported as a pytest error, not as a failure of the subject.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from refarray.conformance.cases import Check
    from refarray.conformance.runner.engine import Trial

_trials: dict[tuple[str, str], Trial] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --refarray-subject, --refarray-full and --refarray-devices."""
    group = parser.getgroup("refarray", "DLPack conformance (refarray)")
    group.addoption(
        "--refarray-subject",
        action="append",
        default=[],
        metavar="NAME",
        help="a library to check; may be repeated",
    )
    group.addoption("--refarray-full", action="store_true", help="run the slow cases, too")
    group.addoption(
        "--refarray-devices",
        default="auto",
        metavar="WHERE",
        help="the devices for checks that need streams, as for refarray check --devices",
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    """Marks the report of a test that ended in a KitError."""
    from refarray.conformance.findings import KitError

    outcome: Any = yield
    if call.excinfo is not None and call.excinfo.errisinstance(KitError):
        outcome.get_result().refarray_kit_error = True


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """Counts such a test as an error, not as a failure."""
    return ("error", "E", "ERROR") if getattr(report, "refarray_kit_error", False) else None


def trial(subject: str, devices: str) -> Trial:
    """The subject's process in this session; it lives until pytest ends."""
    from refarray.conformance.runner.engine import Trial
    from refarray.conformance.subjects.devices import chosen

    key = (subject, devices)
    if key not in _trials:
        _trials[key] = Trial(subject, chosen(devices))
        atexit.register(_trials[key].close)
    return _trials[key]


def bound(subject: str, check: Check, devices: str = "auto") -> Callable[[], None]:
    """A function that runs one case: AssertionError if it fails, KitError if the check does, a skip
    if it does not apply, an xfail for a broken SHOULD."""

    def run() -> None:
        from refarray.conformance.findings import KitError, Outcome
        from refarray.conformance.requirements import requirement

        found = trial(subject, devices).try_one(check)
        asked = requirement(found.id)
        text = (
            f"{found.id} {found.level}: {asked.title}\nexpected: {found.expected}\n"
            f"observed: {found.observed}\nstandard: {asked.source}\n\n{found.repro}"
        )
        if found.outcome is Outcome.ERROR:
            raise KitError(f"{check.name}: {text}")
        if found.outcome is Outcome.NOT_APPLICABLE:
            pytest.skip(found.observed)
        if found.outcome is Outcome.WARN:
            pytest.xfail(text)  # shown in the summary; does not fail the run
        assert not found.outcome.failed, text

    return run


def still_fails(subject: str, of: Sequence[Check]) -> Callable[[], None]:
    """A function that runs the cases of one requirement: AssertionError if none fails."""

    def run() -> None:
        from refarray.conformance.findings import KitError, Outcome

        one = trial(subject, "auto")
        outcomes = [one.try_one(check).outcome for check in of]
        if Outcome.ERROR in outcomes:
            raise KitError(f"{of[0].id}: a check failed by a bug of the kit")
        assert any(outcome.failed for outcome in outcomes), f"{of[0].id} did not fail, and has to"

    return run
