"""Hypothesis draws the same examples in every run, whatever ran or was imported before."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st


def drawn() -> list[str]:
    examples = []

    @given(st.tuples(st.integers(), st.floats(), st.text()))
    def note(values: object) -> None:
        examples.append(repr(values))

    note()
    return examples


def test_imported_modules_change_no_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn()
    module = ModuleType("module_with_numbers")
    source = tmp_path / "module_with_numbers.py"
    source.write_text(f"NUMBERS = {[each * 1_000_003 + 0.5 for each in range(50)]}")
    module.__file__ = str(source)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert drawn() == before and len(before) >= 100


def test_no_failure_is_replayed() -> None:
    assert settings().database is None
    tried: list[list[int]] = [[], []]
    for numbers in tried:
        find(st.integers(), lambda number, seen=numbers: seen.append(number) or number > 10**6)
    assert tried[0] == tried[1]
