"""`value in x`: whether an element of x == value is True."""

from __future__ import annotations

import time
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.signals import lateness
from hypothesis import given
from hypothesis import strategies as st

import refarray as ra

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-1],
    "strided": lambda x: x[1::2, ::3],
    "one row": lambda x: x[:1],
}


@pytest.mark.parametrize("name", LAYOUTS)
@run_each("dtype", ["int8", "uint64", "float16", "float64", "complex64"])
def test_every_element_is_found_in_every_layout(dtype: str, name: str) -> None:
    x = LAYOUTS[name](ra.reshape(ra.arange(120, dtype="int64"), (10, 12)).astype(dtype))
    values = {value for row in x.tolist() for value in row}
    kind = complex if dtype == "complex64" else float if "float" in dtype else int
    for value in range(120):
        assert (kind(value) in x) == (kind(value) in values), value
        assert (ra.asarray(value, dtype=dtype) in x) == (kind(value) in values), value


@given(st.integers(0, 70000), st.integers(1, 3))
def test_the_place_of_the_element_does_not_matter(place: int, step: int) -> None:
    x = ra.zeros(70001 * step, dtype="int8")[::step]
    assert 1 not in x
    x[place] = 1
    assert 1 in x


@run_each(
    ("x", "value"),
    [
        ([1.0, float("nan")], float("nan")),
        ([0.0], -0.0),
        ([1, 2], 2.0),
        ([1, 2], 1j),
        ([True], 1),
        ([1, 2], 1 << 70),
        ([1, 2], "a"),
        ([1, 2], None),
        ([1, 2], [1, 2]),
        ([[1, 2], [3, 4]], 4),
        ([[1, 2], [3, 4]], ra.asarray([3, 9])),
        ([1, 2], ra.asarray([1, 2, 3])),
        ([1, 2], ra.asarray(2, dtype="int8")),
        ([1, 2], ra.asarray(True)),
        ([], 1.0),
        (3, 3),
    ],
)
def test_it_is_any_of_the_comparison(x: Any, value: Any) -> None:
    def compared() -> bool:
        equal = array == value
        return bool(ra.any(equal)) if isinstance(equal, ra.Array) else bool(equal)

    array = ra.asarray(x)
    try:
        expected: Any = compared()
    except Exception as error:
        with pytest.raises(type(error)):
            value in array  # noqa: B015
    else:
        assert (value in array) is expected


def test_repeated_elements_take_no_time_and_no_memory() -> None:
    x = ra.broadcast_to(ra.asarray([[1.0], [2.0]]), (2, 2**40))
    assert 2 in x
    assert 3 not in x
    assert 1.0 not in ra.zeros((2**40, 0))


def test_a_signal_handler_interrupts_it(adv: Any) -> None:
    shape = (1 << 11, 1 << 20)  # rows overlap, so that the elements take no memory
    tensor = adv.make(shape=shape, strides=(1, 2), dtype=(0, 8, 1), data=bytes(1 << 22))
    x = ra.from_capsule(tensor.capsule())
    begin = time.process_time()
    assert 1 not in x
    whole = time.process_time() - begin
    # A call that runs no handlers until its end is late by three quarters.
    assert any(0 < lateness(lambda: 1 in x, whole / 4) < whole / 2 for _ in range(3)), whole


def test_the_operand_of_a_comparison_is_asked_once() -> None:
    class Answer:
        asked = 0

        def __eq__(self, other: object) -> bool:
            self.asked += 1
            return True

        __hash__ = None  # type: ignore[assignment]

    answer = Answer()
    assert answer in ra.zeros(1000)
    assert answer.asked == 1
