"""Runs every hostile case and prints a line of JSON for each: `python -m hostile` in `tests`, with
the adversary on the path; refarray's blocks on the C heap are counted where that can be done."""

import json
import sys

import adversary
from refarray import _native

from . import everything
from .runner import run, warm_up


def main() -> int:
    heap = adversary.watch(_native.__file__)
    cases = everything()
    print(json.dumps({"module": _native.__file__, "cases": len(cases), "heap": heap}), flush=True)
    warm_up(adversary)
    for case in cases:
        throws, findings = run(adversary, case, heap)
        line = {"name": str(case), "family": case.family, "throws": throws, "findings": findings}
        print(json.dumps(line), flush=True)
    return 0


sys.exit(main())
