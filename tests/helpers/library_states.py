"""Passes every kind of array that the kit knows of a library to refarray as consumer: also those
that were deleted, donated, or never had memory. Prints a line for each, and "done" at the end.

Arguments: the name of the kit's subject."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import refarray
from refarray.conformance.subjects.lookup import subject

#: States of a library's arrays besides the kit's kinds: statements that define `x`.
MORE = {
    "jax": {
        "deleted integers": "x = jnp.arange(3); x.delete()",
        "donated": "x = jnp.ones(3); jax.jit(lambda y: y + 1, donate_argnums=0)(x)",
        "key": "x = jax.random.key(0)",
        "shape only": "x = jax.ShapeDtypeStruct((3,), 'float32')",
    },
    "torch": {
        "no storage": "x = torch.ones(3); x.untyped_storage().resize_(0)",
        "view without storage": "x = torch.ones(8)[4:]; x.untyped_storage().resize_(0)",
        "lazy parameter": "x = torch.nn.parameter.UninitializedParameter()",
        "under vmap": "y = []; torch.vmap(lambda z: (y.append(z), z)[1])(torch.ones(3)); x = y[0]",
        "inference": "with torch.inference_mode(): x = torch.ones(3)",
    },
    "numpy": {"released buffer": "m = memoryview(bytearray(8)); x = m[:4]; m.release()"},
}
CONSUMERS: dict[str, Callable[[Any], Any]] = {
    "from_dlpack": refarray.from_dlpack,
    "asarray": refarray.asarray,
    "asarray, copied": lambda x: refarray.asarray(x, copy=True),
    "item": lambda x: refarray.asarray([x]),
    "inspect": refarray.inspect,
}
#: What ends the process in the library's own code, before refarray sees a tensor.
NOT_ASKED = {
    # Tensor.__dlpack__(copy=True) clones a tensor without checking that it has memory.
    ("torch", "freed", "asarray, copied"),
    ("torch", "no storage", "asarray, copied"),
    ("torch", "view without storage", "asarray, copied"),
}


def outcome(consume: Callable[[Any], Any], x: Any) -> str:
    """What came of it; reads every element of an array that was imported."""
    try:
        result = consume(x)
        if isinstance(result, refarray.Array):
            return f"{result.shape} {result.dtype} {result.tolist()}"
        return "inspected" if repr(result) else ""
    except Exception as error:  # a refusal; only the end of the process is a failure
        return type(error).__name__


def main(name: str) -> None:
    warnings.simplefilter("ignore")
    library = subject(name)
    common: dict[str, Any] = {}
    exec(library.imports, common)
    kinds = {
        kind: f"{library.states.get(kind, '')}\nx = {text}" for kind, text in library.arrays.items()
    }
    for kind, code in (kinds | MORE.get(name, {})).items():
        names = dict(common)
        try:
            exec(code, names)
        except Exception as error:  # this version of the library lacks the state
            print(f"{kind}: not made: {type(error).__name__}: {error}", flush=True)
            continue
        found = [
            f"{way}: {outcome(take, names['x'])}"
            for way, take in CONSUMERS.items()
            if (name, kind, way) not in NOT_ASKED
        ]
        print(f"{kind}: {'; '.join(found)}", flush=True)
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
