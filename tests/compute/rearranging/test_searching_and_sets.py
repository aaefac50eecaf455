"""where, nonzero, isin, the unique functions, indices and counts: what the models do not reach."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.formats import COMPLEX, INTEGERS, REAL_FLOATS, SIGNED, UNSIGNED, limits

import refarray

xp: Any = refarray


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


@pytest.mark.parametrize("dtype", COMPLEX)
def test_unique_complex_numbers_with_nan_and_zeros(dtype: str) -> None:
    parts = [0.0, -0.0, 1.0, math.nan, math.inf]
    values = [complex(a, b) for a in parts for b in parts] * 2
    x = xp.asarray(values, dtype=dtype)
    found, first, inverse, counts = (each.tolist() for each in xp.unique_all(x))
    assert len(found) == len({v for v in values if v == v}) + sum(v != v for v in values)
    names = [text_of(v) for v in found]
    assert [names[i] for i in inverse] == [text_of(v) for v in values]
    assert first == [inverse.index(i) for i in range(len(found))]
    assert counts == [inverse.count(i) for i in range(len(found))]
    for other in (xp.unique_values(x), xp.unique_counts(x)[0], xp.unique_inverse(x)[0]):
        assert sorted(text_of(v) for v in other.tolist()) == sorted(names)


def text_of(value: Any) -> str:
    """The same text for both zeros, of complex numbers too."""
    if isinstance(value, complex):
        return f"{text_of(value.real)} {text_of(value.imag)}"
    return repr(0.0 if isinstance(value, float) and value == 0 else value)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_unique_zeros_and_nans(dtype: str) -> None:
    values = [math.nan, 0.0, -0.0, math.nan, 1.0, 0.0]
    found = xp.unique_counts(xp.asarray(values, dtype=dtype))
    counts = {repr(v): c for v, c in zip(found.values.tolist(), found.counts.tolist(), strict=True)}
    assert found.values.shape == (4,) and counts["nan"] == 1 and counts["1.0"] == 1
    assert sum(found.counts.tolist()) == 6 and 3 in found.counts.tolist()


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


# --- sizes, dtypes or shapes that agree or differ


INDEX = xp.int64  # the default dtype of indices


@run_each("dtype", INTEGERS)
def test_take_reaches_as_far_as_the_dtype_of_indices(dtype: str) -> None:
    size = min(70_000, limits(dtype)[1] + 1)
    x = xp.arange(size)
    low = -size if limits(dtype)[0] < 0 else 0
    wanted = [i for i in (0, 127, 128, 255, 256, 32768, size - 1, low) if -size <= i < size]
    indices = xp.asarray(wanted, dtype=dtype)
    assert xp.take(x, indices).tolist() == [i % size for i in wanted]
    assert xp.take_along_axis(x, indices).tolist() == [i % size for i in wanted]
    assert x[indices].tolist() == [i % size for i in wanted]


def test_take_along_axis_takes_the_last_axis_by_default() -> None:
    x = xp.asarray([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    order = xp.asarray([[2, 0, 1], [0, 0, -1], [1, 2, 0]])
    assert xp.take_along_axis(x, order).tolist() == [[3, 1, 2], [4, 4, 6], [8, 9, 7]]
    assert xp.take_along_axis(x, order, axis=0).tolist() == [[7, 2, 6], [1, 2, 9], [4, 8, 3]]
    assert xp.sort(x[::-1, ::-1]).tolist() == [[7, 8, 9], [4, 5, 6], [1, 2, 3]]


@run_each("left", INTEGERS)
def test_isin_compares_the_numbers_of_different_integers(left: str) -> None:
    for right in INTEGERS:
        if "uint64" in (left, right) and not {left, right} <= set(UNSIGNED):
            continue
        values = [*limits(left), 0, 1, -1 if left in SIGNED else 2]
        # The bits of each limit of one dtype as a number of the other.
        bits = limits(right)[1] - limits(right)[0] + 1
        wrapped = [(each - limits(right)[0]) % bits + limits(right)[0] for each in values[:2]]
        others = [*limits(right), *wrapped, 1]
        x, y = xp.asarray(values, dtype=left), xp.asarray(others, dtype=right)
        assert xp.isin(x, y).tolist() == [each in others for each in values]


@run_each("dtype", [*INTEGERS, "float16", "bfloat16"])
def test_isin_at_the_ends_of_a_range(dtype: str) -> None:
    """A small range is a table, a large one is sorted: what lies just outside is in neither."""
    low, high = limits(dtype) if dtype in INTEGERS else (-64, 64)
    for elements in ([low, low + 9], [high - 9, high], [low, low + 5, high], [high]):
        near = [v for e in elements for v in range(e - 2, e + 3) if low <= v <= high]
        x, y = xp.asarray(near, dtype=dtype), xp.asarray(elements, dtype=dtype)
        assert xp.isin(x, y).tolist() == [each in elements for each in near]
        assert xp.isin(x, y[:0]).tolist() == [False] * len(near)
    if dtype not in INTEGERS:
        x = xp.asarray([math.nan, -math.inf, math.inf, -0.0, *range(-20, 20)] * 2000, dtype=dtype)
        found = xp.isin(x, x[::-1])
        assert xp.all(found == (x == x)) and not found[0]


def test_indices_and_counts_have_the_default_dtype() -> None:
    for x in (xp.asarray([3.0, 1.0, 3.0]), xp.asarray([], dtype="int8"), xp.asarray([[True]])):
        every = xp.unique_all(x)
        assert every.indices.dtype == every.inverse_indices.dtype == every.counts.dtype == INDEX
        assert xp.unique_counts(x).counts.dtype == INDEX
        assert xp.unique_inverse(x).inverse_indices.dtype == INDEX
        assert all(each.dtype == INDEX for each in xp.nonzero(x))
        assert (
            xp.argsort(x).dtype == xp.searchsorted(xp.sort(xp.reshape(x, (-1,))), x).dtype == INDEX
        )
        assert xp.count_nonzero(x).dtype == INDEX
    assert xp.argmax(xp.asarray([1, 2])).dtype == xp.argmin(xp.asarray([1.5])).dtype == INDEX
