#!/usr/bin/env python3
"""The gate `engines`: arrays in Ray's object store, between Dask's workers and two MPI ranks, and
the examples of docs/engines.md. Its build leaves out what computes, which engines do not need."""

from __future__ import annotations

import sys

from common import PYTEST, TESTS, build, loaded, run


def main(arguments: list[str]) -> None:
    parts = ("-DREFARRAY_COMPUTE=OFF", "-DREFARRAY_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release")
    folder = build("engines", options=parts)
    run([*PYTEST, "--durations=5", *(arguments or [TESTS / "engines"])], loaded(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
