"""The named tuples that functions of the array API standard return."""

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


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors: x @ eigenvectors is eigenvectors * eigenvalues."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and orthonormal eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Factors of a matrix: Q with orthonormal columns, and an upper triangular R."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """A determinant as sign * exp(logabsdet)."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """Factors of a matrix: U and Vh with orthonormal columns and rows, and the singular values S in
    descending order."""

    U: Array
    S: Array
    Vh: Array
