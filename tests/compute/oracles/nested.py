"""Arrays as flat Python lists with a shape: axes, reductions and gathering, in plain loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from oracles.checks import flat

Shape = tuple[int, ...]


class Nested(NamedTuple):
    """The elements in row-major order, and their shape."""

    values: list[Any]
    shape: Shape

    def at(self, index: Sequence[int]) -> Any:
        position = 0
        for each, extent in zip(index, self.shape, strict=True):
            position = position * extent + each
        return self.values[position]


def indices(shape: Shape) -> Iterable[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def made(shape: Shape, work: Callable[[tuple[int, ...]], Any]) -> Nested:
    return Nested([work(index) for index in indices(shape)], shape)


def from_array(x: Any) -> Nested:
    """The elements of an array or of nested lists with its shape."""
    return Nested(flat(x), x.shape)


def normalized(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(each % ndim for each in (axis if isinstance(axis, tuple) else (axis,)))


def reduced(
    x: Nested, axis: int | tuple[int, ...] | None, keepdims: bool, work: Callable[[list[Any]], Any]
) -> Nested:
    """Calls `work` with the elements of every group, in row-major order of the reduced axes."""
    axes = normalized(axis, len(x.shape))
    kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    inner = tuple(n if a in axes else 1 for a, n in enumerate(x.shape))

    def group(index: tuple[int, ...]) -> Any:
        return work(
            [x.at([a + b for a, b in zip(index, other, strict=True)]) for other in indices(inner)]
        )

    out = made(kept, group)
    if keepdims:
        return out
    return Nested(out.values, tuple(n for a, n in enumerate(x.shape) if a not in axes))


def scanned(
    x: Nested, axis: int, work: Callable[[list[Any]], list[Any]], length: int | None = None
) -> Nested:
    """Replaces every line along an axis by the line that `work` makes of it: as long, or of the
    given length."""
    axis %= len(x.shape)
    lines = {}
    others = tuple(1 if a == axis else n for a, n in enumerate(x.shape))
    for index in indices(others):
        line = [x.at((*index[:axis], i, *index[axis + 1 :])) for i in range(x.shape[axis])]
        lines[index] = work(line)
    shape = (*x.shape[:axis], x.shape[axis] if length is None else length, *x.shape[axis + 1 :])
    return made(shape, lambda i: lines[(*i[:axis], 0, *i[axis + 1 :])][i[axis]])


def size_of(shape: Shape) -> int:
    return math.prod(shape)


def broadcast(given: list[Shape]) -> Shape | None:
    """The shape to which shapes broadcast, axis by axis from the last one; None for an error."""
    out = []
    for back in range(1, max(map(len, given), default=0) + 1):
        extents = {shape[-back] for shape in given if len(shape) >= back} - {1}
        if len(extents) > 1:
            return None
        out.append(extents.pop() if extents else 1)
    return tuple(reversed(out))
