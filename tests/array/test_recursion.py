"""Foreign code that calls refarray again without end: RecursionError, not a stack overflow."""

from __future__ import annotations

import sys
from typing import Any

import pytest

CASES = [
    *("deep __float__", "deep __index__", "deep __complex__", "deep __array__", "deep __len__"),
    *("deep __getitem__", "deep __dlpack__", "deep __array_interface__"),
    *("deep __cuda_array_interface__", "assign", "index", "shape", "full", "arange"),
    *("from_dlpack", "asarray of a producer"),
]
# Recursion through C functions only. CPython 3.13 allows 10,000 levels of it, which overflow a
# stack of 8 MiB in range(), too; other versions allow at most 1,500.
IN_C = ["C __index__", "C __float__"] if sys.version_info[:2] != (3, 13) else []


@pytest.mark.not_sanitized("a sanitizer's frames are larger than CPython's limit allows for")
@pytest.mark.parametrize("case", [*CASES, *IN_C])
def test_endless_recursion_raises(isolated: Any, case: str) -> None:
    assert isolated("stack_use.py", "recursion", case) == "RecursionError\n"
