"""Shared arrays between the interpreters of a process, which have its arenas in common."""

import sys

from interpreters_of_cpython import start

import refarray.shared as shared

CODE = f"""
import sys
sys.path[:] = {sys.path!r}
import refarray, refarray.shared as shared
x = shared.attach(MESSAGE)
x[0] = x[0] + 1
assert shared.arena_of(x).usage().processes == 1
own = shared.asarray(refarray.arange(5))  # in the arena of the message
assert shared.arena_of(own) == shared.arena_of(x)
"""

array = shared.zeros(4)
runs = [start(), start()]
for run in runs:
    run(CODE.replace("MESSAGE", repr(array.shared_handle().to_bytes())))
print(array.tolist(), shared.arena_of(array).usage().held)
for run in runs:
    run.close()
shared.collect()
print(shared.arena_of(array).usage()[3:])
