"""Out-of-memory sweep of all recipes, or of those whose numbers are given.

Prints one JSON line per recipe, then one with the places in refarray where an allocation failed."""

import gc
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hostile.runner import warm_up
from oom.recipes import NEEDS_DRIVER, RECIPES, public_calls
from oom.sweep import sweep_all

import adversary
from refarray import _native


def report(unraisable):
    """CPython reports a MemoryError that has no caller to propagate to; only others are printed."""
    if not issubclass(unraisable.exc_type, MemoryError):
        sys.__unraisablehook__(unraisable)


sys.unraisablehook = report
heap = adversary.watch(_native.__file__)
numbers = [int(number) for number in sys.argv[1:]] or range(len(RECIPES))
warm_up(adversary)
gc.collect()
gc.freeze()
for number in numbers:
    print(json.dumps(sweep_all(RECIPES[number], heap).to_dict()), flush=True)
missing = sorted(public_calls() - NEEDS_DRIVER - {recipe.name for recipe in RECIPES})
print(json.dumps({"heap": heap, "sites": adversary.failing_sites(), "missing": missing}))
