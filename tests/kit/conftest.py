"""The folders from which the process of a subject imports, besides this one's packages."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def mutants_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=":")


@pytest.fixture
def drivers_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutants and the simulated drivers."""
    monkeypatch.setenv("PYTHONPATH", f"{TESTS}:{TESTS.parent / 'fakegpu'}", prepend=":")
