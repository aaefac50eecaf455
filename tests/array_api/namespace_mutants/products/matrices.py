"""Mutants of matmul and its operators, and of matrix_transpose."""

from __future__ import annotations

from typing import Any

from array_api.namespace_mutants.base import IntendedError, plant
from array_api.namespace_mutants.kinds import (
    as_if_contiguous,
    both_square,
    complex_,
    first,
    in_precision,
    instead,
    is_square,
    no_terms,
    of,
    rank,
    real,
    same,
    second,
    strided,
    swapped,
    then,
    when,
    without_nan,
)

import refarray as xp


def transposed(x: Any) -> Any:
    return x.mT


def elementwise(f: Any, x: Any, y: Any) -> Any:
    return xp.multiply(x, y) if both_square(x, y) else f(x, y)


def stacked(x: Any, y: Any) -> bool:
    """Both operands are stacks of matrices of one shape."""
    return bool(x.ndim > 2 and x.shape[:-2] == y.shape[:-2] and x.shape[0] > 1)


def without_terms(more: int, count: int) -> Any:
    """Of more than a number of terms the last ones are left out."""

    def broken(f: Any, x: Any, y: Any) -> Any:
        if x.shape[-1] <= more:
            return f(x, y)
        return f(x[..., :-count], y[:-count] if y.ndim == 1 else y[..., :-count, :])

    return broken


def without_last(axis: int, block: int) -> Any:
    """What is behind the last whole block of an axis of the product is 0."""

    def change(out: Any) -> Any:
        if out.ndim < -axis or out.shape[axis] <= block:
            return out
        out[(..., slice(out.shape[axis] // block * block, None), *[slice(None)] * (-1 - axis))] = 0
        return out

    return then(change)


def first_matrix(f: Any, x: Any, y: Any) -> Any:
    """Of a stack on the right only the first matrix counts."""
    return f(x, xp.broadcast_to(y[(0,) * (y.ndim - 2)], y.shape))


def next_matrix(f: Any, x: Any, y: Any) -> Any:
    """The matrices of a stack meet those one place later."""
    return f(x, xp.roll(y, -1, axis=0))


def stack_aligned_left(f: Any, x: Any, y: Any) -> Any:
    """The dimensions of the stack of the second operand are aligned at the left."""
    more = (1,) * (x.ndim - y.ndim)
    out = f(x, xp.reshape(y, (*y.shape[:-2], *more, *y.shape[-2:])))
    return out if out.shape == f(x, y).shape else f(x, y)


def keeping_vectors(f: Any, x: Any, y: Any) -> Any:
    """The dimension that a vector gets stays."""
    out = f(x, y)
    out = xp.expand_dims(out, -1) if y.ndim == 1 else out
    return xp.expand_dims(out, -2) if x.ndim == 1 else out


def vector_as_column(f: Any, x: Any, y: Any) -> Any:
    """A square matrix times a vector takes the matrix's columns."""
    return f(x.mT, y) if y.ndim == 1 and is_square(x) else f(x, y)


def through_floats(f: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    """Integers of 64 bits are multiplied as float64: sums beyond 2**53 lose their last bits."""
    out = f(x, y, **kwargs)
    wide = f(xp.astype(x, "float64"), xp.astype(y, "float64"), **kwargs)
    fits = xp.abs(wide) < 2.0**62
    return xp.where(fits, xp.astype(xp.where(fits, wide, 0.0), out.dtype), out)


def accumulating_narrow(f: Any, x: Any, y: Any) -> Any:
    """Every partial sum is rounded to the narrow format."""
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] == 0:
        return f(x, y)
    out = f(x[:, :1], y[:1, :])
    for i in range(1, x.shape[1]):
        out = out + f(x[:, i : i + 1], y[i : i + 1, :])
    return out


def reversed_terms(f: Any, x: Any, y: Any) -> Any:
    """Strided operands are added in another order."""
    return f(xp.flip(x, axis=-1), xp.flip(y, axis=max(-2, -y.ndim)))


def only_real(x: Any) -> Any:
    return xp.astype(xp.real(x), x.dtype)


def frozen(x: Any) -> Any:
    return x.as_readonly()


def while_reading(f: Any, x: Any, y: Any) -> Any:
    """@= writes a row before it reads the next one: the operand may be the target."""
    if x.ndim == 2:
        for i in range(x.shape[0]):
            x[i, :] = xp.matmul(xp.copy(x[i, :]), y)
        return x
    return f(x, y)


def xp_matmul(x: Any, y: Any) -> Any:
    return xp.matmul(x, y)


def in_place_swapped(f: Any, x: Any, y: Any) -> Any:
    """The product of square matrices has the operands swapped."""
    if both_square(x, y) and x.shape == y.shape:
        x[...] = xp.matmul(y, x)
        return x
    return f(x, y)


def idle(f: Any, x: Any, y: Any) -> Any:
    """A read-only target stays as it is, without an error."""
    return x if x.readonly else f(x, y)


def rebinding(f: Any, x: Any, y: Any) -> Any:
    """A result of another shape takes the place of the target."""
    out = xp.matmul(x, y)
    return out if out.shape != x.shape else f(x, y)


def converting(f: Any, x: Any, y: Any) -> Any:
    """The product of other dtypes is converted to that of the target."""
    out = xp.matmul(x, y)
    if out.dtype == x.dtype or out.shape != x.shape:
        return f(x, y)
    x[...] = xp.astype(out, x.dtype)
    return x


def taking_numbers(f: Any, x: Any, y: Any) -> Any:
    """A Python number beside @ is multiplied."""
    return xp.multiply(x, y) if isinstance(y, (int, float)) else f(x, y)


def taking_points(f: Any, x: Any, y: Any) -> Any:
    """An operand of ndim 0 is multiplied."""
    return xp.multiply(x, y) if x.ndim == 0 or y.ndim == 0 else f(x, y)


def refusing(f: Any, x: Any, y: Any) -> Any:
    """Other types get no chance: @ raises at once."""
    if not isinstance(y, xp.Array) and hasattr(y, "__rmatmul__"):
        raise IntendedError(TypeError("unsupported operand"))
    return f(x, y)


def taking_bool(f: Any, x: Any, y: Any) -> Any:
    """A sum of bool is their disjunction."""
    if xp.bool in (x.dtype, y.dtype):
        return xp.astype(f(xp.astype(x, "int8"), xp.astype(y, "int8")), "bool")
    return f(x, y)


plant(
    "matmul",
    "left",
    "square first operands are transposed",
    when(lambda x, y: is_square(x), first(transposed)),
)
plant(
    "matmul",
    "right",
    "square second operands are transposed",
    when(lambda x, y: is_square(y), second(transposed)),
)
plant("matmul", "elementwise", "square matrices are multiplied element by element", elementwise)
plant("matmul", "short", "of more than 16 terms the last is left out", without_terms(16, 1))
plant("matmul", "tail", "of more than 256 terms the last 8 are left out", without_terms(256, 8))
plant("matmul", "rows", "the rows behind the last 8 are 0", without_last(-2, 8))
plant("matmul", "columns", "the columns behind the last 16 are 0", without_last(-1, 16))
plant("matmul", "first", "of a stack only the first matrix counts", when(stacked, first_matrix))
plant("matmul", "next", "stacks meet one matrix later", when(stacked, next_matrix))
plant("matmul", "stack", "aligns the second operand's stack at the left", stack_aligned_left)
plant("matmul", "vectors", "the dimension that a vector gets stays", keeping_vectors)
plant("matmul", "column", "a square matrix times a vector is transposed", vector_as_column)
plant("matmul", "empty", "no terms give 1", when(no_terms, then(xp.ones_like)))
plant("matmul", "nan", "NaN becomes 0", when(real, then(without_nan(0.0))))
plant("matmul", "doubles", "int64 is multiplied as float64", when(of("int64"), through_floats))
plant(
    "matmul",
    "narrow",
    "float16: every partial sum is rounded",
    when(of("float16"), accumulating_narrow),
)
plant(
    "matmul",
    "bfloat16",
    "float32 operands are rounded to bfloat16",
    when(of("float32"), in_precision("bfloat16")),
)
plant(
    "matmul",
    "float32",
    "float64 operands are rounded to float32",
    when(of("float64"), in_precision("float32")),
)
plant("matmul", "order", "strided operands are added backwards", when(strided, reversed_terms))
plant("matmul", "real", "complex: the imaginary part is lost", when(complex_, then(only_real)))
plant("matmul", "points", "operands of ndim 0 are multiplied", taking_points, lenient=True)
plant("matmul", "bool", "bool is taken", taking_bool, lenient=True)
plant("matrix_transpose", "same", "square matrices stay", when(is_square, instead(same)))
plant("matrix_transpose", "copy", "returns a copy", then(xp.copy))
plant(
    "matrix_transpose",
    "all",
    "all axes are reversed",
    when(rank(3), lambda f, x: xp.permute_dims(x, tuple(range(x.ndim))[::-1])),
)
plant(
    "matrix_transpose",
    "first",
    "the first two axes change places",
    when(rank(3), lambda f, x: xp.moveaxis(x, 0, 1)),
)
plant(
    "matrix_transpose",
    "vector",
    "vectors stay as they are",
    lambda f, x: x if x.ndim == 1 else f(x),
    lenient=True,
)
plant(
    "matrix_transpose", "strides", "reads strided operands as contiguous", first(as_if_contiguous)
)
plant("matrix_transpose", "read-only", "the result cannot be written to", then(frozen))
plant("Array.__matmul__", "swapped", "square operands change places", when(both_square, swapped))
plant("Array.__matmul__", "conj", "complex: conjugates", when(complex_, first(xp.conj)))
plant("Array.__matmul__", "multiplies", "multiplies square matrices by elements", elementwise)
plant("Array.__matmul__", "numbers", "takes Python numbers", taking_numbers, lenient=True)
plant("Array.__matmul__", "refuses", "other types get no chance", refusing, lenient=True)
plant("Array.__rmatmul__", "order", "the operands keep their order", swapped)
plant("Array.__imatmul__", "new", "returns a new array", instead(xp_matmul))
plant("Array.__imatmul__", "reads", "writes rows before it has read the operand", while_reading)
plant("Array.__imatmul__", "swapped", "the operands change places", in_place_swapped)
plant("Array.__imatmul__", "read-only", "read-only targets are left alone", idle, lenient=True)
plant(
    "Array.__imatmul__",
    "shape",
    "results of other shapes are new",
    rebinding,
    lenient=True,
)
plant("Array.__imatmul__", "dtype", "other dtypes are converted", converting, lenient=True)
