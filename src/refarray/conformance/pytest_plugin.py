"""Owns the pytest plugin: `pytest --pyargs refarray.conformance --subject torch`."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from refarray.conformance.cases import Check
    from refarray.conformance.runner.engine import Trial

_trials: dict[tuple[str, str], Trial] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """--subject, which may be given again, and --conformance-full."""
    from refarray.conformance.subjects.devices import CHOICES

    group = parser.getgroup("refarray", "DLPack conformance (refarray)")
    group.addoption(
        "--subject",
        action="append",
        default=[],
        metavar="NAME",
        help="a library to try; may be given again",
    )
    group.addoption("--conformance-full", action="store_true", help="every case and profile")
    group.addoption(
        "--conformance-devices",
        default="auto",
        metavar="WHERE",
        help=f"what stands for devices with streams: {CHOICES}",
    )


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
    """A function that tries one case: AssertionError when it fails, skipped when there is nothing
    to try it on, a warning for a broken SHOULD."""

    def run() -> None:
        import pytest

        from refarray.conformance.findings import Outcome
        from refarray.conformance.requirements import requirement

        found = trial(subject, devices).try_one(check)
        asked = requirement(found.id)
        words = (
            f"{found.id} {found.level}: {asked.title}\nexpected: {found.expected}\n"
            f"observed: {found.observed}\nstandard: {asked.source}\n\n{found.repro}"
        )
        if found.outcome is Outcome.NOT_APPLICABLE:
            pytest.skip(found.observed)
        if found.outcome is Outcome.WARN:
            pytest.xfail(words)  # shown in the summary; does not fail the run
        assert not found.outcome.failed, words

    return run


def still_fails(subject: str, of: Sequence[Check]) -> Callable[[], None]:
    """A function that tries the cases of one requirement: AssertionError when none fails."""

    def run() -> None:
        one = trial(subject, "auto")
        failed = any(one.try_one(check).outcome.failed for check in of)
        assert failed, f"{of[0].id} did not fail, and has to"

    return run
