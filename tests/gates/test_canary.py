"""Canaries: every planted bug applies to the sources. `make gate G=canary` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.gate_loading import load_gate

pytestmark = pytest.mark.repository

canary = load_gate("canary")


@pytest.mark.parametrize("path", canary.canaries(), ids=lambda path: path.stem)
def test_every_canary_patch_applies(path: Path) -> None:
    planted = canary.read(path)
    assert planted.bug and planted.expect.pattern
    assert planted.expect.search("") is None, "Expect matches any output"
    canary.plant(planted, canary.ROOT, only_check=True)
