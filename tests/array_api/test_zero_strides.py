"""Functions of arrays whose elements share memory: broadcast operands, views of other dtypes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from helpers.cases import run_each
from oracles.formats import ALL, COMPLEX, INTEGERS, NUMERIC, REAL, REAL_FLOATS
from oracles.functions import UNARY
from oracles.layouts import text
from oracles.samples import samples

import refarray

xp: Any = refarray
SHAPE = (6, 4)
Work = Callable[[Any], Any]
INDEX = xp.asarray([2, 0, 1])


def along(name: str, *axes: int | None) -> list[Work]:
    return [lambda x, axis=axis: getattr(xp, name)(x, axis=axis) for axis in axes]


#: The dtypes and the calls of functions that are not elementwise.
OTHERS: dict[str, tuple[tuple[str, ...], list[Work]]] = {
    **{name: (NUMERIC, along(name, None, 0, 1)) for name in ("sum", "prod")},
    **{name: (REAL_FLOATS, along(name, None, 0, 1)) for name in ("mean", "var", "std")},
    **{name: (REAL, along(name, None, 0, 1)) for name in ("min", "max", "argmin", "argmax")},
    **{name: (ALL, along(name, None, 0, 1)) for name in ("any", "all", "count_nonzero")},
    **{name: (NUMERIC, along(name, 0, 1)) for name in ("cumulative_sum", "cumulative_prod")},
    "diff": (NUMERIC, along("diff", 0, 1)),
    **{name: (REAL, along(name, 0, 1)) for name in ("sort", "argsort")},
    "nonzero": (ALL, [lambda x: xp.stack(xp.nonzero(x))]),
    "unique": (ALL, [lambda x: xp.unique_all(x).counts, lambda x: xp.unique_values(x)]),
    "isin": (ALL, [lambda x: xp.isin(x, x[0, :2]), lambda x: xp.isin(x[0], x)]),
    "take": (ALL, [lambda x: xp.take(x, INDEX, axis=0), lambda x: x[INDEX, INDEX]]),
    "mask": (ALL, [lambda x: x[xp.asarray([True, False] * 3)], lambda x: x[xp.equal(x, x)]]),
    "joining": (
        ALL,
        [
            lambda x: xp.concat([x, x], axis=1),
            lambda x: xp.stack([x, x], axis=2),
            lambda x: xp.roll(x, 3),
            lambda x: xp.tile(x, (2, 2)),
            lambda x: xp.repeat(x, 2, axis=0),
            lambda x: xp.triu(x, k=1),
            lambda x: xp.where(xp.equal(x, x[0]), x, x[:, 1:2]),
        ],
    ),
}


def shared(dtype: str) -> list[Any]:
    """A row, a column and a point, each broadcast to the same shape."""
    values = samples(dtype)
    row = xp.asarray((values * 3)[1:5], dtype=dtype)
    column = xp.asarray((values * 3)[2:8], dtype=dtype).reshape((6, 1))
    wide = [xp.broadcast_to(each, SHAPE) for each in (row, column, row[0])]
    return [*wide, xp.flip(wide[0]), xp.broadcast_to(row, (4, 6, 4))[1, ...]]


@run_each("name", UNARY)
def test_elementwise_functions(name: str) -> None:
    for dtype in UNARY[name].dtypes:
        for x in shared(dtype):
            assert text(getattr(xp, name)(x)) == text(getattr(xp, name)(xp.copy(x))), dtype


@run_each("name", OTHERS)
def test_other_functions(name: str) -> None:
    dtypes, calls = OTHERS[name]
    for dtype in dtypes:
        for x in shared(dtype):
            for work in calls:
                assert text(work(x)) == text(work(xp.copy(x))), dtype


@run_each(
    ("wide", "narrow"),
    [
        *(("int16", "int8"), ("int32", "int8"), ("int64", "int32"), ("int16", "uint8")),
        *(("float64", "float32"), ("float32", "float16"), ("complex128", "float64")),
    ],
)
def test_in_place_operands_may_be_views_of_other_dtypes(wide: str, narrow: str) -> None:
    """x += y reads y first, also where y shows the bytes of x as elements of another dtype."""
    for count in (7, 40, 1000, 20_000):
        for start in (0, 1, 3):
            for name in ("iadd", "isub", "imul"):
                whole = xp.asarray([i % 50 for i in range(count)], dtype="int64").astype(wide)
                y = whole.view(getattr(xp, narrow))[start : start + count - 2]
                x = whole[: count - 2]
                expected = text(getattr(operator, name[1:])(x.copy(), y.copy()))
                x = getattr(operator, name)(x, y)
                assert text(x) == expected, (count, start, name)


@run_each("dtype", [*INTEGERS, *REAL_FLOATS, *COMPLEX])
def test_results_of_shared_operands_are_whole_arrays(dtype: str) -> None:
    x = xp.broadcast_to(xp.ones((), dtype=dtype), (3, 4))
    for out in (x + x, -x, xp.where(x == x, x, x), xp.concat([x]), x[INDEX]):
        assert out.is_contiguous() and not out.readonly
        out[0, 0] = 5
        assert sorted({repr(v) for row in out.tolist() for v in row}) == sorted(
            {repr(out[0, 0].item()), repr(out[1, 1].item())}
        )
        assert out[0, 1].item() == out[1, 1].item() != 5
