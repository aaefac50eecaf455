"""Functions of arrays whose elements share memory: broadcast operands, views of other dtypes."""

from __future__ import annotations

import operator
from typing import Any

from helpers.cases import run_each
from oracles.formats import COMPLEX, INTEGERS, REAL_FLOATS
from oracles.layouts import text

import refarray

xp: Any = refarray
INDEX = xp.asarray([2, 0, 1])


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
