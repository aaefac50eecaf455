"""The patterns of einops' own tests, on arrays of array-api-strict or of what is in its place.

einops' tests of einops.array_api import numpy as the namespace. These use their lists of patterns,
and compare with einops on NumPy's arrays. tools/gates/consumers runs this file.
"""

from __future__ import annotations

import itertools
from typing import Any

import array_api_strict as xp
import einops
import numpy
import pytest
from einops import array_api
from einops.tests import test_ops as ops
from einops.tests import test_packing as packing

SPLITS = (
    [[2], [1], [2]],
    [[1], [1], [-1]],
    [[1], [1], [-1, 3]],
    [[2, 1], [1, 1, 1], [-1]],
    [[-1], [1, 2]],
)
WRONG_SPLITS = ([[2, 3]], [[1], [5]], [[1], [5], [-1]], [[1], [2, 3]], [[1], [5], [-1, 2]])
REARRANGED = [*ops.identity_patterns, *itertools.chain(*ops.equivalent_rearrange_patterns)]
REDUCED = list(itertools.chain(*ops.equivalent_reduction_patterns))


def numbers(*shape: int, dtype: str = "int64") -> Any:
    return numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype)


def assert_same(result: Any, expected: Any) -> None:
    assert result.__array_namespace__() is xp
    got = numpy.asarray(result)
    assert got.dtype == expected.dtype
    numpy.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["int64", "float32", "complex128"])
@pytest.mark.parametrize("pattern", REARRANGED)
def test_rearrange(pattern: str, dtype: str) -> None:
    x = numbers(2, 3, 4, 5, 6, dtype=dtype)
    assert_same(array_api.rearrange(xp.asarray(x), pattern), einops.rearrange(x, pattern))


@pytest.mark.parametrize("reduction", ["min", "max", "sum", "mean", "prod"])
@pytest.mark.parametrize("pattern", REDUCED)
def test_reduce(pattern: str, reduction: str) -> None:
    x = numbers(2, 3, 2, 3, 2, dtype="float64") % 3 + 1
    made = array_api.reduce(xp.asarray(x), pattern, reduction=reduction)
    expected = numpy.asarray(einops.reduce(x, pattern, reduction=reduction))
    numpy.testing.assert_allclose(numpy.asarray(made), expected, rtol=1e-12)
    assert made.__array_namespace__() is xp


@pytest.mark.parametrize(
    ("shape", "pattern", "sizes"),
    [((2, 3, 5), *case) for case in ops.repeat_test_cases]
    + [((1, 2, 4, 6), *case) for case in ops.test_cases_repeat_anonymous],
)
def test_repeat(shape: tuple[int, ...], pattern: str, sizes: dict[str, int]) -> None:
    x = numbers(*shape)
    made = array_api.repeat(xp.asarray(x), pattern, **sizes)
    assert_same(made, einops.repeat(x, pattern, **sizes))


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("case", packing.cases, ids=str)
def test_pack_and_unpack(case: Any, split: list[list[int]]) -> None:
    x = numbers(*case.shape)
    try:
        parts = einops.unpack(x, split, case.pattern)
    except Exception:
        with pytest.raises(Exception, match="could not split|shape|reshape|-1"):
            array_api.unpack(xp.asarray(x), split, case.pattern)
        return
    made = array_api.unpack(xp.asarray(x), split, case.pattern)
    for part, expected in zip(made, parts, strict=True):
        assert_same(part, expected)
    joined, shapes = array_api.pack(made, case.pattern)
    expected_joined, expected_shapes = einops.pack(parts, case.pattern)
    assert_same(joined, expected_joined)
    assert list(map(tuple, shapes)) == list(map(tuple, expected_shapes))


@pytest.mark.parametrize("split", WRONG_SPLITS, ids=str)
@pytest.mark.parametrize("case", packing.cases, ids=str)
def test_wrong_splits_raise(case: Any, split: list[list[int]]) -> None:
    with pytest.raises(Exception, match="could not split|shape|-1"):
        array_api.unpack(xp.asarray(numbers(*case.shape)), split, case.pattern)


@pytest.mark.parametrize("axes", range(1, 10))
def test_permutations(axes: int) -> None:
    generator = numpy.random.default_rng(axes)
    x = numbers(*[2] * axes)
    names = [f"i{axis}" for axis in range(axes)]
    turned = [names[axis] for axis in generator.permutation(axes)]
    pattern = f"{' '.join(names)} -> {' '.join(turned)}"
    assert_same(array_api.rearrange(xp.asarray(x), pattern), einops.rearrange(x, pattern))


def test_lists_are_stacked() -> None:
    parts = [numbers(3, 4) + 100 * i for i in range(3)]
    made = array_api.rearrange([xp.asarray(each) for each in parts], "n a b -> a (n b)")
    assert_same(made, einops.rearrange(parts, "n a b -> a (n b)"))
