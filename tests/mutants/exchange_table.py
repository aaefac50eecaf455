"""Producers whose C exchange table has one defect: refarray's table with one function replaced."""

from __future__ import annotations

import itertools
from typing import Any

import refarray as ra
from mutants.base import Array, breaks, native, producer
from mutants.corrupting import Table

adversary = native()
NAME = "__dlpack_c_exchange_api__"


class CleanTable(Array):
    """A producer with a correct table."""


for _name in (NAME, "__c_dlpack_exchange_api__"):
    setattr(CleanTable, _name, adversary.mutant_table(ra.Array, CleanTable, "none"))
clean = producer(CleanTable)

DEFECTS = {
    "no-stream": "CAPI-07",
    "major": "CAPI-05",
    "from-positive": "CAPI-09",
    "from-future": "CAPI-11",
    "from-runtime": "CAPI-11",
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
    "allocate-wrapped": "CAPI-23",
    "allocate-odd": "CAPI-24",
    "allocate-throws": "ABI-06",
    "stream-seven": "CAPI-26",
    "stream-anywhere": "CAPI-27",
}


class BrokenTable(Array):
    """A producer with a table of its own. The table is built at its first lookup, because the
    native code supports one defect per process."""

    defect = "none"
    name = "dlpack_exchange_api"


class LazyTable:
    """Descriptor: builds the table of a class at the first lookup and returns the same one
    afterwards."""

    def __init__(self) -> None:
        self.made: dict[type, Any] = {}

    def __get__(self, _: Any, kind: Any) -> Any:
        if kind not in self.made:
            self.made[kind] = adversary.mutant_table(ra.Array, kind, kind.defect, kind.name)
        return self.made[kind]


setattr(BrokenTable, NAME, LazyTable())


def add(rows: Table, defects: dict[str, str]) -> None:
    """Registers a mutant for each defect of a table."""
    for defect, requirement in defects.items():
        name = "".join(word.title() for word in defect.split("-"))
        rows.derive(requirement, name, BrokenTable, defect=defect)


rows = Table(__name__)
add(rows, DEFECTS)
rows.derive("CAPI-01", "NoTable", Array)
rows.derive("CAPI-02", "WrongCapsuleName", BrokenTable, name="dlpack_exchange_api_v1")
rows.derive("CAPI-29", "OldNameIsNoCapsule", BrokenTable, __c_dlpack_exchange_api__="no capsule")


@breaks("CAPI-31")
class TableExportsMore(BrokenTable):
    """The table exports an array that __dlpack__ refuses, as PyTorch's exports one that requires
    grad."""

    lacks = ("unexportable",)
    withheld = False

    @classmethod
    def of(cls, _: str) -> TableExportsMore:
        made = cls(ra.arange(6, dtype=ra.float32))
        made.withheld = True
        return made

    def export(self, keywords: dict[str, Any]) -> Any:
        if self.withheld:
            raise BufferError("this array requires grad")
        return super().export(keywords)


class AlternatingTables:
    """Descriptor: alternates between two tables."""

    def __init__(self) -> None:
        self.made: Any = None

    def __get__(self, _: Any, kind: Any) -> Any:
        if self.made is None:
            tables = [adversary.mutant_table(ra.Array, kind, "none") for _ in range(2)]
            self.made = itertools.cycle(tables)
        return next(self.made)


@breaks("CAPI-03")
class NewTableEachTime(BrokenTable):
    """Returns a different table at every lookup."""


setattr(NewTableEachTime, NAME, AlternatingTables())


@breaks("CAPI-04")
class TableChanges(BrokenTable):
    """The table changes after 32 arrays have been created."""

    made = 0

    def __init__(self, source: ra.Array) -> None:
        super().__init__(source)
        TableChanges.made += 1
        if TableChanges.made > 32:
            adversary.change_version()
