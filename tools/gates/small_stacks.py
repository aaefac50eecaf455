#!/usr/bin/env python3
"""The gate `small-stacks`: every public call, and matrices of many orders, in threads with stacks
of 64 KiB, with a build of its own at the wheel's optimisation."""

from __future__ import annotations

from common import PYTEST, build, loaded, located, run


def main() -> None:
    folder = build("small-stacks", options=["-DREFARRAY_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"])
    run([*PYTEST, "--long=2", located("test_small_stacks.py")], loaded(folder))


if __name__ == "__main__":
    main()
