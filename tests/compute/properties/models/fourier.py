"""Models of the extension fft: direct sums, frequencies as fractions, and shifted indices."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from oracles import direct_sums
from oracles.formats import COMPLEX, FLOATS, REAL_FLOATS
from oracles.nested import Nested, made, normalized

from properties.arrays import Draw, Element, array, shapes
from properties.models.registry import Call, Near, Result, models

extents = st.sampled_from((1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16))
names = st.sampled_from(direct_sums.NORMS)


def dotted(*each: str) -> tuple[str, ...]:
    return tuple(f"fft.{name}" for name in each)


def amplitude(dtype: str) -> Element:
    """Numbers that every dtype holds, zeros among them."""

    def part(rng: random.Random) -> float:
        return rng.choice((0.0, 1.0, -0.5, rng.randint(-(2**20), 2**20) / 2**19))

    if dtype in COMPLEX:
        return lambda rng: complex(part(rng), part(rng))
    return part


def keywords_of(draw: Draw, **given: Any) -> dict[str, Any]:
    """The keywords, without some that have the default value."""
    defaults: dict[str, Any] = {"norm": "backward", "axis": -1, "n": None, "s": None, "axes": None}
    return {
        name: value
        for name, value in given.items()
        if value != defaults[name] or draw(st.booleans())
    }


def extent_and_default(draw: Draw, name: str, extent: int) -> tuple[int | None, int]:
    """The argument n, and the number that it stands for."""
    default = direct_sums.default_extent(name, extent)
    if default >= 1 and draw(st.booleans()):
        return None, default
    n = draw(extents)
    return n, n


@models(*dotted(*direct_sums.ONE_AXIS))
def one_axis(full_name: str, draw: Draw) -> Call:
    name = full_name.partition(".")[2]
    dtype = draw(st.sampled_from(direct_sums.dtypes(name)))
    shape = list(draw(shapes.filter(lambda each: 1 <= len(each) <= 3)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    if draw(st.booleans()):
        shape[axis] = draw(extents)
    x = array(draw, dtype, tuple(shape), amplitude(dtype))
    given, n = extent_and_default(draw, name, shape[axis])
    norm = draw(names)
    wanted = direct_sums.transformed(name, direct_sums.pairs(x.model), n, axis, norm)
    out = direct_sums.result_dtype(name, dtype)
    factors = int(direct_sums.is_scaled(name, norm))
    return Call(
        (x.array,),
        lambda y: direct_sums.assert_close(y, wanted, out, n, factors),
        keywords_of(draw, n=given, axis=axis, norm=norm),
    )


@models(*dotted(*direct_sums.SEVERAL_AXES))
def several_axes(full_name: str, draw: Draw) -> Call:
    name = full_name.partition(".")[2]
    dtype = draw(st.sampled_from(direct_sums.dtypes(name)))
    shape = draw(shapes.filter(lambda each: 1 <= len(each) <= 3))
    order = draw(st.permutations(range(len(shape))))
    least = 0 if name in ("fftn", "ifftn") else 1
    axes = order[: draw(st.integers(least, len(order)))]
    if is_all := draw(st.booleans()):
        axes = list(range(len(shape)))
    x = array(draw, dtype, shape, amplitude(dtype))
    defaults = [shape[axis] for axis in axes]
    if name in direct_sums.TO_REAL:
        defaults[-1] = 2 * (defaults[-1] - 1)
    s = [n if n >= 1 and draw(st.booleans()) else draw(extents) for n in defaults]
    given: Any = [
        -1 if n == m and draw(st.booleans()) else n for n, m in zip(s, defaults, strict=True)
    ]
    if min(defaults, default=1) >= 1 and (is_all or draw(st.booleans())):
        given, s = None, defaults
    named: Any = tuple(a - len(shape) if draw(st.booleans()) else a for a in axes)
    if is_all and given is None:
        named = None
    norm = draw(names)
    wanted = direct_sums.several(name, direct_sums.pairs(x.model), s, axes, norm)
    out = direct_sums.result_dtype(name, dtype)
    # Every axis adds its error, and a factor its own.
    n = math.prod(max(2, each) for each in s)
    factors = len(s) * direct_sums.is_scaled(name, norm)
    return Call(
        (x.array,),
        lambda y: direct_sums.assert_close(y, wanted, out, n, factors),
        keywords_of(draw, s=given, axes=named, norm=norm),
    )


@models(*dotted(*direct_sums.FREQUENCIES))
def frequencies(full_name: str, draw: Draw) -> Call:
    n = draw(st.integers(1, 40))
    d = draw(st.sampled_from((1.0, 0.5, 0.1, -3.0, 1e-2, 7.0)))
    dtype = draw(st.sampled_from(REAL_FLOATS))
    numbers = list(range(n // 2 + 1))
    if full_name == "fft.fftfreq":
        numbers = [k if 2 * k < n else k - n for k in range(n)]
    values: list[Any] = [
        Near(Fraction(k) / (n * Fraction(d)), 0.75) if k else (0.0, -0.0) for k in numbers
    ]
    keywords: dict[str, Any] = {} if d == 1.0 and draw(st.booleans()) else {"d": d}
    if dtype != "float64" or draw(st.booleans()):
        keywords["dtype"] = dtype
    return Call((n,), Result(Nested(values, (len(values),)), dtype), keywords)


@models(*dotted(*direct_sums.SHIFTS))
def shifted(full_name: str, draw: Draw) -> Call:
    x = array(draw, draw(st.sampled_from(FLOATS)))
    ndim = len(x.shape)
    axes: Any = None
    if ndim and draw(st.booleans()):
        axes = draw(st.integers(-ndim, ndim - 1))
        if draw(st.booleans()):
            few = draw(st.permutations(range(ndim)))
            axes = tuple(few[: draw(st.integers(0, ndim))])
    moved = normalized(axes, ndim)
    back = full_name == "fft.ifftshift"

    def source(index: tuple[int, ...]) -> Any:
        place = list(index)
        for axis in moved:
            extent = x.shape[axis]
            place[axis] = (index[axis] + (extent // 2 if back else -(extent // 2))) % extent
        return x.model.at(place)

    keywords = {} if axes is None and draw(st.booleans()) else {"axes": axes}
    return Call((x.array,), Result(made(x.shape, source), x.dtype), keywords)
