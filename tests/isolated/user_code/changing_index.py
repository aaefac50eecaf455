"""Indices with an entry whose __index__ changes the entries that follow it, in each namespace.

Prints the number of indices that selected something, and of those that raised."""

import collections
from collections.abc import Callable, Iterator
from typing import Any

import refarray as ra

AXES = 64  # the most that an array may have
SPACES = {
    "open": ra,
    "immutable": ra.namespace(immutable=True),
    "strict": ra.namespace(strict=True),
    "lazy": ra.namespace(lazy=True),
    "poisoned": ra.namespace(poison_views=True),
    "devices": ra.namespace(devices=[ra.VirtualDevice("gpu")]),
}


def integer() -> Any:
    """An object with __index__, of a class of its own."""
    return type("Integer", (), {"__index__": lambda self: 0})()


def becomes_sequence(kind: Any) -> None:
    kind.__getitem__, kind.__len__ = lambda self, at: 0, lambda self: 0


def becomes_nested(kind: Any) -> None:
    kind.__getitem__, kind.__len__ = lambda self, at: True, lambda self: 3
    kind.__index__ = lambda self: [].missing


def loses_index(kind: Any) -> None:
    del kind.__index__


def indices(change: Callable[[Any], None]) -> Iterator[tuple[Any, Callable[[], Any]]]:
    """Indices, each with a function that arms its first entry."""
    for later in (0, 1, 7, 63):
        for new_axes in (0, 1, 63, 64):
            victim, first = integer(), integer()
            arm = lambda f=first, v=victim: setattr(  # noqa: E731
                type(f), "__index__", lambda self: change(type(v)) or 0
            )
            yield (first, *(victim,) * later, *(None,) * new_axes), arm
            yield (*(None,) * new_axes, first, *(victim,) * later, ...), arm
            yield (slice(first, None), *(victim,) * later, *(None,) * new_axes), arm
            yield (slice(None, None, first), *(slice(victim),) * later, ...), arm
            yield (first, [0], *(victim,) * later, *(None,) * new_axes), arm
    for length in (0, 1, 5):
        items, first = [0] * length, integer()
        arm = lambda f=first, i=items: setattr(  # noqa: E731
            type(f), "__index__", lambda self: i.clear() or i.extend([0] * 100_000) or 0
        )
        yield (first, items, items, items), arm
        yield ([first, 0], items, items), arm
        yield ([items, first, items],), arm


outcomes: collections.Counter[str] = collections.Counter()
for xp in SPACES.values():
    device = {"device": xp.__array_namespace_info__().default_device()} if xp is not ra else {}
    for change in (becomes_sequence, becomes_nested, loses_index):
        for assigns in (False, True):
            for index, arm in indices(change):
                x: Any = xp.zeros((1,) * AXES, **device)
                arm()
                try:
                    if assigns:
                        x[index] = 1
                    else:
                        assert x[index].ndim <= AXES
                except (IndexError, TypeError, ValueError, AttributeError):
                    outcomes["raised"] += 1
                else:
                    outcomes["selected"] += 1
print(dict(outcomes))
