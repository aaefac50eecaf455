"""The functions of linalg that decompose matrices: one table for every test that iterates over
them. A name is that of the function, and for further calls of it a word about the call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from refarray import linalg, ones

Function = Callable[[Any], Any]
#: Of square matrices; all of them take positive definite ones.
SQUARE: dict[str, Function] = {
    "cholesky": linalg.cholesky,
    "cholesky upper": lambda x: linalg.cholesky(x, upper=True),
    "det": linalg.det,
    "eig": linalg.eig,
    "eigh": linalg.eigh,
    "eigvals": linalg.eigvals,
    "eigvalsh": linalg.eigvalsh,
    "inv": linalg.inv,
    "matrix_power": lambda x: linalg.matrix_power(x, -2),
    "matrix_power 0": lambda x: linalg.matrix_power(x, 0),
    "matrix_power 5": lambda x: linalg.matrix_power(x / 8, 5),
    "slogdet": linalg.slogdet,
    "solve": lambda x: linalg.solve(x, x + 1),
    "solve vector": lambda x: linalg.solve(x, ones(x.shape[-1], dtype=x.dtype)),
}
#: Of matrices of every shape.
OBLONG: dict[str, Function] = {
    "matrix_norm": linalg.matrix_norm,
    "matrix_norm nuc": lambda x: linalg.matrix_norm(x, ord="nuc"),
    "matrix_norm 1": lambda x: linalg.matrix_norm(x, ord=1),
    "matrix_norm -2": lambda x: linalg.matrix_norm(x, ord=-2),
    "matrix_norm inf": lambda x: linalg.matrix_norm(x, ord=math.inf),
    "matrix_rank": linalg.matrix_rank,
    "pinv": linalg.pinv,
    "qr": linalg.qr,
    "qr complete": lambda x: linalg.qr(x, mode="complete"),
    "svd": linalg.svd,
    "svd reduced": lambda x: linalg.svd(x, full_matrices=False),
    "svdvals": linalg.svdvals,
}
#: Of arrays of every shape.
VECTORS: dict[str, Function] = {
    "vector_norm": linalg.vector_norm,
    "vector_norm 3": lambda x: linalg.vector_norm(x, ord=3, axis=-1),
}
CALLS = {**SQUARE, **OBLONG, **VECTORS}
#: Those of which one element that is not finite makes all results of the matrix NaN.
ALL_NAN = (
    *("eig", "eigh", "eigvals", "eigvalsh", "pinv", "qr", "qr complete", "svd", "svd reduced"),
    "svdvals",
)


def plain(table: dict[str, Function]) -> list[str]:
    """One call of each function."""
    return [name for name in table if " " not in name]


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
