"""The fuzz target that enters the extension, without its fuzzer: kept inputs and random ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helpers.processes import python, python_path

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
RANDOM_INPUTS = 1000
RUN = """
import random, resource, sys
import calls
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # a shape may ask for all memory
numbers = random.Random(1)
inputs = [bytes.fromhex(line) for line in open(sys.argv[1]) if line.strip()]
inputs += [numbers.randbytes(numbers.randrange(8, 200)) for _ in range(int(sys.argv[2]))]
for data in inputs:
    print(data.hex(), flush=True)
    calls.run(data)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = python_path(FUZZ / "extension")
    return python("-X", "faulthandler", "-c", *arguments, seconds=300, PYTHONPATH=path)


@pytest.mark.not_sanitized("a sanitizer needs more addresses than the limit of the script")
def test_calls_with_hostile_arguments_end_in_results_or_exceptions() -> None:
    done = run(RUN, str(FUZZ / "corpus" / "extension.hex"), str(RANDOM_INPUTS))
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"{done.returncode} at the input {last}\n{done.stderr[-3000:]}"
    assert len(done.stdout.splitlines()) >= RANDOM_INPUTS


@pytest.mark.parametrize(
    "bug",
    [
        "from_dlpack = lambda x: (x.__dlpack__(), x.__dlpack__())",
        "getitem = lambda x, i: (x[i], i.__index__())",
    ],
)
def test_a_question_asked_twice_is_noticed(bug: str) -> None:
    """The oracle itself: `calls` with a function that asks a producer, or an index, twice."""
    name = bug.split(" =")[0]
    code = f"""
import random, calls
{bug}
calls.CALLABLES[:] = [[("{name}", {name})]]
calls.KEYWORDS[id({name})] = []
numbers = random.Random(2)
for _ in range(3000):
    calls.run(numbers.randbytes(40))
"""
    done = run(code)
    assert done.returncode != 0
    assert "of one object 2 times" in done.stderr
