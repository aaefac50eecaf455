"""Long loops over elements run signal handlers, so that Ctrl-C interrupts them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helpers.signals import SIZES, is_interrupted, is_interrupted_when_long, start_timer

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


@pytest.mark.parametrize("name", LOOPS)
def test_signal_handler_interrupts_the_loop(name: str) -> None:
    assert is_interrupted_when_long(lambda size: LOOPS[name](size * MANY))


def test_signal_handler_interrupts_writing_a_sequence() -> None:
    """The last item starts the timer, after all other items were read."""

    def write(size: int) -> bool:
        items: list[object] = [0] * (size * MANY // 8)
        items.append(StartsTimer())
        return is_interrupted(lambda: refarray.asarray(items), start=lambda: None)

    assert any(map(write, SIZES))
