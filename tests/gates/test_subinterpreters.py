"""The partner-free suite passes in two sub-interpreters at once, each with its own GIL."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

pytestmark = [pytest.mark.every_python, pytest.mark.not_repeated]


@pytest.mark.req("LIFE-25", "LIFE-24")
@pytest.mark.skipif(sys.version_info < (3, 12), reason="all interpreters share one GIL before 3.12")
def test_suite_passes_in_two_interpreters_at_once(isolated: Any) -> None:
    """Neither interpreter is affected by the other."""
    answers = [json.loads(line) for line in isolated("two_suites.py", seconds=500).splitlines()]
    assert [answer["failures"] for answer in answers] == [[], []]
    assert [answer["status"] for answer in answers] == [0, 0]
    for answer in answers:
        counts = answer["counts"]
        assert counts["passed"] > 800
        assert counts.get("skipped", 0) < 80, "the interpreter skipped more than expected"
