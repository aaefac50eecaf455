"""The fuzz target for headers of files, without its fuzzer: inputs that are always the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.processes import python, python_path

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
INPUTS = 6000


def run(code: str) -> tuple[int, str]:
    done = python("-c", code, PYTHONPATH=python_path(FUZZ / "files"))
    return done.returncode, done.stdout + done.stderr


def test_readers_agree_with_independent_ones() -> None:
    code = f"""
import headers
for line in open({str(FUZZ / "corpus" / "files.hex")!r}):
    headers.run(bytes.fromhex(line))
headers.main({INPUTS})
"""
    status, output = run(code)
    assert status == 0, output[-3000:]
    accepted = [int(number) for number in re.findall(r"(\d+) of", output)]
    assert min(accepted) > INPUTS // 100, output  # well-formed ones are among them


#: Bugs, each a line that changes a reader.
BUGS = {
    "gaps": "safetensors.check_places = check_places_but_for_gaps",
    "overflow": "safetensors.count_bits = lambda shape, bits: math.prod(shape) * bits",
    "escapes": "safetensors._text = lambda scanner, what: scanner.match(safetensors.TEXT, what)",
    "zeros": "npy.LONG = re.compile('([0-9]+)L?')",
}


@pytest.mark.parametrize("name", BUGS)
def test_a_wrong_reader_is_noticed(name: str) -> None:
    code = f"""
import inspect, math, re
import headers
from refarray._files import npy, safetensors
source = inspect.getsource(safetensors.check_places).replace("begin != at", "begin < at")
exec(source.replace("check_places", "check_places_but_for_gaps"), vars(safetensors), globals())
{BUGS[name]}
headers.main({4 * INPUTS})
"""
    status, output = run(code)
    assert status != 0 and re.search("Wrong: |SyntaxError: leading zeros", output), output[-3000:]
