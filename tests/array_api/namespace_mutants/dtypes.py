"""Mutants of the functions of dtypes and of the namespace's description of itself."""

from __future__ import annotations

import dataclasses
from typing import Any

from array_api.namespace_mutants.base import Broken, plant
from array_api.namespace_mutants.kinds import instead, is_array, swapped, then, when

import refarray as xp


def limit(name: str, change: Any) -> Broken:
    """One limit is another one."""
    return then(lambda info: dataclasses.replace(info, **{name: change(info)}))


def kind_with(kind: str, extra: Any) -> Broken:
    """A kind has more dtypes."""
    return lambda f, dtype, asked: f(dtype, asked) or (asked == kind and extra(f, dtype))


class Wrapped:
    """__array_namespace_info__() with one method replaced."""

    def __init__(self, info: Any, name: str, change: Any) -> None:
        self._info, self._name, self._change = info, name, change

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._info, name)
        if name != self._name:
            return method
        return lambda *args, **kwargs: self._change(method, *args, **kwargs)


def method(name: str, change: Any) -> Broken:
    return then(lambda info: Wrapped(info, name, change))


def with_entry(key: str, value: Any) -> Any:
    return lambda f, *args, **kwargs: {**f(*args, **kwargs), key: value}


def larger(f: Any, *types: Any) -> Any:
    """Of two dtypes the wider one, the first if they are equally wide."""
    kinds = [x.dtype if is_array(x) else x for x in types]
    f(*types)
    return max(kinds, key=lambda dtype: dtype.bits)


def is_floating(dtype: Any) -> bool:
    return bool(xp.isdtype(dtype, ("real floating", "complex floating")))


def bits(dtype: Any) -> int:
    return int(dtype.bits)


plant("finfo", "eps", "eps is half of it", limit("eps", lambda i: i.eps / 2))
plant("finfo", "max", "max is a power of 2", limit("max", lambda i: i.max * (1 + i.eps / 2) / 2))
plant(
    "finfo", "min", "min is the smallest normal number", limit("min", lambda i: i.smallest_normal)
)
plant(
    "finfo",
    "smallest",
    "smallest_normal is subnormal",
    limit("smallest_normal", lambda i: i.smallest_normal * i.eps),
)
plant(
    "finfo",
    "bits",
    "the bits of complex64 are 64",
    lambda f, x: dataclasses.replace(f(x), bits=bits(x.dtype if is_array(x) else x)),
)
plant(
    "finfo",
    "dtype",
    "the dtype of complex64 is complex64",
    lambda f, x: dataclasses.replace(f(x), dtype=x.dtype if is_array(x) else x),
)
plant("finfo", "float32", "always describes float32", instead(lambda x: xp.finfo(xp.float32)))
plant("iinfo", "min", "min is -max", limit("min", lambda i: -i.max))
plant("iinfo", "max", "max is one too large", limit("max", lambda i: i.max + 1))
plant("iinfo", "bits", "bits are bytes", limit("bits", lambda i: i.bits // 8))
plant(
    "iinfo",
    "signed",
    "unsigned dtypes have the limits of signed ones",
    when(
        lambda x: xp.isdtype(x.dtype if is_array(x) else x, "unsigned integer"),
        limit("max", lambda i: i.max // 2),
    ),
)
plant("isdtype", "numeric", "bool is numeric", kind_with("numeric", lambda f, d: f(d, "bool")))
plant("isdtype", "integral", "bool is integral", kind_with("integral", lambda f, d: f(d, "bool")))
plant(
    "isdtype",
    "unsigned",
    "unsigned integers are not integral",
    lambda f, d, kind: f(d, kind) and not (kind == "integral" and f(d, "unsigned integer")),
)
plant(
    "isdtype",
    "complex",
    "complex dtypes are not numeric",
    lambda f, d, kind: f(d, kind) and not (kind == "numeric" and f(d, "complex floating")),
)
plant(
    "isdtype",
    "tuple",
    "of a tuple of kinds only the first counts",
    lambda f, d, kind: f(d, kind[0] if isinstance(kind, tuple) else kind),
)
plant(
    "isdtype",
    "signed",
    "int64 is unsigned",
    kind_with("unsigned integer", lambda f, d: d == xp.int64),
)
plant(
    "isdtype",
    "real",
    "complex dtypes are real",
    kind_with("real floating", lambda f, d: f(d, "complex floating")),
)
plant(
    "isdtype",
    "same",
    "a dtype as kind: True for equal kinds",
    lambda f, d, kind: f(d, kind) if isinstance(kind, (str, tuple)) else d.kind == kind.kind,
)
plant("can_cast", "swapped", "the dtypes change places", swapped)
plant(
    "can_cast",
    "size",
    "True if the dtype is at least as wide",
    lambda f, a, b: f(a, b) or bits(a.dtype if is_array(a) else a) <= bits(b),
)
plant(
    "can_cast",
    "same",
    "True only for equal dtypes",
    lambda f, a, b: f(a, b) and (a.dtype if is_array(a) else a) == b,
)
plant(
    "can_cast",
    "complex",
    "complex to real is possible",
    lambda f, a, b: f(a, b) or (a == xp.complex64 and b == xp.float64),
)
plant(
    "can_cast",
    "signed",
    "unsigned to signed of the same width is possible",
    lambda f, a, b: f(a, b) or (a == xp.uint8 and b == xp.int8),
)
plant("result_type", "wider", "of mixed dtypes the wider one", larger)
plant(
    "result_type",
    "first",
    "the first dtype",
    lambda f, *types: (f(*types), types[0].dtype if is_array(types[0]) else types[0])[1],
)
plant("result_type", "two", "only the first two operands count", lambda f, *types: f(*types[:2]))
plant(
    "result_type",
    "scalar",
    "Python numbers have their own dtype",
    lambda f, *types: f(
        *(xp.asarray(x).dtype if isinstance(x, (int, float)) else x for x in types)
    ),
)
plant(
    "result_type",
    "complex",
    "float64 and complex64 give complex64",
    lambda f, *types: xp.complex64 if {xp.float64, xp.complex64} == set(types) else f(*types),
)
INFO = "__array_namespace_info__"
plant(
    INFO,
    "default-real",
    "the default real dtype is float32",
    method("default_dtypes", with_entry("real floating", xp.float32)),
)
plant(
    INFO,
    "default-complex",
    "the default complex dtype is complex64",
    method("default_dtypes", with_entry("complex floating", xp.complex64)),
)
plant(
    INFO,
    "default-indexing",
    "the default dtype of indices is int32",
    method("default_dtypes", with_entry("indexing", xp.int32)),
)
plant(
    INFO,
    "boolean-indexing",
    "says that boolean indexing is missing",
    method("capabilities", with_entry("boolean indexing", False)),
)
plant(
    INFO,
    "data-dependent",
    "says that shapes cannot depend on data",
    method("capabilities", with_entry("data-dependent shapes", False)),
)
plant(
    INFO,
    "max-dimensions",
    "says that arrays have 32 dimensions at most",
    method("capabilities", with_entry("max dimensions", 32)),
)
plant(
    INFO,
    "kind",
    "dtypes() ignores its kind",
    method("dtypes", lambda f, *, device=None, kind=None: f(device=device)),
)
plant(
    INFO,
    "dtypes",
    "dtypes() has no uint64",
    method("dtypes", lambda f, **k: {n: d for n, d in f(**k).items() if n != "uint64"}),
)
plant(
    INFO,
    "dtypes-more",
    "dtypes() has float16 also",
    method("dtypes", with_entry("float16", xp.float16)),
)
plant(INFO, "devices", "there are no devices", method("devices", lambda f: ()))
plant(
    INFO,
    "default-device",
    "the default device is a name",
    method("default_device", lambda f: "cpu"),
)
