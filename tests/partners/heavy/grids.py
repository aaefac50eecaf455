"""The grid as the partners see it that take legacy capsules and have dense arrays only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import refarray as ra

from .. import limits
from ..grid import LAYOUTS, NUMPY, address, expected, ours, values


def take_ours(
    partner: str,
    take: Callable[[Any], Any],
    read: Callable[[Any], Any],
    dtype: str,
    layout: str = "flat",
) -> Any | None:
    """The partner's array of ours, read by `read` into a NumPy array; None where a limit is met."""
    source = ours(dtype, layout)
    if source.readonly:  # broadcast views are, and legacy capsules cannot say so
        source = source.copy()
    facets = (f"dtype:{dtype}", f"layout:{layout}")

    def exchange() -> tuple[Any, Any]:
        taken = take(source)
        return taken, read(taken)

    found = limits.attempt(partner, "to", facets, exchange)
    if found is None:
        return None
    taken, numbers = found
    assert numbers.shape == source.shape
    assert numbers.tolist() == expected(dtype, layout)
    return taken


def numpys(dtype: str, layout: str = "flat") -> Any:
    """A dense NumPy array with the values of the layout."""
    flat = np.array(values(dtype), dtype=dtype)
    return np.array(LAYOUTS[layout].build(NUMPY, flat), order="C")


def check_theirs(result: Any, dtype: str, layout: str = "flat") -> None:
    """`result` is our import of a dense array with the values of the layout."""
    assert str(result.dtype) == dtype
    assert result.tolist() == expected(dtype, layout)
    assert result.is_contiguous()


def check_alias(source: Any, read: Callable[[], Any]) -> None:
    """What is written into our float32 array is read by the partner."""
    before = address(source)
    source[...] = 7.0
    assert set(read().ravel().tolist()) == {7.0}
    assert address(source) == before


def scratch() -> list[Any]:
    """Memory that would reuse, and overwrite, what was freed too early."""
    return [ra.full((24,), 9, dtype="float32") for _ in range(64)]
