#!/usr/bin/env python3
"""The gate `without-compute`: the array and its exchange, built and tested without computations."""

from __future__ import annotations

import sys

from common import PYTEST, build, loaded, located, run, say, tool

#: The namespace lacks the functions, and operators are nobody's.
LACKS = """
import operator, refarray
from refarray import *
assert not {"add", "sum", "take", "sort", "fft", "linalg"} & set(refarray.__all__)
x = refarray.arange(3)
for call in (operator.add, operator.lt, operator.matmul):
    try:
        call(x, x)
    except TypeError as error:
        assert "not supported between" in str(error) or "unsupported operand" in str(error)
    else:
        raise AssertionError(call)
"""


def main(arguments: list[str]) -> None:
    folder = build("without-compute", options=["-DREFARRAY_COMPUTE=OFF"])
    with_environment = loaded(folder)
    run([sys.executable, "-c", LACKS], with_environment)
    say("C++ tests")
    run([tool("ctest"), "--test-dir", folder, "--output-on-failure"], with_environment)
    say("pytest")
    files = arguments or [located(name) for name in ("array", "dlpack")]
    run([*PYTEST, "-m", "not computes", *files], with_environment)


if __name__ == "__main__":
    main(sys.argv[1:])
