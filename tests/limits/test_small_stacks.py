"""Other people's threads have small stacks: musl gives 128 KiB, and NumPy needs no more than 64."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytestmark = pytest.mark.every_python

#: CPython from 3.14 on calls no Python function where less is left.
INTERPRETER = 32 << 10 if sys.version_info >= (3, 14) else 0
STACK = (64 << 10) + INTERPRETER
SMALLER = (48 << 10) + INTERPRETER  # what a caller has used is missing


@pytest.mark.not_sanitized("a sanitizer's frames are larger")
def test_every_call_fits_a_small_stack(isolated: Any) -> None:
    isolated("limits/small_stacks.py", str(STACK), "100")


@pytest.mark.long
@pytest.mark.not_sanitized("a sanitizer's frames are larger")
def test_large_matrices_fit_a_small_stack(isolated: Any) -> None:
    """Within one panel of every algorithm, of some of them, and of several."""
    isolated("limits/small_stacks.py", str(SMALLER), "20", "100", "256", "400", seconds=600)
