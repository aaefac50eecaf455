"""Out-of-memory recipes for the functions and operators of the array API standard."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from oracles.functions import BINARY, UNARY

import refarray

from .recipe import in_threads, recipe, refused


def reals() -> Any:
    return refarray.asarray([[0.5, 0.25], [0.75, 0.125]])


def integers() -> Any:
    return refarray.asarray([[3, 1], [2, 2]])


def flags() -> Any:
    return refarray.asarray([[True, False], [True, True]])


def points() -> Any:
    return refarray.asarray([[1 + 2j, 0], [3j, 1]])


def halves() -> Any:
    return refarray.astype(reals(), refarray.float16)


def mixed() -> Any:
    return refarray.astype(reals(), refarray.float32), reals()


def cubes() -> Any:
    """No summed pair of axes 0 and 2 is one axis of a view."""
    return refarray.reshape(refarray.arange(24, dtype=refarray.float64), (2, 3, 4))


def tables(dtype: str, shape: tuple[int, ...] = (70, 300)) -> Any:
    """More than a slice and several tiles of a product."""
    return refarray.ones(shape, dtype=getattr(refarray, dtype))


#: What stands for the dtypes that a function accepts.
MAKERS = {"bool": flags, "complex": points, "integer": integers, "integer or bool": integers}


def maker(name: str) -> Callable[[], Any]:
    """What makes an operand of an elementwise function."""
    accepts = {**UNARY, **BINARY}[name].accepts
    return points if name in ("conj", "real") else MAKERS.get(accepts, reals)


for _name in UNARY:
    recipe(_name, getattr(refarray, _name), maker(_name))
for _name in BINARY:
    recipe(_name, lambda x, name=_name: getattr(refarray, name)(x, x), maker(_name))
recipe("add", lambda x: refarray.add(x, x[0]), reals, "broadcast")
recipe("add", lambda x: refarray.add(x.T, 1), reals, "number")
refused("add", TypeError, lambda x: refarray.add(x, refarray.int8), make=reals)
refused("sqrt", TypeError, refarray.sqrt, make=integers)

OPERATORS: dict[Callable[[], Any], list[str]] = {
    reals: ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"],
    integers: ["lshift", "rshift", "and", "or", "xor"],
}
for _make, _names in OPERATORS.items():
    for _name in _names:
        for _prefix in ("", "r", "i"):
            _dunder = f"__{_prefix}{_name}__"
            recipe(f"Array.{_dunder}", lambda x, name=_dunder: getattr(x, name)(x), _make)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    recipe(f"Array.__{_name}__", lambda x, name=_name: getattr(operator, name)(x, x), reals)
for _name in ("abs", "neg", "pos"):
    recipe(f"Array.__{_name}__", lambda x, name=_name: getattr(operator, name)(x), reals)
recipe("Array.__invert__", operator.invert, integers)
for _name in ("__divmod__", "__rdivmod__"):
    refused(
        f"Array.{_name}", TypeError, lambda x, name=_name: getattr(x, name)(x), label="", make=reals
    )
recipe("Array.__iadd__", lambda x: operator.iadd(x, x.T), reals, "overlap")

# --- selection, dtypes, the namespace ---

recipe("where", lambda x: refarray.where(x, 1.0, reals()), flags)
recipe("clip", lambda x: refarray.clip(x, 0.2, 0.6), reals)
recipe("can_cast", lambda _: refarray.can_cast(refarray.int8, refarray.int16))
recipe("isdtype", lambda _: refarray.isdtype(refarray.int8, ("bool", "integral")))
recipe("result_type", lambda x: refarray.result_type(x, refarray.complex64, 1), reals)
recipe("Array.__array_namespace__", lambda x: x.__array_namespace__(api_version="2025.12"))
recipe("__array_namespace_info__", lambda _: refarray.__array_namespace_info__(), python=True)

# --- reductions and scans ---

for _name in ("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "count_nonzero"):
    recipe(_name, getattr(refarray, _name), reals)
    recipe(_name, lambda x, name=_name: getattr(refarray, name)(x.T, axis=0, keepdims=True), reals,
           "axis")  # fmt: skip
for _name in ("argmin", "argmax"):
    recipe(_name, getattr(refarray, _name), reals)
for _name in ("cumulative_sum", "cumulative_prod"):
    recipe(
        _name, lambda x, name=_name: getattr(refarray, name)(x, axis=1, include_initial=True), reals
    )
recipe("diff", lambda x: refarray.diff(x, n=1, prepend=x), reals)

# --- products ---

CROSSED = ((0, 2), (0, 2))
for _name, _call in {
    "matmul": refarray.matmul,
    "tensordot": lambda x, y: refarray.tensordot(x, y, axes=1),
    "vecdot": refarray.vecdot,
}.items():
    recipe(_name, lambda x, f=_call: f(x, x), reals)
    recipe(_name, lambda x, f=_call: f(x, x), halves, "float16")
    recipe(_name, lambda x, f=_call: f(x, x), points, "complex")
    recipe(_name, lambda pair, f=_call: f(*pair), mixed, "converted")
    recipe(_name, lambda pair, f=_call: f(*pair[::-1]), mixed, "converted, second")
    recipe(_name, lambda x, f=_call: f(x, x[0]), reals, "vector")
    refused(_name, TypeError, lambda x, f=_call: f(x, 1), label="number", make=reals)
    refused(_name, TypeError, lambda x, f=_call: f(x, flags()), label="flags", make=reals)
    refused(_name, ValueError, lambda x, f=_call: f(x, x[:1, :1]), make=reals)
for _dtype in ("float32", "float16", "complex128"):  # blocks that no cache of small ones holds
    recipe("matmul", lambda x: refarray.matmul(x, x.mT), partial(tables, _dtype), f"large {_dtype}")
    recipe("vecdot", lambda x: refarray.vecdot(x, x), partial(tables, _dtype), f"large {_dtype}")
    recipe("tensordot", lambda x: refarray.tensordot(x, x, axes=CROSSED),
           partial(tables, _dtype, (7, 10, 300)), f"large {_dtype}")  # fmt: skip
refused("matmul", ValueError, lambda x: refarray.matmul(x, refarray.reshape(x, (3, 4, 2))),
        label="stacks", make=cubes)  # fmt: skip
recipe("matmul", lambda x: refarray.matmul(x, x[0].mT), cubes, "stack")
recipe("matrix_transpose", refarray.matrix_transpose, reals)
refused("matrix_transpose", ValueError, lambda x: refarray.matrix_transpose(x[0]), make=reals)
refused("tensordot", TypeError, refarray.tensordot, make=lambda: None)
recipe("tensordot", lambda x: refarray.tensordot(x, x, axes=CROSSED), cubes, "copied")
recipe("tensordot", lambda x: refarray.tensordot(x, x, axes=[[0], [0]]), halves, "lists")
recipe("tensordot", lambda x: refarray.tensordot(x, x, axes=0), reals, "outer")
for _label, _axes, _error in (
    ("triple", (0, 1, 2), ValueError),
    ("float", (0.5, [0]), TypeError),
    ("far", ((7,), (0,)), IndexError),
    ("many", 3, ValueError),
):
    refused("tensordot", _error, lambda x, axes=_axes: refarray.tensordot(x, x, axes=axes),
            label=_label, make=reals)  # fmt: skip
recipe("vecdot", lambda x: refarray.vecdot(x, x[:, :1, :], axis=-3), cubes, "axis")
refused("vecdot", IndexError, lambda x: refarray.vecdot(x, x, axis=0), label="far", make=reals)
for _dunder in ("__matmul__", "__rmatmul__", "__imatmul__"):
    for _make in (reals, halves):
        recipe(f"Array.{_dunder}", lambda x, name=_dunder: getattr(x, name)(x), _make,
               "float16" if _make is halves else "")  # fmt: skip
recipe("Array.__imatmul__", lambda x: operator.imatmul(x.T, x), reals, "overlap")
refused(
    "Array.__imatmul__", TypeError, lambda pair: operator.imatmul(*pair), label="wider", make=mixed
)
refused("Array.__imatmul__", ValueError, lambda x: operator.imatmul(x, x[0]), make=reals)
refused("Array.__matmul__", TypeError, lambda x: operator.matmul(x, 1), label="number", make=reals)

# --- indexing, searching, sorting, sets ---

recipe("Array.__getitem__", lambda x: x[x > 0.2], reals, "mask")
recipe("Array.__getitem__", lambda x: x[integers() - 2, :], reals, "integers")
refused("Array.__getitem__", IndexError, lambda x: x[integers(), :], label="far", make=reals)
recipe("Array.__setitem__", lambda x: x.__setitem__(x > 0.2, 0.0), reals, "mask")
recipe("take", lambda x: refarray.take(x, refarray.asarray([1, 0, -1]), axis=0), reals)
recipe("take_along_axis", lambda x: refarray.take_along_axis(x, integers() % 2, axis=0), reals)
recipe("nonzero", refarray.nonzero, reals)
recipe("sort", refarray.sort, reals)
recipe("sort", lambda x: refarray.sort(x, descending=True, axis=0), integers, "descending")
recipe("sort", partial(in_threads, refarray.sort), lambda: refarray.zeros(1 << 19), "threads")
recipe("argsort", lambda x: refarray.argsort(x, axis=0), reals)
recipe("searchsorted", lambda x: refarray.searchsorted(x[0], x), integers)
for _name in ("unique_all", "unique_counts", "unique_inverse"):
    recipe(_name, getattr(refarray, _name), integers, python=True)
recipe("unique_values", refarray.unique_values, reals)
recipe("isin", lambda x: refarray.isin(x, x[0]), integers)

# --- joining, repeating, broadcasting, creation ---

recipe("concat", lambda x: refarray.concat([x, x], axis=1), reals)
recipe("stack", lambda x: refarray.stack([x, x], axis=-1), reals)
recipe("unstack", lambda x: refarray.unstack(x, axis=1), reals)
recipe("repeat", lambda x: refarray.repeat(x, 2), reals)
recipe("repeat", lambda x: refarray.repeat(x, x[0], axis=1), integers, "array")
recipe("roll", lambda x: refarray.roll(x, 1, axis=0), reals)
recipe("tile", lambda x: refarray.tile(x, (2, 1)), reals)
recipe("broadcast_arrays", lambda x: refarray.broadcast_arrays(x, x[0]), reals)
recipe("broadcast_shapes", lambda _: refarray.broadcast_shapes((2, 1), (3,)))
recipe("meshgrid", lambda x: refarray.meshgrid(x[0], x[1]), reals)
recipe("tril", refarray.tril, reals)
recipe("triu", refarray.triu, reals)
recipe("eye", lambda _: refarray.eye(3, 4, k=1))
recipe("linspace", lambda _: refarray.linspace(0, 1, 5))
