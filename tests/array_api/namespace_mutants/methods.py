"""Mutants of the attributes and the other methods of arrays, and of the constants' conversions."""

from __future__ import annotations

from array_api.namespace_mutants.base import plant
from array_api.namespace_mutants.kinds import (
    complex_,
    instead,
    integer,
    rank,
    real,
    then,
    values_of,
    when,
)

import refarray as xp

plant("Array.T", "same", "returns the array itself", instead(lambda x: x))
plant("Array.T", "rows", "reverses the rows of the transposed array", then(lambda x: x[::-1]))
plant(
    "Array.mT",
    "reverses",
    "reverses all axes of stacked matrices",
    when(rank(3), instead(lambda x: xp.permute_dims(x, tuple(range(x.ndim))[::-1]))),
)
plant(
    "Array.mT",
    "first-axes",
    "swaps the first two axes of stacked matrices",
    when(rank(3), instead(lambda x: xp.permute_dims(x, (1, 0, *range(2, x.ndim))))),
)
plant("Array.shape", "list", "a list instead of a tuple", then(list))
plant("Array.size", "empty", "1 if a dimension is 0", then(lambda n: max(n, 1)))
plant("Array.ndim", "zero", "1 for arrays without dimensions", then(lambda n: max(n, 1)))
plant("Array.device", "name", "the name instead of the device", then(str))
plant("Array.dtype", "name", "the name instead of the dtype", then(str))
plant(
    "Array.__bool__", "nonempty", "True for every array with an element", lambda f, x: f(x) or True
)
plant(
    "Array.__bool__", "nan", "False for NaN", when(real, lambda f, x: f(x) and x.item() == x.item())
)
plant(
    "Array.__int__",
    "rounds",
    "rounds instead of truncating",
    when(real, lambda f, x: f(xp.round(x))),
)
plant(
    "Array.__int__",
    "floors",
    "rounds negative numbers down",
    when(real, lambda f, x: f(xp.floor(x))),
)
plant(
    "Array.__float__",
    "float32",
    "rounds to float32",
    then(lambda v: xp.asarray(v, dtype="float32").item()),
)
plant("Array.__float__", "integer", "truncates", lambda f, x: float(int(f(x))))
plant("Array.__complex__", "real", "loses the imaginary part", then(lambda v: complex(v.real, 0.0)))
plant("Array.__complex__", "conjugate", "conjugates", when(complex_, then(lambda v: v.conjugate())))
plant(
    "Array.__index__",
    "float",
    "takes floating-point arrays also",
    when(real, lambda f, x: int(x.item())),
    lenient=True,
)
plant("Array.__index__", "abs", "loses the sign", when(integer, then(abs)))
plant(
    "Array.__index__",
    "bool",
    "takes bool also",
    when(lambda x: x.dtype == xp.bool, lambda f, x: int(x.item())),
    lenient=True,
)
plant(
    "Array.__array_namespace__",
    "version",
    "takes every version",
    lambda f, x, *, api_version=None: f(x),
    lenient=True,
)
plant(
    "Array.__array_namespace__",
    "none",
    "returns the module's name",
    then(lambda module: module.__name__),
)
plant("Array.to_device", "zeros", "the copy holds zeros", then(lambda x: xp.zeros_like(x)))
plant("Array.to_device", "flat", "the copy has one dimension", then(values_of))
plant("Array.__dlpack_device__", "cuda", "says CUDA", then(lambda pair: (2, pair[1])))
plant(
    "Array.__dlpack__",
    "copies",
    "exports a copy unless told otherwise",
    lambda f, x, **keywords: f(
        x, **{**keywords, "copy": True if keywords.get("copy") is None else keywords["copy"]}
    ),
)
