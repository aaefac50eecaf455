"""Mutants that many functions of linalg have alike."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import first, ignoring_strides, of, then, when, without_nan
from array_api.namespace_mutants.linalg.kinds import (
    column_major,
    each,
    finite,
    first_matrix,
    in_single,
    inexact,
    next_number,
    ninth_as_first,
    other_error,
    outside_in,
    overwriting,
    stack_transposed,
    through_floats,
    wide,
    without_matrix,
)

import refarray as xp

SQUARE = ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet")
ANY_SHAPE = ("matrix_norm", "matrix_rank", "pinv", "qr", "svd", "svdvals")
WITH_MATRICES = ("cholesky", "eig", "eigh", "inv", "pinv", "qr", "svd", "matrix_power", "solve")
NAMED = {
    "eig": ("eigenvalues", "eigenvectors"),
    "eigh": ("eigenvalues", "eigenvectors"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "svd": ("U", "Vh"),
}
TWO_OPERANDS = ("cross", "outer", "solve")


def as_dtype_of_first(f: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    return xp.astype(f(x, *args, **kwargs), x.dtype)


def square_part(f: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Of a matrix that is not square the part that is."""
    count = min(x.shape[-2:])
    return f(x[..., :count, :count], *args, **kwargs)


for name in (*SQUARE, *ANY_SHAPE, "solve", "matrix_power"):
    target = f"linalg.{name}"
    plant(target, "strides", "reads strided arrays as contiguous", ignoring_strides)
    plant(target, "first", "of a stack only the first matrix counts", first_matrix)
    plant(target, "last", "the last matrix of a stack is the first", ninth_as_first)
    plant(target, "stack", "the two axes of a stack change places", stack_transposed)
    plant(target, "nan", "elements that are not finite are 0", first(finite(0.0)))
    plant(target, "integers", "integers are converted", through_floats, lenient=True)
    plant(target, "vector", "a vector is a row", without_matrix, lenient=True)
    plant(target, "numbers", "messages count from 1", next_number, lenient=True)
    plant(
        target,
        "error",
        "ValueError is ArithmeticError",
        other_error(ValueError, ArithmeticError),
        lenient=True,
    )
for name in (*SQUARE, *ANY_SHAPE, "solve", "matrix_power", "vector_norm"):
    target = f"linalg.{name}"
    plant(target, "writes", "overwrites its argument", overwriting(0))
    if name != "matrix_rank":
        plant(target, "dtype", "the result is of the next wider dtype", each(wide))
        plant(target, "inexact", "float32 is not computed in float64", each(inexact))
        plant(
            target,
            "single",
            "double precision is single",
            when(of("float64", "complex128"), in_single),
        )
for name in (*SQUARE, "solve", "matrix_power"):
    plant(f"linalg.{name}", "part", "takes the square part", square_part, lenient=True)
for name in WITH_MATRICES:
    plant(f"linalg.{name}", "order", "the result is column-major", each(column_major))
    plant(f"linalg.{name}", "read-only", "the result is read-only", each(xp.Array.as_readonly))
for name in NAMED:
    target = f"linalg.{name}"
    plant(target, "fields", "the fields change places", then(outside_in))
    plant(target, "plain", "returns a plain tuple", then(tuple))
for name in TWO_OPERANDS:
    target = f"linalg.{name}"
    plant(target, "first-dtype", "the result has the first operand's dtype", as_dtype_of_first)
for name in ("cross", "outer"):
    target = f"linalg.{name}"
    plant(target, "strides", "reads strided arrays as contiguous", ignoring_strides)
    plant(target, "nan", "NaN becomes 0", then(without_nan(0.0)))
    plant(target, "writes", "overwrites its second argument", overwriting(1))
plant("linalg.solve", "writes-second", "overwrites its second argument", overwriting(1))
plant("linalg.vector_norm", "strides", "reads strided arrays as contiguous", ignoring_strides)
plant("linalg.vector_norm", "nan", "NaN becomes 0", then(without_nan(0.0)))
plant("linalg.vector_norm", "integers", "integers are converted", through_floats, lenient=True)
