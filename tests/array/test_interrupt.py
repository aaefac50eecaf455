"""Long loops over elements run signal handlers, so that Ctrl-C interrupts them."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import pytest
from helpers.cases import run_each
from helpers.signals import SIZES, is_interrupted, is_interrupted_when_long, lateness, start_timer

import refarray

# Elements per loop, without touching memory that is not written until its end.
MANY = 1 << 25


class StartsTimer:
    """A number that starts the timer when it is converted."""

    def __index__(self) -> int:
        start_timer()
        return 0


def zeros(*shape: int) -> refarray.Array:
    return refarray.broadcast_to(refarray.zeros((), dtype="int8"), shape)


LOOPS: dict[str, Callable[[int], object]] = {
    "tolist of one axis": lambda many: zeros(many).tolist(),
    "tolist of rows": lambda many: zeros(many // 16, 4).tolist(),
    "tolist of empty rows": lambda many: zeros(many // 8, 0).tolist(),
    "a sequence": lambda many: refarray.asarray(range(many)),
    "an array in a sequence": lambda many: refarray.asarray([zeros(many)]),
    "arange of ints": lambda many: refarray.arange(many),
    "arange of unsigned ints": lambda many: refarray.arange(many, dtype="uint64"),
    "arange of floats": lambda many: refarray.arange(0.0, float(many)),
    "arange of ints beyond int64": lambda many: refarray.arange(
        2**70, 2**70 + many, dtype=refarray.float64
    ),
    "a product of matrices": lambda many: refarray.matmul(
        zeros(many >> 15, 1 << 12), zeros(1 << 12, 2048)
    ),
    "products of many vectors": lambda many: refarray.vecdot(zeros(many, 4), zeros(many, 4)),
    "a product of long vectors": lambda many: refarray.vecdot(zeros(many * 8), zeros(many * 8)),
    "a product of tensors": lambda many: refarray.tensordot(
        zeros(64, many // 8), zeros(many // 8), axes=1
    ),
}


@pytest.mark.computes
@run_each("name", LOOPS)
def test_signal_handler_interrupts_the_loop(name: str) -> None:
    assert is_interrupted_when_long(lambda size: LOOPS[name](size * MANY))


def test_signal_handler_interrupts_writing_a_sequence() -> None:
    """The last item starts the timer, after all other items were read."""

    def write(size: int) -> bool:
        items: list[object] = [0] * (size * MANY // 8)
        items.append(StartsTimer())
        return is_interrupted(lambda: refarray.asarray(items), start=lambda: None)

    assert any(map(write, SIZES))


MILLIONS = 1_500_000
SCALARS = [refarray.zeros(())] * MILLIONS
LISTS: dict[str, Callable[[], object]] = {
    "stack": lambda: refarray.stack(SCALARS),
    "concat": lambda: refarray.concat([refarray.zeros(1)] * MILLIONS),
    "concat, flattened": lambda: refarray.concat(SCALARS, axis=None),
    "broadcast_arrays": lambda: refarray.broadcast_arrays(*SCALARS),
    "broadcast_shapes": lambda: refarray.broadcast_shapes(*[()] * MILLIONS),
    "result_type": lambda: refarray.result_type(*SCALARS, *[1] * MILLIONS),
    "isdtype": lambda: refarray.isdtype(refarray.int8, ("bool",) * MILLIONS),
    "a list of arrays": lambda: refarray.asarray(SCALARS),
    "a list of lists": lambda: refarray.asarray([[1, 2]] * MILLIONS),
    "a list of indices": lambda: refarray.zeros(1)[[0] * MILLIONS],
    "an index of lists": lambda: refarray.zeros(1)[([0],) * (1 << 20)],
    "an assigned list": lambda: refarray.zeros(MILLIONS).__setitem__(..., [0.0] * MILLIONS),
}


@pytest.mark.computes
@run_each("name", LISTS)
def test_signal_handler_interrupts_reading_many_arguments(name: str) -> None:
    """Between them, not only between the elements of one."""

    def call() -> object:
        try:
            return LISTS[name]()
        except IndexError:  # of too many indices, after all are read
            return None

    begin = time.process_time()
    call()
    whole = time.process_time() - begin
    # A call that runs no handlers until its end is late by three quarters. What it has made by then
    # is freed in the time that is measured.
    assert any(lateness(call, whole / 4) < whole / 2 for _ in range(3)), whole


@pytest.mark.computes
def test_joining_many_arrays_takes_memory_for_the_result_only() -> None:
    """Not a kilobyte for each of them, the size of an array with room for 64 axes."""
    tracked = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert refarray.stack(SCALARS).shape == (MILLIONS,)
    assert refarray.concat(SCALARS, axis=None).shape == (MILLIONS,)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - tracked < 512 << 10
