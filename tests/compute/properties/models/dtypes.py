"""Models of the functions of dtypes and of the namespace's inspection."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles.formats import (
    ALL,
    COMPLEX,
    COMPONENT,
    FORMATS,
    INTEGERS,
    REAL_FLOATS,
    SIGNED,
    STANDARD,
    UNSIGNED,
    limits,
    wrapped,
)
from oracles.nested import Nested
from oracles.promotion import PROMOTION, scalar_result

from properties.arrays import Draw, array, converted, xp
from properties.models.registry import Call, Result, models

KINDS = {
    "bool": ("bool",),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGERS,
    "real floating": REAL_FLOATS,
    "complex floating": COMPLEX,
    "numeric": (*INTEGERS, *REAL_FLOATS, *COMPLEX),
}


def equals(wanted: Any) -> Callable[[Any], None]:
    """Compares a result that is no array."""

    def compare(out: Any) -> None:
        assert type(out) is type(wanted)
        assert out == wanted

    return compare


def cast(value: Any, source: str, dtype: str) -> Any:
    """What astype() makes of an element."""
    if dtype == "bool":
        return value != 0
    if dtype in INTEGERS:
        if source not in REAL_FLOATS:
            return wrapped(int(value), dtype)
        low, high = limits(dtype)
        return None if math.isnan(value) else max(low, min(high, truncated(value)))
    if dtype in REAL_FLOATS:
        return converted(value if source in REAL_FLOATS else int(value), dtype)
    part = COMPONENT[dtype]
    number = value if source in COMPLEX else complex(value) if source in REAL_FLOATS else None
    if number is None:
        return complex(converted(int(value), part), 0.0)
    return complex(converted(number.real, part), converted(number.imag, part))


def truncated(value: float) -> int:
    return math.trunc(value) if math.isfinite(value) else int(math.copysign(2**80, value))


@models("astype")
def astype(name: str, draw: Draw) -> Call:
    x = array(draw, draw(st.sampled_from(ALL)))
    to = ("bool", *COMPLEX) if x.dtype in COMPLEX else ALL
    dtype = draw(st.sampled_from(to))
    values = x.values if dtype == x.dtype else [cast(v, x.dtype, dtype) for v in x.values]
    keywords = {"copy": draw(st.booleans())}
    return Call((x.array, getattr(xp, dtype)), Result(Nested(values, x.shape), dtype), keywords)


@models("can_cast")
def can_cast(name: str, draw: Draw) -> Call:
    source, dtype = draw(st.sampled_from(ALL)), draw(st.sampled_from(ALL))
    given = array(draw, source).array if draw(st.booleans()) else getattr(xp, source)
    wanted = PROMOTION.get((source, dtype)) == dtype
    return Call((given, getattr(xp, dtype)), equals(wanted))


@models("isdtype")
def isdtype(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(ALL))
    kinds = draw(st.lists(st.sampled_from((*KINDS, *ALL)), max_size=4))
    is_dtype = [draw(st.booleans()) if kind == "bool" else kind in ALL for kind in kinds]
    given = tuple(getattr(xp, k) if is_it else k for k, is_it in zip(kinds, is_dtype, strict=True))
    wanted = any(dtype in KINDS.get(kind, (kind,)) for kind in kinds)
    kind: Any = given[0] if len(given) == 1 else given
    return Call((getattr(xp, dtype), kind), equals(wanted))


@models("result_type")
def result_type(name: str, draw: Draw) -> Call:
    one, other = draw(st.sampled_from(sorted(PROMOTION)))
    dtype = PROMOTION[one, other]
    given: list[Any] = [array(draw, one, ()).array, getattr(xp, other)]
    kind = draw(st.sampled_from((bool, int, float, complex)))
    if wanted := scalar_result(dtype, kind):
        given.append(kind(1))
    order = draw(st.permutations(given))
    return Call(tuple(order), equals(getattr(xp, wanted or dtype)))


@models("finfo")
def finfo(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from((*REAL_FLOATS, *COMPLEX)))
    part = COMPONENT.get(dtype, dtype)
    form = FORMATS[part]

    def compare(out: Any) -> None:
        bits = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}[part]
        assert (out.bits, out.max, out.min) == (bits, form.largest, -form.largest)
        assert out.eps == Fraction(2) ** (1 - form.precision)
        assert out.smallest_normal == form.smallest_normal
        assert out.dtype == getattr(xp, part)

    return Call((array_or_dtype(draw, dtype),), compare)


@models("iinfo")
def iinfo(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(INTEGERS))

    def compare(out: Any) -> None:
        assert (out.min, out.max) == limits(dtype)
        assert (out.bits, out.dtype) == (int(dtype.lstrip("uint")), getattr(xp, dtype))

    return Call((array_or_dtype(draw, dtype),), compare)


def array_or_dtype(draw: Draw, dtype: str) -> Any:
    return array(draw, dtype).array if draw(st.booleans()) else getattr(xp, dtype)


@models("__array_namespace_info__")
def namespace_info(name: str, draw: Draw) -> Call:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), max_size=3))
    names = [dtype for dtype in STANDARD if any(dtype in KINDS[kind] for kind in kinds)]

    def compare(out: Any) -> None:
        found = out.dtypes(kind=tuple(kinds))
        assert found == {dtype: getattr(xp, dtype) for dtype in names}
        assert list(out.dtypes()) == [*("bool", *SIGNED, *UNSIGNED), *STANDARD[9:]]

    return Call((), compare)
