"""The tests that pytest collects with --pyargs refarray.conformance: one per subject and case."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A parameter for every case of every --dlpack-subject, and for every expectation."""
    from refarray.conformance.pytest_plugin import parameters

    metafunc.parametrize("case", parameters(metafunc.config))


def test_requirement(case: Callable[[], None]) -> None:
    """The requirement holds in this case."""
    case()
