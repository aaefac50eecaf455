#!/usr/bin/env python3
"""The gate `without-compute`: the array and its exchange, built and tested without computations."""

from __future__ import annotations

import sys

from common import build, compile_adversary, environment, located, print_loaded, run, say, tool

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
    with_environment = environment(folder)
    compile_adversary(with_environment)
    print_loaded(folder, with_environment)
    run([sys.executable, "-c", LACKS], with_environment)
    say("C++ tests")
    run([tool("ctest"), "--test-dir", folder, "--output-on-failure"], with_environment)
    say("pytest")
    options = ("-q", "-p", "no:cacheprovider", "-m", "not computes")
    files = arguments or [located(name) for name in ("array", "dlpack")]
    run([sys.executable, "-m", "pytest", *options, *files], with_environment)


if __name__ == "__main__":
    main(sys.argv[1:])
