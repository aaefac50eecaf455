"""Complex arithmetic and functions away from special cases, against exact values: digits that
products of parts have in common, and the signs of zeros."""

from __future__ import annotations

import cmath
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.arithmetic import FLOAT_BINARY
from oracles.checks import assert_dtype, assert_elements, complex_error, flat, same
from oracles.formats import COMPLEX, COMPONENT, FORMATS, rounded
from oracles.functions import INEXACT, UNARY
from oracles.layouts import gapless
from oracles.real_functions import CONTEXT, Exact, settled
from oracles.samples import pairs, samples
from oracles.switches import ISAS, instruction_set

import refarray

#: Largest distance from the exact value, in ULP of the larger component.
BOUND = 4.0
Pair = tuple[Fraction, Fraction]


def exact_function(name: str, value: complex) -> tuple[Exact, Exact]:
    z = CONTEXT.mpc(value)
    if name == "log2":
        result = CONTEXT.log(z) / CONTEXT.ln2
    elif name == "log10":
        result = CONTEXT.log(z) / CONTEXT.ln10
    elif name == "log1p":
        result = CONTEXT.log(1 + z)
    elif name == "expm1":
        result = CONTEXT.exp(z) - 1
    else:
        result = getattr(CONTEXT, name)(z)
    result = CONTEXT.mpc(result)
    return settled(result.real), settled(result.imag)


def assert_close(name: str, values: list[Any], out: Any, exact: list[Any], dtype: str) -> None:
    assert_dtype(out, dtype)
    for value, got, right in zip(values, flat(out), exact, strict=True):
        off = complex_error(got, right, dtype)
        assert off <= BOUND, f"{name}({value}) is {got}, {off:.3g} ULP from {right} ({dtype})"


@run_each("dtype", COMPLEX)
@pytest.mark.parametrize("name", INEXACT)
def test_functions(name: str, dtype: str) -> None:
    values = samples(dtype)
    tiny = 2.0**-40 if dtype == "complex128" else 2.0**-20
    values += [complex(tiny, tiny / 2), complex(-tiny, tiny), complex(tiny, 1), complex(1, tiny)]
    values = [complex(rounded(Fraction(v.real), COMPONENT[dtype]), v.imag) for v in values]
    out = getattr(refarray, name)(gapless(values, dtype))
    assert_close(name, values, out, [exact_function(name, v) for v in values], dtype)


@run_each("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["abs", "log", "sqrt", "asinh", "acosh", "log2", "log10", "log1p"])
def test_large_and_small_components_neither_overflow_nor_vanish(name: str, dtype: str) -> None:
    form = FORMATS[COMPONENT[dtype]]
    large, small = form.largest / 2, form.smallest_normal * 8
    sizes = [(large, large), (-large, large), (large, -1.0), (1.0, large)]
    if name in ("abs", "sqrt", "log", "log2", "log10"):
        sizes += [(small, small), (-small, small), (small, -small / 4)]
    values = [complex(a, b) for a, b in sizes]
    out = getattr(refarray, name)(refarray.asarray(values, dtype=dtype))
    if name == "abs":
        for value, got in zip(values, out.tolist(), strict=True):
            exact = settled(abs(CONTEXT.mpc(value)))
            assert abs(Fraction(got) / Fraction(exact) - 1) <= Fraction(2) ** (1 - form.precision)
        return
    assert_close(name, values, out, [exact_function(name, v) for v in values], dtype)


def hard_points(dtype: str) -> list[complex]:
    """Beside the branch points 1, -1, 1j and -1j, the unit circle and the same circle around -1."""
    source = random.Random(23)
    points = []
    for _ in range(40):
        near, tiny, angle = (2.0 ** source.uniform(-50, 0) for _ in range(3))
        size = 1 + source.choice((near, -near, 0.0))
        turn = source.choice((angle, source.uniform(0, 4)))
        circle = complex(size * math.cos(turn), size * math.sin(turn))
        points += [complex(size, tiny), complex(tiny, size), complex(size, near)]
        points += [circle, circle - 1]
    part = COMPONENT[dtype]
    signed = [complex(*(source.choice((x, -x)) for x in (z.real, z.imag))) for z in points]
    values = [complex(*(rounded(Fraction(x), part) for x in (z.real, z.imag))) for z in signed]
    return [z for z in values if z.real and z.imag]


@run_each("dtype", COMPLEX)
@pytest.mark.parametrize("name", INEXACT)
def test_functions_near_branch_points_and_the_unit_circle(name: str, dtype: str) -> None:
    values = hard_points(dtype)
    out = getattr(refarray, name)(refarray.asarray(values, dtype=dtype))
    assert_close(name, values, out, [exact_function(name, v) for v in values], dtype)


@run_each("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["exp", "expm1", "sinh", "cosh", "sin", "cos"])
def test_results_are_finite_where_an_exponential_alone_overflows(name: str, dtype: str) -> None:
    largest = math.log(FORMATS[COMPONENT[dtype]].largest)  # exp of more overflows
    beyond = 0.1 if "exp" in name else 0.9  # sinh and cosh have half of exp
    size = rounded(Fraction(largest + beyond), COMPONENT[dtype])
    values = [complex(a, b) for a in (size, -size) for b in (0.75, -2.25, 4.0)]
    if name in ("sin", "cos"):
        values = [complex(z.imag, z.real) for z in values]
    out = getattr(refarray, name)(refarray.asarray(values, dtype=dtype))
    assert_close(name, values, out, [exact_function(name, v) for v in values], dtype)


def exactly(value: complex) -> Pair:
    return Fraction(value.real), Fraction(value.imag)


def times(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1]


def over(a: Pair, b: Pair) -> Pair:
    size = b[0] ** 2 + b[1] ** 2
    real, imag = times(a, (b[0], -b[1]))
    return real / size, imag / size


def raised(a: Pair, b: Pair) -> tuple[Exact, Exact]:
    x, y = (CONTEXT.mpc(*(CONTEXT.mpf(p.numerator) / p.denominator for p in z)) for z in (a, b))
    result = CONTEXT.exp(y * CONTEXT.log(x))
    return settled(result.real), settled(result.imag)


EXACT: dict[str, Callable[[Pair, Pair], tuple[Exact, Exact]]] = {
    "multiply": times,
    "divide": over,
    "pow": raised,
}


@run_each("dtype", COMPLEX)
@pytest.mark.parametrize("name", EXACT)
def test_products_quotients_and_powers(name: str, dtype: str) -> None:
    a, b = pairs(dtype)
    exact = [EXACT[name](exactly(x), exactly(y)) for x, y in zip(a, b, strict=True)]
    size = 30.0  # exp(y log x) loses the bits of the exponent: |y log x| is up to 2**5
    out = getattr(refarray, name)(gapless(a, dtype), gapless(b, dtype))
    assert_dtype(out, dtype)
    for x, y, got, right in zip(a, b, flat(out), exact, strict=True):
        off = complex_error(got, right, dtype)
        assert off <= (4 * size if name == "pow" else BOUND), (name, x, y, got, right)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_products_of_small_integers_are_exact(dtype: str) -> None:
    values = [complex(a, b) for a in (-3, 0, 2, 7) for b in (-5, 0, 1, 4)]
    a, b = ([x for x in values for _ in values], [y for _ in values for y in values])
    left, right = (refarray.asarray(each, dtype=dtype) for each in (a, b))
    for got, x, y in zip((left * right).tolist(), a, b, strict=True):
        assert got == x * y
    quotients = (left * right / refarray.where(right == 0, 1 + 0j, right)).tolist()
    for got, x, y in zip(quotients, a, b, strict=True):
        assert abs(got - (x if y else 0)) <= 1e-5
    squares = refarray.square(left).tolist()
    assert squares == (left * left).tolist()


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["add", "subtract"])
def test_sums_are_those_of_the_components(name: str, dtype: str) -> None:
    part = COMPONENT[dtype]
    form = FORMATS[part]
    numbers = [0.0, -0.0, 1.5, -2.0, form.largest, -form.smallest, math.inf, -math.inf, math.nan]
    values = [complex(a, b) for a in numbers for b in numbers]
    others = values[7:] + values[:7]
    out = getattr(refarray, name)(
        refarray.asarray(values, dtype=dtype), refarray.asarray(others, dtype=dtype)
    )
    work = FLOAT_BINARY[name]
    wanted = [
        complex(work(x.real, y.real, part), work(x.imag, y.imag, part))
        for x, y in zip(values, others, strict=True)
    ]
    assert_elements(out.tolist(), wanted, values, others)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_functions_of_components(dtype: str) -> None:
    numbers = [0.0, -0.0, 1.5, 2.5, -3.5, -0.5, math.inf, -math.inf, math.nan, 7.0]
    values = [complex(a, b) for a in numbers for b in numbers]
    x = refarray.asarray(values, dtype=dtype)
    cases: dict[str, Callable[[complex], Any]] = {
        "real": lambda z: z.real,
        "imag": lambda z: z.imag,
        "conj": lambda z: complex(z.real, -z.imag),
        "negative": lambda z: complex(-z.real, -z.imag),
        "positive": lambda z: z,
        "isnan": lambda z: math.isnan(z.real) or math.isnan(z.imag),
        "isinf": lambda z: math.isinf(z.real) or math.isinf(z.imag),
        "isfinite": lambda z: math.isfinite(z.real) and math.isfinite(z.imag),
        "round": lambda z: complex(nearest(z.real), nearest(z.imag)),
    }
    for name, work in cases.items():
        out = getattr(refarray, name)(x)
        assert_dtype(out, UNARY[name].result_of(dtype))
        assert_elements(out.tolist(), [work(z) for z in values], values)


def nearest(x: float) -> float:
    return math.copysign(float(round(x)), x) if math.isfinite(x) else x


@pytest.mark.parametrize("dtype", COMPLEX)
def test_absolute_value_of_special_components(dtype: str) -> None:
    numbers = [0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan]
    values = [complex(a, b) for a in numbers for b in numbers]
    got = refarray.abs(refarray.asarray(values, dtype=dtype)).tolist()
    for z, mine in zip(values, got, strict=True):
        if math.isinf(z.real) or math.isinf(z.imag):
            assert mine == math.inf, z
        elif math.isnan(z.real) or math.isnan(z.imag):
            assert math.isnan(mine), z
        elif 0 in (z.real, z.imag):
            assert same(mine, abs(z.real) + abs(z.imag)), z
        else:
            assert abs(mine - math.hypot(z.real, z.imag)) <= 1e-6


@pytest.mark.parametrize("dtype", COMPLEX)
def test_sign_is_the_quotient_by_the_absolute_value(dtype: str) -> None:
    values = samples(dtype)
    for z, got in zip(values, flat(refarray.sign(gapless(values, dtype))), strict=True):
        size = abs(CONTEXT.mpc(z))
        right = (settled(z.real / size), settled(z.imag / size))
        assert complex_error(got, right, dtype) <= BOUND


@pytest.mark.parametrize("dtype", COMPLEX)
def test_sign_of_an_infinite_number_is_its_quotient_by_infinity(dtype: str) -> None:
    values = [complex(math.inf, 1), complex(-2, -math.inf), complex(math.inf, math.inf)]
    signs = refarray.sign(refarray.asarray(values, dtype=dtype))
    got = [(z.real, z.imag) for z in flat(signs)]
    nan = math.nan
    assert repr(got) == repr([(nan, 0.0), (-0.0, nan), (nan, nan)])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_equality_of_complex_numbers(dtype: str) -> None:
    numbers = [0.0, -0.0, 1.0, math.inf, math.nan]
    values = [complex(a, b) for a in numbers for b in numbers]
    x = refarray.asarray(values, dtype=dtype)
    for y in values:
        assert refarray.equal(x, y).tolist() == [z == y for z in values]
        assert refarray.not_equal(x, y).tolist() == [z != y for z in values]


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["multiply", "divide"])
def test_all_nan_gives_nan_in_both_components(name: str, dtype: str) -> None:
    x = refarray.asarray([complex(math.nan, math.nan)] * 5, dtype=dtype)
    for got in getattr(refarray, name)(x, x).tolist():
        assert math.isnan(got.real) and math.isnan(got.imag)


# --- products, quotients and reciprocals by parts


xp: Any = refarray


def single(value: float) -> float:
    return rounded(Fraction(value), "float32")


def numbers(seed: str) -> list[complex]:
    source = random.Random(seed)
    sizes = [2.0 ** source.randint(-20, 20) for _ in range(400)]
    return [
        complex(single(size * source.uniform(-1, 1)), single(size * source.uniform(-1, 1)))
        for size in sizes
    ]


def beside(z: complex, source: random.Random) -> complex:
    """A factor whose product with z almost has no real, or no imaginary part."""
    near = [complex(z.imag, z.real), complex(z.real, -z.imag), complex(-z.real, z.imag)]
    near_one = 1 + source.randint(-3, 3) * 2.0**-23
    found = source.choice(near)
    return complex(single(found.real * near_one), found.imag)


def assert_parts_are_rounded(got: list[complex], exact: list[Pair], *operands: Any) -> None:
    for part, which in ((0, "real"), (1, "imag")):
        wanted = [rounded(each[part], "float32") if each[part] else 0.0 for each in exact]
        mine = [abs(v) if v == 0 else v for v in (getattr(each, which) for each in got)]
        assert_elements(mine, [abs(v) if v == 0 else v for v in wanted], *operands)


@pytest.mark.parametrize("isa", ISAS)
def test_parts_of_complex64_products_keep_their_digits_when_products_cancel(isa: str) -> None:
    source = random.Random(11)
    a = numbers("products")
    b = [beside(z, source) if i % 4 else z for i, z in enumerate(a)]
    x, y = xp.asarray(a, dtype="complex64"), xp.asarray(b, dtype="complex64")
    exact = [times(exactly(u), exactly(v)) for u, v in zip(a, b, strict=True)]
    with instruction_set(isa):
        assert_parts_are_rounded((x * y).tolist(), exact, a, b)
        squares = [times(exactly(u), exactly(u)) for u in a]
        assert_parts_are_rounded(xp.square(x).tolist(), squares, a)
        pairs = xp.stack([x, y])
        assert_parts_are_rounded(xp.prod(pairs, axis=0).tolist(), exact, a, b)
        assert_parts_are_rounded(xp.cumulative_prod(pairs, axis=0)[1, :].tolist(), exact, a, b)
        single_products = xp.vecdot(xp.conj(x)[:, None], y[:, None])
        assert_parts_are_rounded(single_products.tolist(), exact, a, b)
        assert_parts_are_rounded(xp.pow(x, 2).tolist(), squares, a)


@pytest.mark.parametrize("isa", ISAS)
def test_parts_of_complex64_quotients_keep_their_digits_when_products_cancel(isa: str) -> None:
    source = random.Random(12)
    a = numbers("quotients")
    b = [beside(z, source).conjugate() if i % 4 else z for i, z in enumerate(a)]
    exact = [over(exactly(u), exactly(v)) for u, v in zip(a, b, strict=True)]
    with instruction_set(isa):
        out = xp.asarray(a, dtype="complex64") / xp.asarray(b, dtype="complex64")
    assert_parts_are_rounded(out.tolist(), exact, a, b)


ZEROS = [complex(a, b) for a in (0.0, -0.0) for b in (2.0, -2.0)]
BESIDE_CUTS = [*ZEROS, *(complex(z.imag, z.real) for z in ZEROS)]
INFINITE = [complex(a, b) for a in (math.inf, -math.inf) for b in (0.0, -0.0, 1.5, -1.5)]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_reciprocals_keep_the_side_of_a_branch_cut(dtype: str) -> None:
    """1 / z has the signs of the conjugate's parts, as z.conjugate() / abs(z)**2 has."""
    values = [*BESIDE_CUTS, *INFINITE, *(complex(z.imag, z.real) for z in INFINITE)]
    out = xp.reciprocal(xp.asarray(values, dtype=dtype)).tolist()
    for z, got in zip(values, out, strict=True):
        size = 4.0 if cmath.isfinite(z) else math.inf
        real = z.real / size if math.isfinite(z.real) else math.copysign(0.0, z.real)
        imag = -z.imag / size if math.isfinite(z.imag) else math.copysign(0.0, -z.imag)
        assert same(got, complex(real, imag)), (z, got)
    for cut in (xp.sqrt, xp.log, xp.atan, xp.asinh, xp.acos, xp.atanh):
        x = xp.asarray(BESIDE_CUTS, dtype=dtype)
        sides = cut(xp.reciprocal(x)).tolist()
        twins = xp.conj(cut(xp.reciprocal(xp.conj(x)))).tolist()
        assert all(same(*pair) for pair in zip(sides, twins, strict=True)), cut


@pytest.mark.parametrize("dtype", COMPLEX)
def test_powers_keep_the_side_of_a_branch_cut(dtype: str) -> None:
    x = xp.asarray(BESIDE_CUTS, dtype=dtype)
    assert_elements((x**1).tolist(), BESIDE_CUTS)
    assert_elements((x**-1).tolist(), xp.reciprocal(x).tolist(), BESIDE_CUTS)
    assert_elements((x**3).tolist(), (x * (x * x)).tolist(), BESIDE_CUTS)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_reciprocals_of_zero_are_infinite(dtype: str) -> None:
    for got in xp.reciprocal(xp.asarray([0j, complex(-0.0, -0.0)], dtype=dtype)).tolist():
        assert got.real == math.inf and math.isnan(got.imag)
