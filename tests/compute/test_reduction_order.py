"""The fixed order of reductions: the same bits for every layout, instruction set and thread count.

The oracle combines elements as src/compute/kernels/reducing/reductions.hpp says, in Python floats;
a float32 result of two float32 operands is the float64 result, rounded once more. Scans take one
element after another."""

from __future__ import annotations

import itertools
import math
import operator
import random
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype
from oracles.formats import FORMATS, INTEGERS, NUMERIC, REAL_FLOATS, rounded, wrapped
from oracles.layouts import views
from oracles.switches import ISAS, instruction_set, threads

import refarray

xp: Any = refarray
ROW_BYTES, BLOCK_BYTES = 256, 8192
SIZES = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
COUNTS = [1, 2, 3, 5, 8, 9, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 1000, 1024, 1025, 2048]
COUNTS += [2049, 3 * 1024, 5 * 2048 + 17, 7 * 1024 + 1, 200_000, 300_001]


def to_float32(value: float) -> float:
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def rounding(dtype: str) -> Callable[[Any], Any]:
    if dtype in {"float16", "bfloat16", "float32"}:
        return to_float32
    if dtype == "complex64":
        return lambda value: complex(to_float32(value.real), to_float32(value.imag))
    return lambda value: value


def multiply(x: Any, y: Any, rounded: Callable[[Any], Any]) -> Any:
    if not isinstance(x, complex):
        return rounded(x * y)

    # Products of float32 are exact in float64; those of float64 are rounded before they are added.
    return complex(
        rounded(
            complex(
                x.real * y.real - x.imag * y.imag,
                x.real * y.imag + x.imag * y.real,
            )
        )
    )


def in_order(values: list[Any], size: int, combine: Callable[[Any, Any], Any]) -> Any:
    """Combines values as documented; `size` is that of an element in bytes."""
    lanes, block = ROW_BYTES // size, BLOCK_BYTES // size
    results = []
    for begin in range(0, len(values), block):
        row = values[begin : begin + block]
        found = row[:lanes]
        for i, value in enumerate(row[lanes:]):
            found[i % lanes] = combine(found[i % lanes], value)
        width = lanes // 2
        while width:
            for i in range(width):
                if i + width < len(found):
                    found[i] = combine(found[i], found[i + width])
            found = found[:width]
            width //= 2
        results.append(found[0])
    while len(results) > 1:
        pairs = [results[i : i + 2] for i in range(0, len(results), 2)]
        results = [combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return results[0]


def samples(dtype: str, count: int, seed: int = 0) -> list[Any]:
    source = random.Random(f"{dtype} {count} {seed}")
    rounded = rounding(dtype)

    def real() -> float:
        return source.uniform(-1, 1) * 2.0 ** source.randrange(-3, 4)

    if dtype.startswith("complex"):
        return [rounded(complex(real(), real())) for _ in range(count)]
    return [rounded(real()) for _ in range(count)]


def bits(array: Any) -> bytes:
    out: bytes = array.tobytes()
    return out


@pytest.fixture(params=sorted({ISAS[0], ISAS[-1]}))
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    with instruction_set(request.param):
        yield request.param


@pytest.mark.parametrize("dtype", SIZES)
def test_sums_in_the_documented_order(isa: str, dtype: str) -> None:
    rounded = rounding(dtype)
    for count in COUNTS:
        values = samples(dtype, count)
        right = in_order(values, SIZES[dtype], lambda x, y: rounded(x + y))
        found = xp.sum(xp.asarray(values, dtype=dtype)).item()
        assert found == right, (isa, count)


@pytest.mark.parametrize("dtype", SIZES)
def test_products_in_the_documented_order(isa: str, dtype: str) -> None:
    rounded = rounding(dtype)
    for count in COUNTS[:-2]:
        values = [v / abs(v) for v in samples(dtype, count)]
        values = [rounded(v) for v in values]
        right = in_order(values, SIZES[dtype], lambda x, y: multiply(x, y, rounded))
        found = xp.prod(xp.asarray(values, dtype=dtype)).item()
        assert found == right, (isa, count)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_small_floats_are_summed_in_float32_and_rounded_once(isa: str, dtype: str) -> None:
    for count in (1, 3, 64, 65, 2049, 5000):
        x = xp.astype(xp.asarray(samples("float32", count), dtype="float32"), getattr(xp, dtype))
        wide = xp.astype(x, xp.float32)
        total = xp.sum(wide)
        assert bits(xp.sum(x)) == bits(xp.astype(total, x.dtype)), (isa, count)
        assert xp.mean(x).item() == rounded(Fraction(total.item()) / count, dtype), (isa, count)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_means_of_small_floats_are_rounded_once(isa: str, dtype: str) -> None:
    """The mean is nearer to the midpoint of two numbers of the dtype than any other float32 is."""
    digits, count = FORMATS[dtype].precision, 2**16 + 1
    odd = range(2**digits + 1, 2 ** (digits + 1), 2 ** (digits - 4) + 6)
    totals = [rounded(Fraction(count * m, 2 ** (digits + 4)), "float32") for m in odd]
    x = xp.zeros((len(totals), count), dtype=dtype)
    for row, total in enumerate(totals):
        left = Fraction(total)
        for column in (0, 1000, 60000):  # the sum of three numbers, exactly
            x[row, column] = rounded(left, dtype)
            left -= Fraction(x[row, column].item())
        assert not left
    wanted = [rounded(Fraction(total) / count, dtype) for total in totals]
    assert xp.mean(x, axis=1).tolist() == wanted, isa


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_variance_is_computed_in_float64_in_two_passes(isa: str, dtype: str) -> None:
    for count in (1, 2, 33, 1025, 5000):
        for correction in (0, 1, 0.5):
            if count - correction <= 0:
                continue
            x = xp.asarray(samples("float32", count), dtype=dtype)
            values = x.tolist()
            mean = in_order(values, 8, operator.add) / count
            squares = [(v - mean) * (v - mean) for v in values]
            right = in_order(squares, 8, operator.add) / (count - correction)
            kind = getattr(xp, dtype)
            wanted = bits(xp.astype(xp.asarray(right, dtype="float64"), kind))
            assert bits(xp.var(x, correction=correction)) == wanted, (isa, count, correction)
            wanted = bits(xp.astype(xp.asarray(math.sqrt(right), dtype="float64"), kind))
            assert bits(xp.std(x, correction=correction)) == wanted, (isa, count, correction)


REDUCED = ["sum", "prod", "mean", "min", "max", "any", "all", "count_nonzero", "argmin", "argmax"]


@pytest.mark.parametrize(
    "shape",
    [(3, 70), (70, 3), (40, 1), (40, 16), (40, 300), (3000, 9), (65, 1100), (1, 5000)],
)
@pytest.mark.parametrize("dtype", [*SIZES, "float16", "bfloat16", "int16", "int32"])
def test_layout_does_not_change_the_bits(isa: str, dtype: str, shape: tuple[int, int]) -> None:
    count = shape[0] * shape[1]
    kind = "complex128" if dtype.startswith("complex") else "float32"
    values = [v * 100 if dtype.startswith("int") else v for v in samples(kind, count)]
    x = xp.astype(xp.reshape(xp.asarray(values, dtype=kind), shape), getattr(xp, dtype))
    names = [*REDUCED, "var", "std"]
    if dtype.startswith("complex"):
        names = ["sum", "prod", "mean", "any", "all", "count_nonzero"]
    if dtype.startswith("int"):
        names = [name for name in REDUCED if name != "mean"]
    for name in names:
        for axis in (None, 0, 1):
            function = getattr(xp, name)
            right = bits(function(x, axis=axis))
            if axis is not None:  # each output, from an array of its own
                rows = x if axis == 1 else x.mT
                alone = b"".join(bits(function(xp.copy(rows[i, :]))) for i in range(len(rows)))
                assert alone == right, (isa, name, axis)
            for text, other in views(x):
                assert bits(function(other, axis=axis)) == right, (isa, name, axis, text)


def test_several_axes_count_in_row_major_order(isa: str) -> None:
    x = xp.reshape(xp.asarray(samples("float32", 7 * 11 * 40), dtype="float32"), (7, 11, 40))
    for axes, order in (((0, 1), (2, 0, 1)), ((0, 2), (1, 0, 2)), ((2, 1), (0, 1, 2))):
        rows = xp.reshape(xp.copy(xp.permute_dims(x, order)), (x.shape[order[0]], -1))
        for name in ("sum", "prod", "mean", "var"):
            function = getattr(xp, name)
            assert bits(function(x, axis=axes)) == bits(function(rows, axis=1)), (isa, name, axes)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "complex64"])
def test_threads_do_not_change_the_bits(dtype: str) -> None:
    small = xp.asarray([v * 40 for v in samples("float32", 1999)], dtype="float32")
    x = xp.empty((3000, 1999), dtype=dtype)
    x[...] = xp.astype(small, x.dtype)
    names = ["sum", "count_nonzero"] + ([] if dtype == "complex64" else ["max", "argmin"])
    arrays = {"gapless": x, "transposed": x.mT, "strided": x[::2, ::2]}
    alone = {
        (name, axis, text): bits(getattr(xp, name)(array, axis=axis))
        for name in names
        for axis in (None, 0, 1)
        for text, array in arrays.items()
    }
    with threads(3):
        for (name, axis, text), right in alone.items():
            assert bits(getattr(xp, name)(arrays[text], axis=axis)) == right, (name, axis, text)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_nan_and_zeros_of_minima(isa: str, dtype: str) -> None:
    kind = getattr(xp, dtype)
    for count in (1, 2, 9, 70, 3000):
        for place in {0, count // 2, count - 1}:
            values = [1.0 + i % 7 for i in range(count)]
            values[place] = math.nan
            x = xp.asarray(values, dtype=kind)
            for name in ("min", "max"):
                assert math.isnan(getattr(xp, name)(x).item()), (isa, name, count, place)
            for name in ("argmin", "argmax"):
                assert getattr(xp, name)(x).item() == place, (isa, name, count, place)
    for zeros in ([0.0, -0.0], [-0.0, 0.0]):
        x = xp.asarray([5.0 * 0.0, *zeros][1:], dtype=kind)
        assert math.copysign(1, xp.min(x).item()) == -1
        assert math.copysign(1, xp.max(x).item()) == 1
        assert xp.argmin(x).item() == 0 and xp.argmax(x).item() == 0
    negative = xp.asarray([-0.0, -0.0], dtype=kind)
    assert math.copysign(1, xp.sum(negative).item()) == -1
    assert math.copysign(1, xp.sum(xp.zeros(0, dtype=kind)).item()) == 1


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float64"])
def test_places_in_short_rows(isa: str, dtype: str) -> None:
    for count in (1, 2, 31, 32, 127, 128):
        x = xp.ones((70, count), dtype=dtype)
        places = [7 * i % count for i in range(70)]
        for i, place in enumerate(places):
            x[i, place] = 0
        assert xp.argmin(x, axis=1).tolist() == places, (isa, count)
        assert xp.argmax(1 - x, axis=1).tolist() == places, (isa, count)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_no_elements_raise(name: str) -> None:
    function = getattr(xp, name)
    with pytest.raises(ValueError, match=r"shape is \(0,\)"):
        function(xp.zeros(0))
    with pytest.raises(ValueError, match=r"shape is \(2, 0\), reduced along axes \(1,\)"):
        function(xp.zeros((2, 0)), axis=1)
    assert function(xp.zeros((2, 0)), axis=0).shape == (0,)


def test_bad_arguments() -> None:
    x = xp.zeros((2, 3))
    with pytest.raises(TypeError, match="keepdims must be True or False, not int"):
        xp.sum(x, keepdims=1)
    with pytest.raises(TypeError, match=r"sum\(\) takes arrays of numeric dtypes, not bool"):
        xp.sum(xp.asarray([True]))
    with pytest.raises(TypeError, match="no conversion from complex64"):
        xp.sum(xp.zeros(2, dtype="complex64"), dtype=xp.float32)
    with pytest.raises(TypeError, match="numeric"):
        xp.sum(x, dtype=xp.bool)
    with pytest.raises(TypeError):
        xp.var(x, correction="1")
    with pytest.raises(ValueError, match="needs an axis"):
        xp.cumulative_sum(x)
    with pytest.raises(ValueError, match="ndim 0"):
        xp.cumulative_prod(xp.asarray(1.0))
    with pytest.raises(ValueError, match="n is -1"):
        xp.diff(x, n=-1)


# --- Scans


def running(values: list[Any], dtype: str, product: bool) -> list[Any]:
    rounded = rounding(dtype)
    if product:
        return list(itertools.accumulate(values, lambda x, y: multiply(x, y, rounded)))
    return list(itertools.accumulate(values, lambda x, y: rounded(x + y)))


@run_each("product", [False, True])
@run_each("dtype", ["float32", "float64", "complex64", "complex128"])
def test_one_element_after_the_other(isa: str, dtype: str, product: bool) -> None:
    function = xp.cumulative_prod if product else xp.cumulative_sum
    for count in (1, 2, 17, 300, 20_000):
        values = samples(dtype, count)
        x = xp.asarray(values, dtype=dtype)
        right = running(values, dtype, product)
        assert function(x).tolist() == right, (isa, count)
        start = 1 if product else 0
        assert function(x, include_initial=True).tolist() == [start, *right], (isa, count)


def test_integers_wrap_around() -> None:
    values = [2**62, 2**62, 2**62, -(2**63), 7]
    sums = list(itertools.accumulate(values, operator.add))
    wrapped = [(v + 2**63) % 2**64 - 2**63 for v in sums]
    assert xp.cumulative_sum(xp.asarray(values, dtype="int64")).tolist() == wrapped
    small = xp.asarray([100, 100, 100], dtype="int8")
    assert xp.cumulative_sum(small).tolist() == [100, 200, 300]
    assert xp.cumulative_sum(small, dtype=xp.int8).tolist() == [100, -56, 44]
    assert xp.cumulative_prod(small, dtype=xp.uint8).tolist() == [100, 16, 64]
    assert xp.diff(xp.asarray([0, 1], dtype="uint8")[::-1]).tolist() == [255]


def test_long_sequences_keep_their_carry() -> None:
    x = xp.ones(700_001, dtype="float32")
    sums = xp.cumulative_sum(x)
    assert sums[-1].item() == 700_001 and sums[262_144].item() == 262_145
    assert xp.cumulative_sum(xp.ones(70_001, dtype="int8"))[-1].item() == 70_001
    assert xp.cumulative_sum(xp.ones((50_000, 3)), axis=0).tolist()[-1] == [50_000.0] * 3


def test_empty_axes() -> None:
    assert xp.cumulative_sum(xp.zeros((2, 0)), axis=1).shape == (2, 0)
    assert xp.cumulative_sum(xp.zeros((2, 0)), axis=1, include_initial=True).tolist() == [[0.0]] * 2
    assert xp.cumulative_prod(xp.zeros((0, 2)), axis=0, include_initial=True).tolist() == [
        [1.0] * 2
    ]
    assert xp.diff(xp.zeros((2, 0)), axis=1).shape == (2, 0)
    assert xp.diff(xp.zeros((2, 3)), n=5).shape == (2, 0)
    assert xp.diff(xp.asarray([1, 4, 9]), n=0).tolist() == [1, 4, 9]
    joined = xp.diff(xp.asarray([1, 4]), prepend=xp.asarray([0]), append=xp.asarray([9, 10]))
    assert joined.tolist() == [1, 3, 5, 1]


SCANS = ("cumulative_sum", "cumulative_prod")


@pytest.mark.parametrize("name", SCANS)
def test_scans_with_a_dtype_convert_first(name: str) -> None:
    x = xp.asarray([100, 100, 100], dtype="int8")
    for target in ("int8", "int16", "uint64", "float32", "complex128"):
        out = getattr(xp, name)(x, dtype=getattr(xp, target))
        assert_dtype(out, target)
        wanted = [100, 200, 300] if name == "cumulative_sum" else [100, 10_000, 1_000_000]
        assert out.tolist() == [wrapped(v, target) if target in INTEGERS else v for v in wanted]


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_scans_of_special_numbers(dtype: str) -> None:
    values = [1.0, math.inf, 2.0, -math.inf, 3.0]
    sums = xp.cumulative_sum(xp.asarray(values, dtype=dtype)).tolist()
    assert sums[:3] == [1.0, math.inf, math.inf] and all(map(math.isnan, sums[3:]))
    values = [1.0, math.nan, 2.0]
    for name in SCANS:
        out = getattr(xp, name)(xp.asarray(values, dtype=dtype)).tolist()
        assert out[0] == 1.0 and all(map(math.isnan, out[1:]))


def test_diff_prepends_and_appends() -> None:
    for dtype in NUMERIC:
        numbers = xp.asarray([(i * 5 + i // 4) % 5 for i in range(21)], dtype=dtype)
        x, before = xp.reshape(numbers[:12], (3, 4)), xp.reshape(numbers[12:18], (3, 2))
        after = xp.reshape(numbers[18:], (3, 1))
        whole = xp.concat([before, x, after], axis=1)
        assert xp.diff(x, prepend=before, append=after).tolist() == xp.diff(whole).tolist()
        assert xp.diff(x, prepend=before, n=2).tolist() == (
            xp.diff(xp.concat([before, x], axis=1), n=2).tolist()
        )
        down = xp.diff(x, axis=0, append=x[:1])
        assert down.shape == (3, 4)
    with pytest.raises(ValueError, match=r"\(2, 1\)"):
        xp.diff(x, prepend=xp.zeros((2, 1), dtype=x.dtype))


def test_scans_refuse_bool() -> None:
    for name in SCANS:
        with pytest.raises(TypeError, match="bool"):
            getattr(xp, name)(xp.asarray([True, False]))
    with pytest.raises(TypeError, match="bool"):
        xp.diff(xp.asarray([True, False]))
