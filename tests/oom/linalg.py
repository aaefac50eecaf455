"""Out-of-memory recipes for the functions of the extension linalg."""

from __future__ import annotations

from functools import partial
from typing import Any

from oracles.decomposition_calls import CALLS, OBLONG, SQUARE, plain

import refarray
from refarray import linalg

from .recipe import recipe

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
    size = 1
    for extent in shape:
        size *= extent
    numbers = refarray.arange(size, dtype=refarray.float64) % 7.0
    x = refarray.astype(numbers, getattr(refarray, dtype))
    return refarray.reshape(x, shape)


def vector(dtype: str) -> Any:
    return refarray.ones(3, dtype=getattr(refarray, dtype))


#: Functions that return named tuples, which are written in Python.
PYTHON = ("eig", "eigh", "qr", "slogdet", "svd")
for _name in plain(CALLS):
    _call = CALLS[_name]
    _is_python = _name in PYTHON
    for _dtype in DTYPES:
        for _label, _shape in SHAPES.items():
            recipe(f"linalg.{_name}", _call, partial(matrices, _dtype, _shape),
                   label=f"{_label} {_dtype}", python=_is_python)  # fmt: skip
    recipe(f"linalg.{_name}", _call, partial(strided, "float64"), label="strided",
           python=_is_python)  # fmt: skip
    recipe(f"linalg.{_name}", _call, partial(refarray.zeros, (2, 0, 0)), label="empty",
           python=_is_python)  # fmt: skip
    recipe(f"linalg.{_name}", _call, partial(matrices, "int8", (2, 2)), label="int8",
           raises=(TypeError,))  # fmt: skip
    recipe(f"linalg.{_name}", lambda x, f=_call: f([x]), partial(vector, "float64"), label="list",
           raises=(TypeError,))  # fmt: skip
for _name in plain(SQUARE):
    recipe(f"linalg.{_name}", CALLS[_name], partial(oblong, "float64"), label="oblong",
           raises=(ValueError,))  # fmt: skip
for _name in (*plain(OBLONG), "vector_norm"):
    _call = CALLS[_name]
    for _dtype in DTYPES:
        recipe(f"linalg.{_name}", _call, partial(oblong, _dtype), label=f"oblong {_dtype}",
               python=_name in PYTHON)  # fmt: skip
        recipe(f"linalg.{_name}", _call, partial(oblong, _dtype, (3, 5)), label=f"wide {_dtype}",
               python=_name in PYTHON)  # fmt: skip
for _name in ("inv", "solve", "matrix_power"):
    recipe(f"linalg.{_name}", CALLS[_name], partial(refarray.zeros, (2, 3, 3)), label="singular",
           raises=(ValueError,))  # fmt: skip
recipe("linalg.cholesky", linalg.cholesky, partial(refarray.zeros, (2, 2)), label="indefinite",
       raises=(ValueError,))  # fmt: skip
recipe("linalg.cholesky", lambda x: linalg.cholesky(x, upper=True),
       partial(matrices, "complex64", (3, 3)), label="upper")  # fmt: skip
recipe("linalg.qr", lambda x: linalg.qr(x, mode="complete"), partial(oblong, "float64"),
       label="complete", python=True)  # fmt: skip
recipe("linalg.qr", lambda x: linalg.qr(x, mode="none"), partial(oblong, "float64"), label="mode",
       raises=(ValueError,))  # fmt: skip
recipe("linalg.svd", lambda x: linalg.svd(x, full_matrices=False), partial(oblong, "float64"),
       label="reduced", python=True)  # fmt: skip
recipe("linalg.solve", lambda x: linalg.solve(x, x[0, 0]), partial(matrices, "float64", (2, 3, 3)),
       label="vector")  # fmt: skip
recipe("linalg.solve", lambda x: linalg.solve(x, refarray.ones((4, 3, 1), dtype="float32")),
       partial(matrices, "complex64", (2, 1, 3, 3)), label="broadcast")  # fmt: skip
recipe("linalg.solve", lambda x: linalg.solve(x, refarray.ones(2)),
       partial(matrices, "float64", (3, 3)), label="mismatch", raises=(ValueError,))  # fmt: skip
for _n in (0, 1, 100, -1):
    recipe("linalg.matrix_power", lambda x, n=_n: linalg.matrix_power(x, n),
           partial(matrices, "float32", (2, 3, 3)), label=f"n {_n}")  # fmt: skip
recipe("linalg.matrix_power", lambda x: linalg.matrix_power(x, 1.5),
       partial(matrices, "float64", (2, 2)), label="float", raises=(TypeError,))  # fmt: skip
for _name in ("pinv", "matrix_rank"):
    for _label, _rtol in (("number", 0.5), ("array", refarray.full(2, 0.5))):
        recipe(f"linalg.{_name}", lambda x, f=_name, r=_rtol: getattr(linalg, f)(x, rtol=r),
               partial(oblong, "float64"), label=f"rtol {_label}")  # fmt: skip
    for _label, _rtol in (("negative", -1), ("shape", refarray.ones(3))):
        recipe(f"linalg.{_name}", lambda x, f=_name, r=_rtol: getattr(linalg, f)(x, rtol=r),
               partial(oblong, "float64"), label=f"rtol {_label}",
               raises=(ValueError,))  # fmt: skip
    recipe(f"linalg.{_name}", lambda x, f=_name: getattr(linalg, f)(x, rtol="1"),
           partial(oblong, "float64"), label="rtol text", raises=(TypeError,))  # fmt: skip
for _ord in ("nuc", 1, 2, float("inf")):
    recipe("linalg.matrix_norm", lambda x, o=_ord: linalg.matrix_norm(x, ord=o, keepdims=True),
           partial(oblong, "float64"), label=f"ord {_ord}")  # fmt: skip
recipe("linalg.matrix_norm", lambda x: linalg.matrix_norm(x, ord=3), partial(oblong, "float64"),
       label="ord", raises=(ValueError,))  # fmt: skip
for _axis in (1, (0, 2), ()):
    for _ord in (2, 3, 0):
        recipe("linalg.vector_norm",
               lambda x, a=_axis, o=_ord: linalg.vector_norm(x, axis=a, ord=o, keepdims=True),
               partial(oblong, "float32"), label=f"axis {_axis}, ord {_ord}")  # fmt: skip
recipe("linalg.vector_norm", lambda x: linalg.vector_norm(x, axis=(0, 0)),
       partial(oblong, "float64"), label="twice", raises=(ValueError,))  # fmt: skip
recipe("linalg.vector_norm", lambda x: linalg.vector_norm(x, axis=9), partial(oblong, "float64"),
       label="far", raises=(IndexError,))  # fmt: skip
recipe("linalg.vector_norm", lambda x: linalg.vector_norm(x, ord="2"), partial(oblong, "float64"),
       label="text", raises=(TypeError,))  # fmt: skip
for _name in ("diagonal", "trace"):
    for _offset in (0, -1, 9):
        recipe(f"linalg.{_name}", lambda x, f=_name, o=_offset: getattr(linalg, f)(x, offset=o),
               partial(oblong, "float32"), label=f"offset {_offset}")  # fmt: skip
    recipe(f"linalg.{_name}", getattr(linalg, _name), partial(vector, "float64"), label="vector",
           raises=(ValueError,))  # fmt: skip
recipe("linalg.trace", lambda x: linalg.trace(x, dtype="complex128"), partial(oblong, "int8"),
       label="dtype")  # fmt: skip
for _name, _dtypes in (("cross", ("float64", "int8")), ("outer", ("complex64", "bfloat16"))):
    for _dtype in _dtypes:
        recipe(f"linalg.{_name}", lambda x, f=_name: getattr(linalg, f)(x, x),
               partial(vector, _dtype), label=_dtype)  # fmt: skip
    recipe(f"linalg.{_name}", lambda x, f=_name: getattr(linalg, f)(x, x[:2, 0, 0]),
           partial(oblong, "float64", (3, 3, 3)), label="shape", raises=(ValueError,))  # fmt: skip
recipe("linalg.cross", lambda x: linalg.cross(x, x[0], axis=-2),
       partial(oblong, "float64", (2, 3, 2)), label="broadcast")  # fmt: skip
recipe("linalg.cross", lambda x: linalg.cross(x, x, axis=0), partial(vector, "float64"),
       label="far", raises=(IndexError,))  # fmt: skip
