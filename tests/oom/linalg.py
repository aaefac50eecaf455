"""Out-of-memory recipes for the functions of the extension linalg."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from oracles.decomposition_calls import CALLS, OBLONG, SQUARE, plain

import refarray
from refarray import linalg

from .recipe import in_threads, recipe

DTYPES = ("float64", "complex64", "float16")
#: A matrix with few elements, a stack, and a matrix of more than one block of the algorithms.
SHAPES = {"matrix": (3, 3), "stack": (2, 1, 4, 4), "large": (40, 40)}


def matrices(dtype: str, shape: tuple[int, ...]) -> Any:
    """Positive definite."""
    n = shape[-1]
    own = getattr(refarray, dtype)
    return refarray.ones(shape, dtype=own) + refarray.eye(n, dtype=own) * n


def strided(dtype: str) -> Any:
    return matrices(dtype, (2, 4, 4))[:, ::-1, ::-1].mT


def oblong(dtype: str, shape: tuple[int, ...] = (2, 5, 3)) -> Any:
    numbers = refarray.arange(prod(shape), dtype=refarray.float64) % 7.0
    x = refarray.astype(numbers, getattr(refarray, dtype))
    return refarray.reshape(x, shape)


def vector(dtype: str) -> Any:
    return refarray.ones(3, dtype=getattr(refarray, dtype))


#: Functions that return named tuples, which are written in Python.
PYTHON = ("eig", "eigh", "qr", "slogdet", "svd")
SMALL = partial(matrices, "float64", (3, 3))
STACK = partial(matrices, "float64", (2, 2))
FLAT, LINE = partial(oblong, "float64"), partial(vector, "float64")


def of(name: str, call: Callable[[Any], Any], make: Callable[[], Any], label: str) -> None:
    recipe(f"linalg.{name}", call, make, label, python=name in PYTHON)


def refused(
    name: str,
    error: type[Exception],
    call: Callable[[Any], Any],
    make: Callable[[], Any],
    label: str,
) -> None:
    recipe(f"linalg.{name}", call, make, label, (error,))


for _name in plain(CALLS):
    _call = CALLS[_name]
    for _dtype in DTYPES:
        for _label, _shape in SHAPES.items():
            of(_name, _call, partial(matrices, _dtype, _shape), f"{_label} {_dtype}")
    of(_name, _call, partial(strided, "float64"), "strided")
    of(_name, _call, partial(refarray.zeros, (2, 0, 0)), "empty")
    refused(_name, TypeError, _call, partial(matrices, "int8", (2, 2)), "int8")
    refused(_name, TypeError, lambda x, f=_call: f([x]), LINE, "list")
for _name in plain(SQUARE):
    refused(_name, ValueError, CALLS[_name], FLAT, "oblong")
for _name in (*plain(OBLONG), "vector_norm"):
    for _dtype in DTYPES:
        of(_name, CALLS[_name], partial(oblong, _dtype), f"oblong {_dtype}")
        of(_name, CALLS[_name], partial(oblong, _dtype, (3, 5)), f"wide {_dtype}")
for _name in ("inv", "solve", "matrix_power"):
    refused(_name, ValueError, CALLS[_name], partial(refarray.zeros, (2, 3, 3)), "singular")
refused("cholesky", ValueError, linalg.cholesky, partial(refarray.zeros, (2, 2)), "indefinite")
of(
    "cholesky",
    partial(linalg.cholesky, upper=True),
    partial(matrices, "complex64", (3, 3)),
    "upper",
)
of("inv", partial(in_threads, linalg.inv), partial(matrices, "float64", (4096, 4, 4)), "threads")
of("qr", partial(linalg.qr, mode="complete"), FLAT, "complete")
refused("qr", ValueError, partial(linalg.qr, mode="none"), FLAT, "mode")
of("svd", partial(linalg.svd, full_matrices=False), FLAT, "reduced")
of("solve", lambda x: linalg.solve(x, x[0, 0]), partial(matrices, "float64", (2, 3, 3)), "vector")
of("solve", lambda x: linalg.solve(x, refarray.ones((4, 3, 1), dtype="float32")),
   partial(matrices, "complex64", (2, 1, 3, 3)), "broadcast")  # fmt: skip
refused("solve", ValueError, lambda x: linalg.solve(x, refarray.ones(2)), SMALL, "mismatch")
for _n in (0, 1, 100, -1):
    of("matrix_power", lambda x, n=_n: linalg.matrix_power(x, n),
       partial(matrices, "float32", (2, 3, 3)), f"n {_n}")  # fmt: skip
refused("matrix_power", TypeError, lambda x: linalg.matrix_power(x, 1.5), STACK, "float")
for _name in ("pinv", "matrix_rank"):
    _function = getattr(linalg, _name)
    for _label, _rtol in (("number", 0.5), ("array", refarray.full(2, 0.5))):
        of(_name, partial(_function, rtol=_rtol), FLAT, f"rtol {_label}")
    for _label, _rtol in (("negative", -1), ("shape", refarray.ones(3))):
        refused(_name, ValueError, partial(_function, rtol=_rtol), FLAT, f"rtol {_label}")
    refused(_name, TypeError, partial(_function, rtol="1"), FLAT, "rtol text")
for _ord in ("nuc", 1, 2, float("inf")):
    of("matrix_norm", partial(linalg.matrix_norm, ord=_ord, keepdims=True), FLAT, f"ord {_ord}")
refused("matrix_norm", ValueError, partial(linalg.matrix_norm, ord=3), FLAT, "ord")
for _axis in (1, (0, 2), ()):
    for _ord in (2, 3, 0):
        _call = partial(linalg.vector_norm, axis=_axis, ord=_ord, keepdims=True)
        of("vector_norm", _call, partial(oblong, "float32"), f"axis {_axis}, ord {_ord}")
for _label, _error, _keywords in (
    ("twice", ValueError, {"axis": (0, 0)}),
    ("far", IndexError, {"axis": 9}),
    ("text", TypeError, {"ord": "2"}),
):
    refused("vector_norm", _error, partial(linalg.vector_norm, **_keywords), FLAT, _label)
for _name in ("diagonal", "trace"):
    for _offset in (0, -1, 9):
        _call = partial(getattr(linalg, _name), offset=_offset)
        of(_name, _call, partial(oblong, "float32"), f"offset {_offset}")
    refused(_name, ValueError, getattr(linalg, _name), LINE, "vector")
of("trace", partial(linalg.trace, dtype="complex128"), partial(oblong, "int8"), "dtype")
for _name, _dtypes in (("cross", ("float64", "int8")), ("outer", ("complex64", "bfloat16"))):
    _function = getattr(linalg, _name)
    for _dtype in _dtypes:
        of(_name, lambda x, f=_function: f(x, x), partial(vector, _dtype), _dtype)
    refused(_name, ValueError, lambda x, f=_function: f(x, x[:2, 0, 0]),
            partial(oblong, "float64", (3, 3, 3)), "shape")  # fmt: skip
of("cross", lambda x: linalg.cross(x, x[0], axis=-2), partial(oblong, "float64", (2, 3, 2)),
   "broadcast")  # fmt: skip
refused("cross", IndexError, lambda x: linalg.cross(x, x, axis=0), LINE, "far")
