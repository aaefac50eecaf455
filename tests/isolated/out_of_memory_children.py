"""Sweeps calls that end, at once or the next time, complain and hang as the interpreter itself may
without memory, each in children; prints what became of them and what reached stderr, as JSON."""

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

BROKEN = []  # holds something in a process that dies at its next call


def without_memory(then):
    """A call that allocates, and calls `then` where that fails."""

    def call(state):
        if BROKEN:
            die()
        try:
            bytearray(64)
        except MemoryError:
            then()
            raise

    return call


def die():
    os.write(2, b"Fatal Python error: last words\n")
    os.abort()


def break_down():
    BROKEN.append(True)


def complain():
    os.write(2, b"no memory here\n")


def hang():
    os.write(2, b"still trying\n")
    while True:
        time.sleep(1)


found = {}
ways = {"dies": die, "dies later": break_down, "complains": complain, "hangs": hang}
for name, then in ways.items():
    recipe = Recipe(name, "", without_memory(then), lambda: None, (), True, ())
    result = sweep.Result(name, "")
    if then is hang:  # the others have all the time there is
        sweep.PATIENCE = 5
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        sweep.sweep_in_children(recipe, "python", result)
    part = result.to_dict()
    found[name] = {key: part[key] for key in ("failed", "interpreter", "findings")}
    found[name]["said"] = stream.getvalue()
print(json.dumps(found))
