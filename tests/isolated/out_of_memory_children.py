"""The out-of-memory sweep in children classifies calls that crash, print or hang.

An interpreter without memory may do any of these. Prints the results and stderr as JSON."""

import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from oom import sweep
from oom.recipe import Recipe

BROKEN = []  # not empty in a process that crashes at its next call


def on_memory_error(then):
    """A call that allocates, and calls `then` on MemoryError."""

    def call(state):
        if BROKEN:
            crash()
        try:
            bytearray(64)
        except MemoryError:
            then()
            raise

    return call


def crash():
    os.write(2, b"Fatal Python error: simulated\n")
    os.abort()


def crash_later():
    BROKEN.append(True)


def print_to_stderr():
    os.write(2, b"no memory here\n")


def hang():
    os.write(2, b"still trying\n")
    while True:
        time.sleep(1)


found = {}
calls = {"crashes": crash, "crashes later": crash_later, "prints": print_to_stderr, "hangs": hang}
for name, then in calls.items():
    recipe = Recipe(name, "", on_memory_error(then), lambda: None, (), True, ())
    result = sweep.Result(name, "")
    if then is hang:
        sweep.TIMEOUT = 5
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        sweep.sweep_in_children(recipe, "python", result)
    part = result.to_dict()
    found[name] = {key: part[key] for key in ("failed", "interpreter", "findings")}
    found[name]["stderr"] = stream.getvalue()
print(json.dumps(found))
