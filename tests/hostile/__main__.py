"""`python -m hostile`, run in `tests`: runs every hostile case and prints one JSON line for each.

The adversary module must be on the path. refarray's C heap blocks are counted where the platform
allows it."""

import json
import sys

import adversary
from refarray import _native

from . import all_cases
from .runner import run, warm_up


def main() -> int:
    heap = adversary.watch(_native.__file__)
    cases = all_cases()
    print(json.dumps({"module": _native.__file__, "cases": len(cases), "heap": heap}), flush=True)
    warm_up(adversary)
    for case in cases:
        attempts, findings = run(adversary, case, heap)
        line = {"name": str(case), "family": case.family, "throws": attempts, "findings": findings}
        print(json.dumps(line), flush=True)
    return 0


sys.exit(main())
