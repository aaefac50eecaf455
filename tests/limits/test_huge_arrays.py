"""Work without end, or without anything to do: Ctrl-C interrupts it, or there is none."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

import refarray as ra
import refarray.strict
from refarray import linalg


@pytest.mark.not_sanitized("a sanitizer needs more addresses than the limit of the script")
def test_every_call_returns_or_can_be_interrupted(isolated: Any) -> None:
    isolated("limits/huge_arrays.py", "float64")


@pytest.mark.parametrize("shape", [(2**31, 0), (0, 2**31), (2**40, 0, 0)])
def test_differences_of_no_elements_take_no_time(shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        out = ra.diff(ra.zeros(shape), n=2**31 - 1, axis=axis)
        expected = [*shape]
        expected[axis] = max(shape[axis] - (2**31 - 1), 0)
        assert out.shape == tuple(expected)


def test_differences_of_all_orders_leave_nothing() -> None:
    assert ra.diff(ra.broadcast_to(ra.ones(1), (2**40,)), n=2**62).shape == (0,)
    assert ra.diff(ra.asarray([1, 4, 9]), n=3).shape == (0,)
    assert ra.diff(ra.asarray([1, 4, 9]), n=2).tolist() == [2]


def test_matrices_without_elements_take_no_time() -> None:
    x = ra.zeros((2**40, 0, 0))
    assert linalg.cholesky(x).shape == linalg.inv(x).shape == (2**40, 0, 0)
    assert linalg.eigvals(x).shape == linalg.svdvals(x).shape == (2**40, 0)


def test_places_of_nothing_take_no_time() -> None:
    x, places = ra.zeros((2**40, 0)), ra.zeros((2**40, 0), dtype="int64")
    assert ra.take_along_axis(x, places, axis=1).shape == (2**40, 0)
    assert ra.take_along_axis(x, places, axis=0).shape == (2**40, 0)


def test_many_indices_that_select_nothing_can_be_interrupted() -> None:
    """They are all checked, although no element moves."""
    indices = ra.broadcast_to(ra.asarray(0), (2**35,))
    interrupt(lambda: ra.take(ra.zeros((3, 0)), indices, axis=0))
    interrupt(lambda: ra.zeros((3, 0))[indices])


def test_iteration_by_the_interpreter_can_be_interrupted() -> None:
    """Its loops in C check no signals."""
    ones = ra.broadcast_to(ra.asarray(1), (2**40,))
    strict = ra.strict.broadcast_to(ra.strict.asarray(1), (2**40,))
    interrupt(lambda: deque(ones, maxlen=0))
    interrupt(lambda: min(ones))
    interrupt(lambda: 2 in strict)


def interrupt(call: Callable[[], object]) -> None:
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
