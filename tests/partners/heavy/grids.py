"""The grid for partners that import legacy capsules and have dense arrays only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import limits
from ..grid import LAYOUTS, NUMPY, address, expected, ours, values


def take_ours(
    partner: str,
    take: Callable[[Any], Any],
    read: Callable[[Any], Any],
    dtype: str,
    layout: str = "flat",
) -> Any | None:
    """refarray's array imported by the partner and read into NumPy by `read`; None if a limit is
    met."""
    source = ours(dtype, layout)
    if source.readonly:  # broadcast views: legacy capsules have no read-only flag
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


def check_theirs(result: Any, dtype: str, layout: str = "flat", at: int | None = None) -> None:
    """Checks `result`, refarray's import of a dense array with the values of the layout."""
    assert str(result.dtype) == dtype
    assert result.tolist() == expected(dtype, layout)
    assert result.is_contiguous()
    assert at is None or address(result) == at


def check_alias(source: Any, read: Callable[[], Any]) -> None:
    """Checks that writes to a float32 refarray array are visible to the partner."""
    before = address(source)
    source[...] = 7.0
    assert set(read().ravel().tolist()) == {7.0}
    assert address(source) == before
