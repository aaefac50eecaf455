"""Owns the animals whose C exchange table breaks one requirement: refarray's own with a twist."""

from __future__ import annotations

import itertools
from typing import Any

import refarray as ra
from mutants.base import Array, breaks, native, producer

adversary = native()
NAME = "__dlpack_c_exchange_api__"


class Tabled(Array):
    """A producer with a table that breaks nothing."""


for _name in (NAME, "__c_dlpack_exchange_api__"):
    setattr(Tabled, _name, adversary.mutant_table(ra.Array, Tabled, "none"))
clean = producer(Tabled)

TWISTS = {
    "no-stream": "CAPI-07",
    "major": "CAPI-05",
    "from-positive": "CAPI-09",
    "from-future": "CAPI-11",
    "from-anything": "CAPI-13",
    "from-writable": "CAPI-14",
    "lend-shifted": "CAPI-15",
    "lend-anything": "CAPI-16",
    "to-keeps": "CAPI-17",
    "to-deletes": "CAPI-18",
    "to-swallows": "CAPI-19",
    "to-throws": "CAPI-10",
    "allocate-reads": "CAPI-20",
    "allocate-silent": "CAPI-21",
    "allocate-attached": "CAPI-22",
    "allocate-columns": "CAPI-23",
    "allocate-odd": "CAPI-24",
    "allocate-throws": "ABI-06",
    "stream-seven": "CAPI-26",
    "stream-anywhere": "CAPI-27",
}


class Twisted(Array):
    """A producer with a table of its own, made when it is first looked at: there is one twist to a
    process."""

    twist = "none"
    name = "dlpack_exchange_api"


class Lazily:
    """A descriptor: the table of a class, the same at every look."""

    def __init__(self) -> None:
        self.made: dict[type, Any] = {}

    def __get__(self, _: Any, kind: Any) -> Any:
        if kind not in self.made:
            self.made[kind] = adversary.mutant_table(ra.Array, kind, kind.twist, kind.name)
        return self.made[kind]


setattr(Twisted, NAME, Lazily())


def enter(twist: str, requirement: str) -> None:
    """An animal of one twist."""
    name = "".join(word.title() for word in twist.split("-"))
    kind = type(name, (Twisted,), {"twist": twist, "__module__": __name__})
    globals()[name] = breaks(requirement)(kind)


for _twist, _requirement in TWISTS.items():
    enter(_twist, _requirement)


@breaks("CAPI-01")
class NoTable(Array):
    """It has none."""


@breaks("CAPI-02")
class OtherName(Twisted):
    name = "dlpack_exchange_api_v1"


class Anew:
    """A descriptor: another table at every look."""

    def __init__(self) -> None:
        self.made: Any = None

    def __get__(self, _: Any, kind: Any) -> Any:
        if self.made is None:
            tables = [adversary.mutant_table(ra.Array, kind, "none") for _ in range(2)]
            self.made = itertools.cycle(tables)
        return next(self.made)


@breaks("CAPI-03")
class OtherEachTime(Twisted):
    """Its tables alternate."""


setattr(OtherEachTime, NAME, Anew())


@breaks("CAPI-04")
class Ages(Twisted):
    """Its table changes when many arrays have been made."""

    made = 0

    def __init__(self, source: ra.Array) -> None:
        super().__init__(source)
        Ages.made += 1
        if Ages.made > 32:
            adversary.change_version()


@breaks("CAPI-29")
class OldNameHoldsText(Twisted):
    __c_dlpack_exchange_api__ = "here"
