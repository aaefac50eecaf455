"""The gate of the mutants of the array API: what counts as a kill, and what a mutant may do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.gate_loading import load_gate

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def gate() -> Any:
    return load_gate("array_api_mutants")


@pytest.mark.parametrize(
    ("killed_by", "results", "errors", "verdict"),
    [
        ("test_a", 1, [], "killed"),
        ("test_a", 1, ["setup of test_b: OSError"], "killed"),
        ("test_a", 0, [], "error"),
        ("", 5, [], "survived"),
        ("", 0, ["the process died"], "error"),
    ],
)
def test_only_failed_tests_are_kills(
    gate: Any, killed_by: str, results: int, errors: list[str], verdict: str
) -> None:
    outcome = {"killed_by": killed_by, "results": results, "errors": errors}
    assert gate.verdict(outcome) == verdict


def test_errors_lower_the_rate(gate: Any) -> None:
    outcomes = {
        "a": {"killed_by": "test", "results": 1, "errors": []},
        "b": {"killed_by": "", "errors": ["no end after 300 s"]},
    }
    assert gate.rate(outcomes) == 0.5
    assert gate.summary("tests", outcomes) == "tests: 1 of 2 mutants killed, 1 errors, 50.0 %"


SCRIPT = """
import refarray as xp
from array_api.namespace_mutants import load
from array_api.namespace_mutants.base import MUTANTS, SWITCH, IntendedError, Mutant, install

def fail(f, x): raise KeyError
def refuse(f, x): raise IntendedError(KeyError("on purpose"))
def call_others(f, x): return xp.abs(x) + 1

load()
assert len(MUTANTS) >= 220
install()
x = xp.asarray([-1.5, 2.0])
assert xp.abs(x).tolist() == [1.5, 2.0] and {"abs", "asarray"} <= SWITCH.called
SWITCH.mutant = Mutant("abs", "accident", "", fail)
assert xp.abs(x).tolist() == [1.5, 2.0] and SWITCH.results == 0
SWITCH.mutant = Mutant("abs", "nested", "", call_others)
assert xp.abs(x).tolist() == [2.5, 3.0] and SWITCH.results == 1
for wrong, error in (((), TypeError), ((None,), TypeError)):
    try:
        xp.abs(*wrong)
    except error:
        pass
    else:
        raise AssertionError("a mutant accepted what the function refuses")
SWITCH.mutant = Mutant("abs", "refuses", "", refuse)
try:
    xp.abs(x)
except KeyError:
    pass
else:
    raise AssertionError("the intended exception was lost")
SWITCH.mutant = Mutant("Array.__add__", "nested", "", lambda f, x, y: f(x, y) * 2)
assert (x + 1).tolist() == [-1.0, 6.0] and (1 + x).tolist() == [-0.5, 3.0]
"""


def test_mutants_break_one_function_only() -> None:
    script = f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
