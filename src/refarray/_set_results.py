"""The results of unique_all(), unique_counts() and unique_inverse()."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from refarray import Array


class UniqueAll(NamedTuple):
    """Distinct values, where they occur first, and how to rebuild the array from them."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Distinct values, and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Distinct values, and how to rebuild the array from them."""

    values: Array
    inverse_indices: Array
