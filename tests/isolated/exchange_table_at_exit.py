"""C code calls every function of refarray's exchange table after the interpreter has ended."""

import adversary
import refarray

api = adversary.api(refarray.Array)
assert api.allocate(adversary.make(versioned=False))[0] == 0
api.call_at_exit()
print("alive until here", flush=True)
