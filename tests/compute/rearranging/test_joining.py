"""Functions that join, repeat, broadcast and create arrays, compared with plain Python."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from helpers.cases import refusal, run_each
from helpers.index_model import numbered

import refarray as xp

# --- concat, stack, unstack.


def test_concat_of_different_extents_and_dtypes() -> None:
    out = xp.concat([xp.asarray([[1, 2]], dtype="int8"), xp.zeros((0, 2), dtype="int16")])
    assert out.tolist() == [[1, 2]]
    assert out.dtype == xp.int16
    assert xp.stack([xp.asarray(1, dtype="uint8"), xp.asarray(-1, dtype="int8")]).dtype == xp.int16
    assert xp.concat([xp.asarray(1), xp.asarray([2])], axis=None).tolist() == [1, 2]
    x = xp.asarray([1, 2])
    out = xp.concat([x])
    out[0] = 9
    assert x.tolist() == [1, 2]  # a copy


def test_unstack_returns_views() -> None:
    x = numbered((2, 3))
    columns = xp.unstack(x, axis=1)
    assert [c.tolist() for c in columns] == [[0, 3], [1, 4], [2, 5]]
    columns[1][0] = 7
    assert x[0, 1].item() == 7
    assert xp.unstack(xp.zeros((0, 2))) == ()


@run_each(
    ("call", "error", "message"),
    [
        (lambda: xp.concat([]), ValueError, "arrays is empty"),
        (lambda: xp.stack(()), ValueError, "arrays is empty"),
        (lambda: xp.concat([xp.zeros((2,)), 1]), TypeError, r"arrays\[1\] must be .*, not int"),
        (lambda: xp.concat(xp.zeros((2, 2))), TypeError, "a tuple or a list of arrays, not"),
        (
            lambda: xp.concat([xp.zeros((2, 3)), xp.zeros((2, 2))]),
            ValueError,
            r"shape \(2, 3\), arrays\[1\] has shape \(2, 2\); .* all axes but axis 0",
        ),
        (lambda: xp.stack([xp.zeros((2,)), xp.zeros((3,))]), ValueError, r"\(2,\).*\(3,\)"),
        (lambda: xp.concat([xp.zeros((2,))], axis=1), IndexError, "axis 1 is out of range"),
        (lambda: xp.stack([xp.zeros((2,))], axis=2), IndexError, "axis 2 is out of range"),
        (lambda: xp.concat([xp.asarray(1)]), IndexError, "axis 0 is out of range for ndim 0"),
        (
            lambda: xp.concat([xp.zeros((2,)), xp.zeros((2,), dtype="int8")]),
            TypeError,
            "float64 and int8 have no common dtype",
        ),
        (lambda: xp.unstack(xp.asarray(1)), IndexError, "ndim 0"),
        (lambda: xp.repeat(xp.zeros((2,)), -1), ValueError, "repeats is -1"),
        (lambda: xp.repeat(xp.zeros((2,)), xp.asarray([1, -1])), ValueError, r"repeats\[1\] is -1"),
        (lambda: xp.repeat(xp.zeros((2,)), xp.asarray([1, 1, 1])), ValueError, r"\(3,\).*\(2,\)"),
        (lambda: xp.repeat(xp.zeros((2,)), xp.asarray([1.0])), TypeError, "integer dtype"),
        (lambda: xp.repeat(xp.zeros((2,)), 2**62), (ValueError, OverflowError, MemoryError), "."),
        (lambda: xp.tile(xp.zeros((2,)), (2**62, 2**62)), OverflowError, "exceeds"),
        (lambda: xp.tile(xp.zeros((2,)), (-1,)), ValueError, "is -1; it must be 0 or more"),
        (lambda: xp.roll(xp.zeros((2,)), (1, 2)), ValueError, "shift has 2 entries"),
        (lambda: xp.roll(xp.zeros((2,)), (1, 2), axis=0), ValueError, "axis has 1"),
        (lambda: xp.roll(xp.zeros((2,)), 1, axis=1), IndexError, "axis 1 is out of range"),
        (lambda: xp.broadcast_shapes((2,), (3,)), ValueError, r"\(2,\).*\(3,\)"),
        (lambda: xp.broadcast_arrays(xp.zeros((2,)), xp.zeros((3,))), ValueError, "broadcast"),
        (lambda: xp.meshgrid(xp.zeros((2, 2))), ValueError, "argument 0 has ndim 2"),
        (lambda: xp.meshgrid(xp.zeros((2,)), indexing="ji"), ValueError, "'xy' or 'ij'"),
        (lambda: xp.eye(-1), ValueError, "n_rows is -1"),
        (lambda: xp.eye(2, -(2**40)), ValueError, str(-(2**40))),
        (lambda: xp.eye(2**40), (OverflowError, MemoryError, ValueError), "."),
        (lambda: xp.tril(xp.zeros((2,))), ValueError, "ndim 1; it must be 2 or more"),
        *((lambda n=n: xp.eye(n), TypeError, ".") for n in (1.5, "2", None)),
        (lambda: xp.linspace(0, 1, -1), ValueError, "num is -1"),
        (lambda: xp.linspace(0, 1, 2**62), (OverflowError, MemoryError, ValueError), "."),
        *((lambda n=n: xp.linspace(0, 1, n), TypeError, ".") for n in (1.5, "3", None)),
        *((lambda end=end: xp.linspace(end, 1, 3), TypeError, ".") for end in ("0", None, [0])),
        (lambda: xp.linspace(0, 1, 2, dtype="int8"), TypeError, "floating-point dtype"),
        (lambda: xp.linspace(0, 1j, 2, dtype="float32"), TypeError, "complex numbers"),
    ],
)
def test_bad_arguments(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# --- repeat, roll, tile.


def test_roll_of_one_axis_twice_and_of_nothing() -> None:
    assert xp.roll(xp.arange(5), (1, 1), axis=(0, 0)).tolist() == [3, 4, 0, 1, 2]
    assert xp.roll(xp.zeros((0, 3)), 1, axis=0).shape == (0, 3)
    assert xp.roll(xp.asarray(3), 5).item() == 3


# --- eye, linspace, meshgrid, broadcast_shapes.


@run_each("endpoint", [True, False])
@run_each("num", [0, 1, 2, 3, 7, 101])
@run_each(("start", "stop"), [(0, 1), (0, 100), (-3.5, 7.25), (5, 5), (1e300, -1e300), (0.1, 0.7)])
def test_linspace(start: float, stop: float, num: int, endpoint: bool) -> None:
    out = xp.linspace(start, stop, num, endpoint=endpoint).tolist()
    steps = num - 1 if endpoint else num
    assert len(out) == num
    scale = max(abs(start), abs(stop))
    for i, value in enumerate(out):
        exact = Fraction(start)
        if steps:
            exact += (Fraction(stop) - Fraction(start)) * i / steps
        assert abs(Fraction(value) - exact) <= Fraction(scale) * Fraction(3, 2**53)
    if num and endpoint:
        assert out[0] == start
        assert num == 1 or out[-1] == stop
    if not endpoint:
        assert out == xp.linspace(start, stop, num + 1).tolist()[:-1]


@run_each(
    ("start", "stop", "num"),
    [
        (2**53, 2**53 + 3, 4),
        (2**53 + 1, 2**53 + 4, 4),
        (2**53 + 1, float(2**53 + 10), 10),
        (2**62 + 1, 2**62 + 3, 3),
        (2**64 - 1, 0, 9),
        (-(2**63), -(2**63) + 2**12, 5),
        (10**30, 10**30 + 3, 4),
    ],
)
def test_linspace_of_large_integers_is_rounded_once(start: int, stop: int, num: int) -> None:
    width = Fraction(stop) - start
    wanted = [float(start + width * i / (num - 1)) for i in range(num)]
    assert xp.linspace(start, stop, num).tolist() == wanted


def test_linspace_of_other_dtypes() -> None:
    assert xp.linspace(0, 1, 5).dtype == xp.float64
    assert xp.linspace(0, 1 + 2j, 3).tolist() == [0j, 0.5 + 1j, 1 + 2j]
    assert xp.linspace(0, 1j, 4, endpoint=False).tolist() == [0j, 0.25j, 0.5j, 0.75j]
    assert xp.linspace(0, 1, 3, dtype="complex64").dtype == xp.complex64
    assert xp.linspace(0, 1, 3, dtype="float16").tolist() == [0, 0.5, 1]
    assert xp.linspace(-1.7e308, 1.7e308, 3).tolist() == [-1.7e308, 0.0, 1.7e308]
    assert inf not in xp.linspace(-1.7e308, 1.7e308, 5).tolist()


def test_eye_has_defaults_and_diagonals_far_away() -> None:
    assert xp.eye(3).dtype == xp.float64
    for k in (2**62, -(2**62), -(2**63), 2**63 - 1, 2**63, -(2**63) - 1, 10**30, -(10**30)):
        assert not xp.any(xp.eye(3, k=k)).item()


def test_meshgrid_of_nothing() -> None:
    assert xp.meshgrid() == ()
    assert [g.shape for g in xp.meshgrid(xp.ones(2), xp.zeros(0))] == [(0, 2)] * 2


def test_broadcast_shapes() -> None:
    assert xp.broadcast_shapes([3, 1], (4,)) == (3, 4)
    for bad in ([(3,), (4,)], [(2, 1), (8, 4, 3), (5, 5)], [(0,), (2,)]):
        with refusal(ValueError, bad[0]):
            xp.broadcast_shapes(*bad)
    with pytest.raises(ValueError, match="-1"):
        xp.broadcast_shapes((-1,), (1,))
    for wrong in ((1.5,), "3", None):
        with pytest.raises(TypeError):
            xp.broadcast_shapes(wrong)  # type: ignore[arg-type]
