"""Spies, consumers and producers shared by the tests of the live validator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refarray.conformance import Outcome, _adversary, spy
from refarray.conformance.live_validator.spy import Spy

VERSIONED = {"max_version": (1, 3)}
Consumer = Callable[[Any], Any]


def broken(watched: Spy, role: str = "") -> dict[str, Outcome]:
    """Broken requirement → outcome; only those of `role`, if a test plays the other one."""
    wrong = (f for f in watched.findings if f.outcome is not Outcome.PASS)
    return {f.id: f.outcome for f in wrong if role in {"", f.role}}


def through(array: Any, consumer: Consumer, table: bool = False, **keywords: Any) -> Spy:
    """A spy after one complete exchange; through the methods unless `table`."""
    watched = spy(array, producer="refarray", consumer="refarray", table=table)
    taken = watched.take(consumer, **keywords)
    watched.dropped()
    del taken
    watched.finish()
    return watched


def consuming(then: Callable[[Any], object], **options: Any) -> Consumer:
    """A consumer that negotiates correctly, then calls `then` with the tensor."""

    def consume(x: Any) -> Any:
        x.__dlpack_device__()
        owned = _adversary.take(x.__dlpack__(**VERSIONED), **options)
        then(owned)
        return owned

    return consume


def delete_twice(owned: Any) -> None:
    """Calls the deleter of a tensor twice."""
    address = owned.leave()
    _adversary.adopt(address).drop()
    _adversary.adopt(address).drop()


def by_table(watched: Spy) -> Any:
    """Calls functions of the exchange table of a spy's type."""
    return _adversary.api(type(watched))


class Unchecked:
    """A producer that exports a tensor with the given fields and ignores all keywords."""

    def __init__(self, device: Any = (1, 0), fields_device: Any = (1, 0), **fields: Any) -> None:
        self.device = device
        self.fields = {**fields, "device": fields_device}

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **_: Any) -> Any:
        return _adversary.make(**self.fields).capsule()
