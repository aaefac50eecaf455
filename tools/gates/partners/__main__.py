#!/usr/bin/env python3
"""Runs the tests of heavy partners and the calls of every library, each in its environment:
`python tools/gates/partners [--update] [NAME …]`; --update records the outcomes of the calls."""

from __future__ import annotations

import sys

import partner_calls
import partner_tests
from partner_calls import calls_page


def main(arguments: list[str]) -> int:
    asked = [name for name in arguments if name != "--update"]
    tests, libraries = partner_tests.partners(), calls_page.rows()
    if unknown := set(asked) - tests.keys() - libraries.keys():
        known = ", ".join(sorted({*tests, *libraries}))
        print(f"no partner {', '.join(sorted(unknown))}; there are {known}")
        return 2
    names = asked or list(dict.fromkeys([*tests, *libraries]))
    passed = True
    if chosen := [name for name in names if name in libraries]:
        passed = partner_calls.run_all(chosen, "--update" in arguments)
    if chosen := [name for name in names if name in tests]:
        passed = partner_tests.run_all(chosen) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
