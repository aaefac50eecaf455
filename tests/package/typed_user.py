"""A user's module: mypy and pyright accept it, and find each error that a line ignores.

`make check` runs both. Where a line is ignored for a library, that library lacks what the standard
has, or declares it otherwise.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import Any

import array_api_strict as strict
import jax
import numpy as np
import torch

import refarray
import refarray.typing as rt
from refarray.typing import Array, DType, Namespace, SupportsDLPack

NumpyArray = np.ndarray[Any, np.dtype[np.float64]]
StrictArray = strict._array_object.Array


def standardize(x: Array) -> Array:
    xp: Namespace[Array] = x.__array_namespace__()
    return (x - xp.mean(x)) / xp.std(x, correction=1.0)


def count(xp: Namespace[Any], *producers: SupportsDLPack) -> list[DType]:
    return [xp.from_dlpack(each).dtype for each in producers]


def arrays(a: NumpyArray, b: torch.Tensor, c: jax.Array, d: StrictArray) -> None:
    count(refarray, a, b, c, d, refarray.from_dlpack(c))
    count(jax.numpy, "abc")  # type: ignore[arg-type]
    for x in (a, d, refarray.zeros(3)):
        standardize(x)
    standardize(b)  # type: ignore[arg-type]  # Tensor.size() is a method
    standardize(c)  # type: ignore[arg-type]  # no __dlpack_device__() in JAX's stubs


def namespaces() -> None:
    ours: Namespace[refarray.Array] = refarray
    of_jax: Namespace[jax.Array] = jax.numpy
    of_strict: Namespace[StrictArray] = strict
    of_numpy: Namespace[NumpyArray] = np  # type: ignore[assignment]  # sort() has no descending=
    of_torch: Namespace[torch.Tensor] = torch  # type: ignore[assignment]  # not of the standard
    del ours, of_jax, of_strict, of_numpy, of_torch


def rounded(x: refarray.Array[rt.float32]) -> refarray.Array[rt.bfloat16]:
    return refarray.flip(refarray.astype(x, refarray.bfloat16))[1:]


def dtypes_of_arrays(unknown: refarray.Array) -> None:
    x = refarray.zeros(3, dtype=refarray.float32)
    y = rounded(-x.T)
    rounded(y)  # type: ignore[arg-type]
    rounded(x == y)  # type: ignore[arg-type]
    integers = refarray.ones_like(x, dtype=refarray.int8)
    rounded(integers)  # type: ignore[arg-type]  # the call itself: pyright alone
    rounded(refarray.ones_like(x))
    rounded(unknown)
    rounded(x + 1.0)  # promotion is not followed
    mask: refarray.Array[rt.bool] = refarray.isnan(y)
    dtype: refarray.DType[rt.bfloat16] = y.dtype
    plain: refarray.Array = refarray.asarray(mask, dtype=dtype)
    standardize(plain)


def test_target() -> None:
    xp = refarray.namespace(strict=True)
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    shape: tuple[int, ...] = xp.unique_all(x).values.shape
    eigenvalues: refarray.Array = xp.linalg.eigh(xp.linalg.outer(x, x)).eigenvalues
    xp.mean(x, axes=0)  # type: ignore[call-arg]
    xp.sum(3)  # type: ignore[arg-type]
    dtypes: list[DType] = [np.dtype("f4"), torch.float32, jax.numpy.float32, strict.float32]
    del shape, eigenvalues, dtypes
