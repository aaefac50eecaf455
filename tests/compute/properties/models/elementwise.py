"""Models of the elementwise functions, from the oracles for single numbers."""

from __future__ import annotations

import cmath
import math
from typing import Any

from hypothesis import strategies as st
from oracles import arithmetic, real_functions
from oracles.formats import ALL, COMPLEX, COMPONENT, INTEGERS, REAL
from oracles.functions import BINARY, UNARY
from oracles.nested import Nested, made
from oracles.promotion import PROMOTION

from properties.arrays import Draw, Drawn, array, broadcastable, converted, shapes, xp
from properties.models.registry import Call, Result, models, near

#: Of parts, each of which is exact.
COMPLEX_UNARY: dict[str, Any] = {
    "conj": lambda x: x.conjugate(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "isnan": cmath.isnan,
    "isinf": cmath.isinf,
    "isfinite": cmath.isfinite,
}


def unary(name: str, x: Any, dtype: str) -> Any:
    """What the function returns for an element; None where no oracle is exact."""
    if dtype in COMPLEX:
        work = COMPLEX_UNARY.get(name)
        return None if work is None else work(x)
    if dtype == "bool":
        return not x
    if dtype in INTEGERS:
        return arithmetic.INTEGER_UNARY[name](x, dtype)
    if name == "signbit" and math.isnan(x):
        return None
    if name in arithmetic.FLOAT_UNARY:
        return arithmetic.FLOAT_UNARY[name](x, dtype)
    return near(name, real_functions.real_unary(name, x))


def binary(name: str, x: Any, y: Any, dtype: str) -> Any:
    if name in arithmetic.COMPARISONS:
        return arithmetic.COMPARISONS[name](x, y)
    if dtype == "bool":
        return arithmetic.BOOL_BINARY[name](x, y)
    if dtype in INTEGERS:
        return arithmetic.INTEGER_BINARY[name](x, y, dtype)
    if dtype in COMPLEX:
        if name not in ("add", "subtract"):
            return None
        part = COMPONENT[dtype]
        work = arithmetic.FLOAT_BINARY[name]
        return complex(work(x.real, y.real, part), work(x.imag, y.imag, part))
    if name in arithmetic.FLOAT_BINARY:
        right = arithmetic.FLOAT_BINARY[name](x, y, dtype)
        if name in ("maximum", "minimum") and right == 0:
            return (0.0, -0.0)
        return right
    if name == "logaddexp":  # its sum may cancel: tests of single values have a bound of their own
        return None
    return near(name, real_functions.REAL_BINARY[name](x, y))


@models(*UNARY)
def unary_call(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(UNARY[name].dtypes))
    x = array(draw, dtype)
    values = [unary(name, each, dtype) for each in x.values]
    return Call((x.array,), Result(Nested(values, x.shape), UNARY[name].result_of(dtype)))


def as_promoted(value: Any, source: str, dtype: str) -> Any:
    """An element in the dtype to which it is promoted, which holds it exactly."""
    return complex(value) if dtype in COMPLEX and source not in COMPLEX else value


def paired(x: Drawn, y: Drawn, shape: tuple[int, ...], work: Any) -> Nested:
    """Calls `work` with the elements that broadcasting brings together."""

    def at(of: Drawn, index: tuple[int, ...]) -> Any:
        inner = index[len(index) - len(of.shape) :]
        return of.model.at([i if n > 1 else 0 for i, n in zip(inner, of.shape, strict=True)])

    return made(shape, lambda index: work(at(x, index), at(y, index)))


def two_operands(draw: Draw, dtypes: tuple[str, ...]) -> tuple[Drawn, Drawn, tuple[int, ...], str]:
    """Two arrays that broadcast, one of them to the shape, and promote; the shape and the dtype."""
    names = sorted(pair for pair in PROMOTION if set(pair) <= set(dtypes))
    one, other = draw(st.sampled_from(names))
    shape = draw(shapes)
    given = [shape, broadcastable(draw, shape)]
    if draw(st.booleans()):
        given.reverse()
    x, y = array(draw, one, given[0]), array(draw, other, given[1])
    return x, y, shape, PROMOTION[one, other]


@models(*BINARY)
def binary_call(name: str, draw: Draw) -> Call:
    x, y, shape, dtype = two_operands(draw, BINARY[name].dtypes)
    if name == "pow" or "shift" in name:  # numbers for which Python's own operators are fast
        y = y if dtype not in INTEGERS else small_powers(draw, y)

    def work(a: Any, b: Any) -> Any:
        return binary(name, as_promoted(a, x.dtype, dtype), as_promoted(b, y.dtype, dtype), dtype)

    wanted = paired(x, y, shape, work)
    return Call((x.array, y.array), Result(wanted, BINARY[name].result_of(dtype)))


def small_powers(draw: Draw, y: Drawn) -> Drawn:
    low = 0 if y.dtype.startswith("u") else -9
    return array(draw, y.dtype, y.shape, lambda rng: rng.randint(low, 70))


@models("clip")
def clip(name: str, draw: Draw) -> Call:
    dtype = draw(st.sampled_from(REAL))
    x = array(draw, dtype)
    bounds = [
        array(draw, dtype, broadcastable(draw, x.shape)) if draw(st.booleans()) else None
        for _ in range(2)
    ]
    wanted = x.model
    for bound, work in zip(reversed(bounds), (min, max), strict=True):
        if bound is not None:
            current = Drawn(x.array, wanted, dtype)
            wanted = paired(current, bound, x.shape, lambda a, b, w=work: limited(a, b, w))
    arguments = tuple(None if each is None else each.array for each in bounds)
    return Call((x.array, *arguments), Result(wanted, dtype))


def limited(value: Any, bound: Any, work: Any) -> Any:
    """min() or max() with NaN of either, and any zero."""
    values = value if isinstance(value, tuple) else (value,)
    if any(each != each for each in (*values, bound)):
        return math.nan
    right = work(values[0], bound)
    return (0.0, -0.0) if isinstance(right, float) and right == 0 else right


@models("where")
def where(name: str, draw: Draw) -> Call:
    x, y, shape, dtype = two_operands(draw, ALL)
    condition = array(draw, "bool", broadcastable(draw, shape))
    pairs = paired(x, y, shape, lambda a, b: (a, b))
    both = Drawn(xp.zeros(shape), pairs, dtype)
    chosen = paired(condition, both, shape, lambda c, pair: pair[0] if c else pair[1])
    sources = paired(condition, both, shape, lambda c, pair: x.dtype if c else y.dtype)
    values = [
        promoted(value, source, dtype)
        for value, source in zip(chosen.values, sources.values, strict=True)
    ]
    return Call((condition.array, x.array, y.array), Result(Nested(values, shape), dtype))


def promoted(value: Any, source: str, dtype: str) -> Any:
    if isinstance(value, float) and dtype not in COMPLEX:
        return converted(value, dtype)
    return as_promoted(value, source, dtype)
