"""isin() and the distinct elements of arrays compared with plain Python."""

from __future__ import annotations

import random
from math import nan
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.index_model import LAYOUTS
from test_sorting_layouts import DTYPES, SIZES, order_of, same, some_values

import refarray as xp
from refarray import Array

COMPLEX = ["complex64", "complex128"]


def complex_values(rng: random.Random, size: int, dtype: str) -> Array:
    parts = [0.0, -0.0, 1.0, 2.5, nan]
    return xp.asarray(
        [complex(rng.choice(parts), rng.choice(parts)) for _ in range(size)], dtype=dtype
    )


@run_each("size", SIZES)
@run_each("dtype", DTYPES)
def test_distinct_elements(dtype: str, size: int) -> None:
    for seed in range(3):
        x = some_values(random.Random(seed), size, dtype)
        elements = x.tolist()
        values: list[Any] = []
        indices: list[int] = []
        counts: list[int] = []
        inverse = [0] * size
        for i in order_of(elements):
            if values and elements[i] == values[-1]:
                counts[-1] += 1
            else:
                values.append(elements[i])
                indices.append(i)
                counts.append(1)
            inverse[i] = len(values) - 1
        found = xp.unique_all(x)
        assert same(found.values.tolist(), values)
        assert found.indices.tolist() == indices
        assert found.inverse_indices.tolist() == inverse
        assert found.counts.tolist() == counts
        assert found.values.dtype == x.dtype
        assert found.indices.dtype == found.counts.dtype == xp.int64
        assert same(xp.unique_values(x).tolist(), values)
        counted = xp.unique_counts(x)
        assert same(counted.values.tolist(), values)
        assert counted.counts.tolist() == counts
        inverted = xp.unique_inverse(x)
        assert same(inverted.values.tolist(), values)
        assert inverted.inverse_indices.tolist() == inverse


@pytest.mark.parametrize("dtype", COMPLEX)
def test_distinct_complex_numbers(dtype: str) -> None:
    for seed in range(20):
        x = complex_values(random.Random(seed), 3 * seed, dtype)
        elements = x.tolist()
        found = xp.unique_all(x)
        values = found.values.tolist()
        numbers = [v for v in values if v == v]
        assert numbers == sorted(set(numbers), key=lambda v: (v.real, v.imag))
        assert len(values) - len(numbers) == sum(v != v for v in elements)
        for value, first, count in zip(
            values, found.indices.tolist(), found.counts.tolist(), strict=True
        ):
            assert repr(elements[first]) == repr(value)
            if value == value:
                assert (first, count) == (elements.index(value), elements.count(value))
            else:
                assert count == 1
        for i, at in enumerate(found.inverse_indices.tolist()):
            assert elements[i] == values[at] or repr(elements[i]) == repr(values[at])
        assert same(xp.unique_values(x).tolist(), values)
        assert xp.unique_counts(x).counts.tolist() == found.counts.tolist()


@run_each("layout", LAYOUTS)
def test_matrices_are_flattened_in_row_major_order(layout: Any) -> None:
    x = layout(xp.asarray([[3, 1, 3], [2, 1, 1]]))
    values, indices, inverse, counts = xp.unique_all(x)
    assert values.tolist() == [1, 2, 3]
    assert indices.tolist() == [1, 3, 0]
    assert inverse.tolist() == [[2, 0, 2], [1, 0, 0]]
    assert counts.tolist() == [3, 1, 2]


def test_results_are_named_tuples() -> None:
    x = xp.asarray(5)
    assert xp.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert xp.unique_inverse(x).inverse_indices.shape == ()
    assert xp.unique_values(x).tolist() == [5]


@run_each("invert", [False, True])
@run_each("dtype", [*DTYPES, *COMPLEX])
def test_isin(dtype: str, invert: bool) -> None:
    for seed in range(6):
        rng = random.Random(seed)
        make = complex_values if dtype in COMPLEX else some_values
        x1, x2 = make(rng, 40, dtype), make(rng, 3**seed - 1, dtype)
        elements = x2.tolist()
        expected = [(any(v == e for e in elements)) != invert for v in x1.tolist()]
        got = xp.isin(x1, x2, invert=invert)
        assert got.dtype == xp.bool
        assert got.tolist() == expected
        matrix = xp.permute_dims(xp.reshape(x1, (8, 5)), (1, 0))
        got = xp.isin(matrix, xp.flip(x2), invert=invert)
        assert xp.reshape(xp.permute_dims(got, (1, 0)), -1).tolist() == expected


def test_isin_promotes_and_takes_numbers() -> None:
    x = xp.asarray([1, 2, 300], dtype="int16")
    assert xp.isin(x, xp.asarray([2, 44], dtype="uint8")).tolist() == [False, True, False]
    assert xp.isin(x, 300).tolist() == [False, False, True]
    assert xp.isin(2, x).shape == ()
    assert bool(xp.isin(2, x))


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
