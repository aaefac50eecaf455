"""Out-of-memory sweep of all recipes; with the argument `sample`, of recipes.share(); or of those
whose names contain the argument.

Prints one JSON line per recipe, then one with the places in refarray where an allocation failed."""

import gc
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hostile.runner import warm_up
from oom.recipes import NEEDS_DRIVER, RECIPES, of_kinds, public_calls, share
from oom.sweep import sweep_all

import adversary
from refarray import _native


def report(unraisable):
    """CPython reports a MemoryError that has no caller to propagate to; only others are printed."""
    if not issubclass(unraisable.exc_type, MemoryError):
        sys.__unraisablehook__(unraisable)


sys.unraisablehook = report
heap = adversary.watch(_native.__file__)
generated = of_kinds()
chosen = [*RECIPES, *generated]
if sys.argv[1:] == ["sample"]:
    chosen = share()
elif sys.argv[1:]:
    chosen = [recipe for recipe in chosen if sys.argv[1] in str(recipe)]
warm_up(adversary)
gc.collect()
gc.freeze()
for recipe in chosen:
    print(json.dumps(sweep_all(recipe, heap).to_dict()), flush=True)
missing = sorted(public_calls() - NEEDS_DRIVER - {recipe.name for recipe in RECIPES})
print(json.dumps({"heap": heap, "sites": adversary.failing_sites(), "missing": missing}))
