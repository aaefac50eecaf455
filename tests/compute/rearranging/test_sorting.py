"""sort(), argsort() and searchsorted() compared with Python's sorted() and bisect."""

from __future__ import annotations

import bisect
import itertools
import random
from math import copysign, inf, nan
from typing import Any

import pytest
from helpers.cases import run_each
from oracles.switches import ISAS, instruction_set
from properties.models.searching import order_of, sort_key

import refarray as xp
from refarray import Array

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64",
]  # fmt: skip
SIZES = [0, 1, 2, 23, 24, 25, 199, 200, 201, 1000, 5000]


def some_values(rng: random.Random, size: int, dtype: str) -> Array:
    """Random numbers, special values and repetitions."""
    kind = rng.choice(["all", "few", "middle"])
    if "float" in dtype:
        special = [0.0, -0.0, nan, -nan, inf, -inf, 1.0, 5e-324]
        values = [
            rng.uniform(-1, 1) if kind == "all" else rng.choice([*special, rng.gauss(0, 1e3)])
            for _ in range(size)
        ]
        return xp.astype(xp.asarray(values, dtype="float64"), dtype)
    if dtype == "bool":
        return xp.asarray([rng.random() < 0.5 for _ in range(size)], dtype="bool")
    info = xp.iinfo(dtype)
    low, high = {"all": (info.min, info.max), "few": (0, 3), "middle": (-70_000, 70_000)}[kind]
    return xp.asarray(
        [rng.randint(max(low, info.min), min(high, info.max)) for _ in range(size)], dtype=dtype
    )


def same(got: list[Any], expected: list[Any]) -> bool:
    """Equal, with the signs of zeros; NaN equals NaN."""
    return [repr(v) for v in got] == [repr(v) for v in expected]


@run_each("size", SIZES)
@run_each("descending", [False, True])
@run_each("dtype", DTYPES)
def test_sorting_is_stable(dtype: str, descending: bool, size: int) -> None:
    for seed in range(4):
        x = some_values(random.Random(seed), size, dtype)
        values = x.tolist()
        order = order_of(values, descending)
        got = xp.argsort(x, descending=descending)
        assert got.dtype == xp.int64
        assert got.tolist() == order
        out = xp.sort(x, descending=descending, stable=False)
        assert out.dtype == x.dtype
        assert same(out.tolist(), [values[i] for i in order])
        assert same(x.tolist(), values)


@run_each("count", [1, 2, 3, 7, 9, 16, 33, 100, 200, 256, 300, 1024])
@run_each("descending", [False, True])
@run_each("dtype", DTYPES)
def test_rows_are_sorted_as_each_alone(dtype: str, descending: bool, count: int) -> None:
    x = xp.reshape(some_values(random.Random(count), 21 * count, dtype), (21, count))
    alone = b"".join(xp.sort(x[i], descending=descending).tobytes() for i in range(21))
    for isa in (ISAS[0], ISAS[-1]):
        with instruction_set(isa):
            assert xp.sort(x, descending=descending).tobytes() == alone, isa
            across = xp.sort(xp.copy(x.mT), axis=0, descending=descending)
            assert across.mT.tobytes() == alone, isa


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_wide_keys_that_share_their_high_bits(dtype: str) -> None:
    rng = random.Random(5)
    for high in ([0], [0, 2**61], [i * 2**55 for i in range(9)]):
        numbers = [rng.choice(high) + rng.randrange(2**20) for _ in range(3000)]
        x = xp.asarray(numbers, dtype=dtype)
        values = x.tolist()
        order = order_of(values, False)
        assert xp.argsort(x).tolist() == order
        assert xp.sort(x).tolist() == [values[i] for i in order]


def test_nans_of_both_signs_keep_their_order_and_bits() -> None:
    bits = [0x7FC00001, 0xFFC00002, 0x3F800000, 0xFF800001, 0xBF800000]
    x = xp.asarray(bits, dtype="uint32").view("float32")
    assert xp.argsort(x).tolist() == [4, 2, 0, 1, 3]
    assert xp.sort(x).view("uint32").tolist() == [bits[i] for i in (4, 2, 0, 1, 3)]
    assert xp.argsort(x, descending=True).tolist() == [0, 1, 3, 2, 4]
    assert xp.sort(x, descending=True).view("uint32").tolist() == [bits[i] for i in (0, 1, 3, 2, 4)]


@pytest.mark.parametrize("count", [1, 2, 4, 600])
def test_sorted_booleans_are_zeros_and_ones(count: int) -> None:
    """Also those of another library, whose true elements may be any bytes but zero."""
    x = xp.from_buffer(bytearray([2, 0] * 600), dtype="bool").reshape((-1, count))
    assert set(xp.sort(x, axis=1).tobytes()) == {0, 1}


def test_zeros_of_both_signs_keep_their_order() -> None:
    x = xp.asarray([0.0, -0.0, -1.0, -0.0, 0.0])
    assert [copysign(1, v) for v in xp.sort(x).tolist()] == [-1, 1, -1, -1, 1]


@run_each("dtype", DTYPES)
@run_each("side", ["left", "right"])
def test_searchsorted(dtype: str, side: Any) -> None:
    for seed, size in itertools.product(range(3), [0, 1, 7, 500]):
        rng = random.Random(seed)
        x1, x2 = some_values(rng, size, dtype), some_values(rng, 40, dtype)
        keys = sorted(sort_key(v) for v in x1.tolist())
        find = bisect.bisect_left if side == "left" else bisect.bisect_right
        expected = [find(keys, sort_key(v)) for v in x2.tolist()]
        assert xp.searchsorted(xp.sort(x1), x2, side=side).tolist() == expected
        near = xp.sort(x2)  # keys that ascend are searched for from the last position on
        expected_near = [find(keys, sort_key(v)) for v in near.tolist()]
        assert xp.searchsorted(xp.sort(x1), near, side=side).tolist() == expected_near
        sorter = xp.argsort(x1)
        assert xp.searchsorted(x1, x2, side=side, sorter=sorter).tolist() == expected
        matrix = xp.permute_dims(xp.reshape(x2, (8, 5)), (1, 0))
        got = xp.searchsorted(xp.sort(x1), matrix, side=side)
        assert xp.reshape(xp.permute_dims(got, (1, 0)), -1).tolist() == expected


def test_searchsorted_promotes_and_takes_numbers() -> None:
    x = xp.asarray([1, 3, 5], dtype="int8")
    assert xp.searchsorted(x, xp.asarray([4], dtype="int64")).tolist() == [2]
    assert xp.searchsorted(x, 3).item() == 1
    assert xp.searchsorted(x, 3, side="right").shape == ()
    assert xp.searchsorted(xp.asarray([1.0, 2.0]), 1.5).item() == 1


@run_each(
    ("call", "error", "message"),
    [
        (lambda: xp.sort(xp.asarray([1j])), TypeError, "not complex128: complex numbers have no"),
        (lambda: xp.argsort(xp.asarray([1j])), TypeError, "complex numbers have no order"),
        (lambda: xp.sort(xp.zeros((2,), dtype="float8_e4m3")), TypeError, "float8_e4m3"),
        (lambda: xp.sort(xp.asarray(1)), IndexError, "ndim 0"),
        (lambda: xp.sort(xp.zeros((2,)), axis=1), IndexError, "axis 1 is out of range"),
        (lambda: xp.sort([1]), TypeError, "list"),
        (lambda: xp.searchsorted(xp.zeros((2, 2)), 1.0), ValueError, "ndim 2; it must be 1"),
        (lambda: xp.searchsorted(xp.zeros((2,)), "a"), TypeError, "not str"),
        (lambda: xp.searchsorted(xp.zeros((2,)), 1.0, side="up"), ValueError, "'left' or 'right'"),
        (
            lambda: xp.searchsorted(xp.zeros((2,)), xp.asarray([1])),
            TypeError,
            "float64 and int64 have no common dtype",
        ),
        (
            lambda: xp.searchsorted(xp.zeros((2,)), 1.0, sorter=xp.asarray([0])),
            ValueError,
            r"\(1,\).*\(2,\)",
        ),
        (
            lambda: xp.searchsorted(xp.zeros((2,)), 1.0, sorter=xp.asarray([0, 2])),
            IndexError,
            "index 2 is out of range",
        ),
        (
            lambda: xp.searchsorted(xp.zeros((1,)), 1.0, sorter=xp.asarray([0.0])),
            TypeError,
            "sorter must have an integer dtype",
        ),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_sorter_of_negative_positions_counts_from_the_end_or_raises() -> None:
    x = xp.asarray([3.0, 1.0, 2.0])
    try:
        got = xp.searchsorted(x, x, sorter=xp.asarray([-2, -1, 0])).tolist()
    except IndexError:
        return
    assert got == [2, 0, 1]
