"""Recipes of calls that ledgers count or forbid."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import refarray

from .exchange import NUMPY_ERRORS
from .namespaces import GPU
from .recipe import Recipe, matrix

SPACE: Any = refarray.namespace(devices=[GPU])
#: By kind: what each of the nested ledgers forbids.
LEDGERS: dict[str, list[tuple[str, ...]]] = {
    "ledger": [()],
    "ledgers": [("copy",), (), ("allocation", "transfer")],
    **{f"no {kind}": [(kind,)] for kind in ("allocation", "copy", "transfer", "synchronization")},
}
#: What is done with an array of the host and one of a virtual device.
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "astype": lambda x, _: x.astype(refarray.int16),
    "copy": lambda x, _: x.copy(),
    "float": lambda _, y: float(y[0, 0]),
    "from_dlpack": lambda _, y: SPACE.from_dlpack(y, device=SPACE.Device("cpu"), copy=True),
    "iter": lambda _, y: list(y[0, :]),
    "matmul": lambda _, y: y @ y.T,
    "numpy": lambda x, _: x.T.numpy(),
    "pickle": lambda x, y: pickle.dumps((x, y), 5),
    "repr": lambda x, y: (repr(x), repr(y), str(y)),
    "setitem": lambda x, _: x.__setitem__((slice(None), 0), x[:, 1]),
    "sum": lambda _, y: SPACE.sum(y),
    "to_device": lambda x, y: (y.to_device(SPACE.Device("cpu")), x.to_device(GPU)),
    "tobytes": lambda x, y: (x.T.tobytes(), y.tobytes()),
    "tolist": lambda _, y: y.tolist(),
    "zeros": lambda _, y: SPACE.zeros((3, 400), device=GPU),
}
#: How the standard library and NumPy report that they had no memory.
INSTEAD = {"numpy": NUMPY_ERRORS, "pickle": (pickle.PicklingError,)}


def pair() -> tuple[Any, Any]:
    x = SPACE.from_dlpack(matrix())
    return x, x.to_device(GPU)


def counted(forbidden: list[tuple[str, ...]], operation: Callable[..., Any], state: Any) -> None:
    with refarray.ledger(forbid=forbidden[0]) as ledger:
        if forbidden[1:]:
            counted(forbidden[1:], operation, state)
        else:
            operation(*state)
    repr(ledger)


def recipes() -> Iterator[Recipe]:
    for kind, forbidden in LEDGERS.items():
        for name, operation in OPERATIONS.items():
            call = partial(counted, forbidden, operation)
            more = {"instead": INSTEAD.get(name, ()), "kind": kind}
            yield Recipe(f"{name} in a ledger", "", call, pair, None, **more)
