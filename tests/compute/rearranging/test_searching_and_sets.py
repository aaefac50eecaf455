"""where, nonzero, isin and the unique functions, against loops over Python numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.checks import assert_dtype, flat
from oracles.formats import ALL, COMPLEX, INTEGERS, REAL_FLOATS
from oracles.layouts import gapless, layouts, text
from oracles.samples import samples

import refarray

xp: Any = refarray


def is_nan(value: Any) -> bool:
    return bool(value != value)


def scattered(dtype: str, count: int) -> list[Any]:
    known = samples(dtype)
    return [known[(i * 31 + i // 7) % len(known)] for i in range(count)]


def test_where_takes_scalars() -> None:
    mask = xp.asarray([True, False])
    x = xp.asarray([1.5, 2.5], dtype="float32")
    assert xp.where(mask, x, 0).tolist() == [1.5, 0.0] and str(xp.where(mask, x, 0).dtype) == (
        "float32"
    )
    assert xp.where(mask, 7, x).tolist() == [7.0, 2.5]
    assert str(xp.where(mask, x, 1j).dtype) == "complex64"
    assert xp.where(mask, xp.asarray([3, 4], dtype="int8"), -1).tolist() == [3, -1]
    assert xp.where(mask, mask, False).tolist() == [True, False]
    for bad in ((x, True), (xp.asarray([1, 2]), 1.5), (xp.asarray([1, 2]), True), (x, "a"), (1, 2)):
        with pytest.raises(TypeError):
            xp.where(mask, *bad)
    with pytest.raises(OverflowError, match="300"):
        xp.where(mask, xp.asarray([3, 4], dtype="int8"), 300)
    for condition in (xp.asarray([1, 0]), x):
        with pytest.raises(TypeError, match=str(condition.dtype)):
            xp.where(condition, x, x)
    with pytest.raises(ValueError, match=r"\(3,\)"):
        xp.where(mask, xp.ones(3), xp.ones(1))


class Unique:
    """The distinct values in order of appearance; NaN is never equal to another."""

    def __init__(self, values: list[Any]) -> None:
        self.first: list[int] = []
        self.inverse: list[int] = []
        places: dict[Any, int] = {}
        for i, value in enumerate(values):
            known = None if is_nan(value) else places.get(value)
            if known is None:
                known = len(self.first)
                self.first.append(i)
                if not is_nan(value):
                    places[value] = known
            self.inverse.append(known)
        self.counts = [self.inverse.count(i) for i in range(len(self.first))]


def check_unique(x: Any, values: list[Any]) -> None:
    """All four functions agree with the model, in whichever order the elements come."""
    model = Unique(values)
    whole = xp.unique_all(x)
    assert whole._fields == ("values", "indices", "inverse_indices", "counts")
    assert_dtype(whole.values, str(x.dtype))
    for each in whole[1:]:
        assert_dtype(each, "int64")
    found, first = whole.values.tolist(), whole.indices.tolist()
    assert sorted(first) == sorted(model.first)
    for value, place, count in zip(found, first, whole.counts.tolist(), strict=True):
        assert value == values[place] or (is_nan(value) and is_nan(values[place]))
        assert count == model.counts[model.inverse[place]]
    assert whole.inverse_indices.shape == x.shape
    for place, position in enumerate(flat(whole.inverse_indices)):
        assert model.inverse[first[position]] == model.inverse[place]
    numbers = sorted(text_of(values[place]) for place in model.first)
    pair = xp.unique_counts(x)
    assert pair._fields == ("values", "counts")
    counted = zip(map(text_of, pair.values.tolist()), pair.counts.tolist(), strict=True)
    assert sorted(counted) == sorted(
        (text_of(values[place]), count)
        for place, count in zip(model.first, model.counts, strict=True)
    )
    pair = xp.unique_inverse(x)
    assert pair._fields == ("values", "inverse_indices")
    assert pair.inverse_indices.shape == x.shape
    found = pair.values.tolist()
    for value, position in zip(values, flat(pair.inverse_indices), strict=True):
        assert text_of(found[position]) == text_of(value)
    alone = xp.unique_values(x)
    assert_dtype(alone, str(x.dtype))
    assert sorted(map(text_of, alone.tolist())) == sorted(map(text_of, found)) == numbers


def text_of(value: Any) -> str:
    """The same text for both zeros, of complex numbers too."""
    if isinstance(value, complex):
        return f"{text_of(value.real)} {text_of(value.imag)}"
    return repr(0.0 if isinstance(value, float) and value == 0 else value)


@run_each("dtype", ALL)
def test_unique_functions(dtype: str) -> None:
    for count in (0, 1, 2, 5, 16, 60, 300):
        values = scattered(dtype, count)
        check_unique(xp.asarray(values, dtype=dtype), values)
    values = scattered(dtype, 60)
    check_unique(xp.asarray(values, dtype=dtype).reshape((3, 4, 5)), values)
    for _, x in layouts(values, dtype):
        check_unique(x, values)
    check_unique(xp.asarray(values[0], dtype=dtype), values[:1])
    check_unique(xp.zeros((3, 0), dtype=dtype), [])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_unique_zeros_and_nans(dtype: str) -> None:
    values = [math.nan, 0.0, -0.0, math.nan, 1.0, 0.0]
    found = xp.unique_counts(xp.asarray(values, dtype=dtype))
    counts = {repr(v): c for v, c in zip(found.values.tolist(), found.counts.tolist(), strict=True)}
    assert found.values.shape == (4,) and counts["nan"] == 1 and counts["1.0"] == 1
    assert sum(found.counts.tolist()) == 6 and 3 in found.counts.tolist()


@pytest.mark.parametrize("dtype", COMPLEX)
def test_unique_complex_numbers_with_nan_and_zeros(dtype: str) -> None:
    parts = [0.0, -0.0, 1.0, math.nan, math.inf]
    values = [complex(a, b) for a in parts for b in parts] * 2
    check_unique(xp.asarray(values, dtype=dtype), values)


@run_each("dtype", ALL)
def test_isin(dtype: str) -> None:
    for count, others in ((60, 7), (60, 40), (5, 1), (0, 3), (4, 0), (300, 200)):
        a, b = scattered(dtype, count), scattered(dtype, others + 11)[11:]
        x1, x2 = xp.asarray(a, dtype=dtype), xp.asarray(b, dtype=dtype)
        wanted = [any(v == w for w in b) for v in a]
        out = xp.isin(x1, x2)
        assert_dtype(out, "bool")
        assert out.tolist() == wanted, (count, others)
        assert xp.isin(x1, x2, invert=True).tolist() == [not w for w in wanted]
    a = scattered(dtype, 60)
    expected = text(xp.isin(gapless(a, dtype), x2))
    for layout, x in layouts(a, dtype):
        assert text(xp.isin(x, x2)) == expected, layout
        assert text(xp.isin(x2, x)) == text(xp.isin(x2, gapless(a, dtype))), layout
    assert xp.isin(gapless(a, dtype), x2).shape == (15, 4)


def test_isin_takes_scalars_and_promotes() -> None:
    for dtype in INTEGERS:
        x = xp.asarray([1, 2, 3], dtype=dtype)
        assert xp.isin(x, 2).tolist() == [False, True, False]
        point = xp.isin(3, x)
        assert point.shape == () and point.item() is True
        assert xp.isin(5, x, invert=True).item() is True
        wide = xp.asarray([2, 100], dtype="int64" if dtype != "uint64" else "uint64")
        assert xp.isin(x, wide).tolist() == [False, True, False]
        assert xp.isin(wide, x).tolist() == [True, False]
    with pytest.raises(TypeError):
        xp.isin(xp.asarray([1]), xp.asarray([1.0]))
    with pytest.raises(TypeError):
        xp.isin(1, 2)
    with pytest.raises(TypeError):
        xp.isin(xp.asarray([1]), "1")
    for dtype in REAL_FLOATS:
        x = xp.asarray([math.nan, 0.0], dtype=dtype)
        assert xp.isin(x, xp.asarray([math.nan, -0.0], dtype=dtype)).tolist() == [False, True]


def test_results_are_named_tuples() -> None:
    x = xp.asarray(5)
    assert xp.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert xp.unique_inverse(x).inverse_indices.shape == ()
    assert xp.unique_values(x).tolist() == [5]


@run_each(
    ("call", "error", "message"),
    [
        (lambda: xp.isin(1, 2), TypeError, "both are Python numbers"),
        (lambda: xp.isin(xp.asarray([1]), [1]), TypeError, "x2 must be .*, not list"),
        (lambda: xp.isin(xp.asarray([1]), xp.asarray([1.0])), TypeError, "int64 and float64"),
        (lambda: xp.isin(xp.asarray([1], dtype="int8"), 1000), OverflowError, "1000"),
        (lambda: xp.unique_all([1]), TypeError, "list"),
        (lambda: xp.unique_values(xp.zeros((2,), dtype="float8_e4m3")), TypeError, "float8_e4m3"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_nonzero_of_nan_and_signed_zeros() -> None:
    assert xp.nonzero(xp.asarray([0.0, -0.0, float("nan"), 1e-300]))[0].tolist() == [2, 3]
    assert xp.nonzero(xp.asarray([0j, 1j, 1 + 0j]))[0].tolist() == [1, 2]
