"""The tests that pytest collects with --pyargs refarray.conformance: one per subject and case."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A parameter for every check of every --refarray-subject."""
    from refarray.conformance.pytest_plugin import bound
    from refarray.conformance.runner.engine import selected

    subjects = metafunc.config.getoption("--refarray-subject")
    if not subjects:
        raise pytest.UsageError("name a library: --refarray-subject numpy")
    checks = selected(full=metafunc.config.getoption("--refarray-full"))
    where = metafunc.config.getoption("--refarray-devices")
    several = len(subjects) > 1
    metafunc.parametrize(
        "case",
        [
            pytest.param(
                bound(subject, each, where), id=f"{subject}-{each.name}" if several else each.name
            )
            for subject in subjects
            for each in checks
        ],
    )


def test_requirement(case: Callable[[], None]) -> None:
    """The requirement holds in this case."""
    case()
