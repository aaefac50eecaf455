"""Lets C code call every function of our exchange table when the interpreter has gone."""

import adversary
import refarray

api = adversary.api(refarray.Array)
assert api.allocate(adversary.make(versioned=False))[0] == 0
api.call_at_exit()
print("alive until here", flush=True)
