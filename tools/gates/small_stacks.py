#!/usr/bin/env python3
"""The gate `small-stacks`: every public call, and matrices of many orders, in threads with stacks
of 64 KiB. Its own build is optimised as the wheel is, since inlining makes frames larger."""

from __future__ import annotations

from common import PYTEST, build, loaded, located, run


def main() -> None:
    optimised = ("-DCMAKE_BUILD_TYPE=Release", "-DREFARRAY_LTO=ON")
    folder = build("small-stacks", options=["-DREFARRAY_TESTS=OFF", *optimised])
    run([*PYTEST, "--long=2", located("test_small_stacks.py")], loaded(folder))


if __name__ == "__main__":
    main()
