"""Foreign code that calls refarray again without end: RecursionError, not a stack overflow."""

from __future__ import annotations

import ast
from typing import Any

import pytest

CASES = [
    *("deep __index__", "deep __array__", "deep __len__"),
    *("deep __getitem__", "deep __dlpack__", "deep __array_interface__"),
    *("deep __cuda_array_interface__", "assign", "index", "shape", "full", "arange"),
    *("from_dlpack", "asarray of a producer", "C __index__"),
]


@pytest.mark.not_sanitized("a sanitizer's frames are larger than CPython's limit allows for")
@pytest.mark.parametrize("case", CASES)
def test_endless_recursion_raises(isolated: Any, case: str) -> None:
    assert isolated("stack_use.py", "recursion", case) == "RecursionError\n"


@pytest.mark.computes
@pytest.mark.not_sanitized("a sanitizer's frames do not fit a small stack")
@pytest.mark.parametrize("stack", [0, -(2**20), 2**16], ids=["main", "limited", "64K"])
def test_every_callable_may_be_called_again_from_its_arguments(isolated: Any, stack: int) -> None:
    """The interpreter's limit does not end the recursion in the threads: their stack does."""
    outcomes = ast.literal_eval(isolated("user_code/reentry.py", str(stack)).splitlines()[-1])
    assert outcomes["RecursionError"] > 300
