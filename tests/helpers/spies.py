"""Spies, consumers and producers that the tests of the live validator share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refarray.conformance import Outcome, _adversary, spy
from refarray.conformance.live_validator.spy import Spy

VERSIONED = {"max_version": (1, 3)}
Consumer = Callable[[Any], Any]


def broken(watched: Spy, role: str = "") -> dict[str, Outcome]:
    """What a spy found wrong, by requirement; of one role, where the other is played by a test."""
    wrong = (f for f in watched.findings if f.outcome is not Outcome.PASS)
    return {f.id: f.outcome for f in wrong if role in {"", f.role}}


def through(array: Any, consumer: Consumer, table: bool = False, **keywords: Any) -> Spy:
    """One exchange to its end; by the methods, where no table is offered."""
    watched = spy(array, producer="refarray", consumer="refarray", table=table)
    taken = watched.take(consumer, **keywords)
    watched.dropped()
    del taken
    watched.finish()
    return watched


def taking(then: Callable[[Any], object], **options: Any) -> Consumer:
    """A consumer that asks as it should and then does something of its own with the tensor."""

    def consume(x: Any) -> Any:
        x.__dlpack_device__()
        owned = _adversary.take(x.__dlpack__(**VERSIONED), **options)
        then(owned)
        return owned

    return consume


def delete_twice(owned: Any) -> None:
    address = owned.leave()
    _adversary.adopt(address).drop()
    _adversary.adopt(address).drop()


def by_table(watched: Spy) -> Any:
    """A caller for the table that a spy's type offers."""
    return _adversary.api(type(watched))


class Loose:
    """Gives one managed tensor, made by native code, to whoever asks, however it is asked."""

    def __init__(self, device: Any = (1, 0), fields_device: Any = (1, 0), **fields: Any) -> None:
        self.device = device
        self.fields = {**fields, "device": fields_device}

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **_: Any) -> Any:
        return _adversary.make(**self.fields).capsule()
