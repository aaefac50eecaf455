"""Owns what a spy writes down: calls, imports, and the steps of a timeline."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from refarray._describe import dtype_name, flags_text, version_text
from refarray.conformance import _adversary
from refarray.conformance.harness.producer import keywords_text, raised


def now() -> int:
    """Nanoseconds on the clock of the native recorder."""
    return time.monotonic_ns()


def thread_name(ident: int) -> str:
    """A thread of Python's by its name, any other by its number."""
    for thread in threading.enumerate():
        if thread.ident == ident:
            return thread.name
    return f"thread {ident:#x}"


@dataclass
class Call:
    """One call of a method of the producer, as the consumer made it."""

    method: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    thread: int = 0
    started: int = 0
    ended: int = 0
    answer: Any = None
    """What __dlpack_device__ returned; of __dlpack__ only what is no capsule that can be
    watched."""
    error: BaseException | None = None
    held: Mapping[str, Any] | None = None
    """What the capsule held when it left the producer."""
    watched: _adversary.StandIn | None = None
    left_as: str | None = None
    """The capsule's name when it was last seen."""
    cleared: bool | None = None
    """Whether the consumer had taken the capsule's destructor away; None when it was not kept."""
    looked: int = 0
    """When the kept capsule was looked at."""

    @property
    def by_table(self) -> bool:
        """Whether it is a function of the C exchange table, which has no capsule."""
        return not self.method.startswith("__")

    @property
    def request(self) -> str:
        """The call as Python text; a function of the exchange table by the member's name."""
        if self.by_table:
            return f"the table's {self.method}(x)"
        given = [*map(repr, self.arguments)]
        if self.keywords:
            given.append(keywords_text(self.keywords))
        return f"{self.method}({', '.join(given)})"

    @property
    def reply(self) -> str:
        """The answer in words."""
        if self.error is not None:
            return f"raises {raised(self.error)}"
        if self.held is None:
            return f"answers {self.answer if self.by_table else repr(self.answer)}"
        return f"answers {capsule_text(self.held)}"

    def events(self) -> list[tuple[str, int, int, bool, bool, bool, str]]:
        """What the native recorder saw of its tensor."""
        return [] if self.watched is None else self.watched.events()

    @property
    def name_after(self) -> str | None:
        """What the capsule was called when it was last seen; None when nobody saw it."""
        names = [event[6] for event in self.events() if event[0] == "capsule"]
        return names[-1] if names else self.left_as

    def deletions(self) -> list[int]:
        """When the deleter was called, by whomever."""
        return [event[1] for event in self.events() if event[0] in {"deleter", "destructor"}]


def capsule_text(held: Mapping[str, Any]) -> str:
    """A capsule on one line: its name, version, flags and tensor."""
    parts = [f"{held['name']}{version_text(held['version'])}"]
    if held["flags"]:
        parts.append(f"flags {flags_text(held['flags'])}")
    if held.get("dtype") is not None:
        strides = "NULL" if held["strides"] is None else held["strides"]
        parts.append(f"{dtype_name(held['dtype'], False)} shape {held['shape']} strides {strides}")
        parts.append(f"data {held['data'] or 0:#x}+{held['byte_offset']}")
    return ", ".join(parts)


@dataclass
class Taking:
    """One call of a consumer's from_dlpack, where the spy made it."""

    keywords: dict[str, Any]
    started: int
    thread: int
    ended: int = 0
    error: BaseException | None = None
    result: str = ""
    """What came of it, in words."""
    arrival: str = ""
    """"shared", "copied" …, or empty when it cannot be told."""
    readonly: bool | None = None
    """Whether what arrived must not be written; None when it cannot be told."""
    dropped: int | None = None
    """When the array that it made was let go of."""


@dataclass(frozen=True)
class Step:
    """One line of the timeline."""

    nanoseconds: int
    thread: str
    who: str
    """producer, consumer, interpreter or you."""
    text: str


def renamed(call: Call) -> str:
    """What became of the name of a capsule that was kept."""
    assert call.held is not None
    before, after = call.held["name"], call.left_as
    words = f"leaves the capsule named {after}" if after == before else f"renames it {after}"
    return f"{words} (was {before})" + (", destructor cleared" if call.cleared else "")


def deletions(call: Call, which: str) -> Iterator[Step]:
    """The native recorder's part of the timeline."""
    for kind, nanoseconds, ident, attached, interpreter, raising, name in call.events():
        if kind == "capsule" and (call.cleared is not None or call.by_table):
            continue  # the spy kept it, so its end says nothing; a table gives none
        place = "with the GIL" if attached else "without the GIL"
        if not interpreter:
            place = "after the interpreter"
        said = {
            "deleter": f"calls the deleter{which}, {place}",
            "destructor": f"capsule's destructor calls the deleter{which}",
            "capsule": f"frees the capsule{which}, named {name}",
        }[kind]
        who = {"deleter": "consumer", "destructor": "producer", "capsule": "interpreter"}[kind]
        yield Step(
            nanoseconds,
            thread_name(ident),
            who,
            said + ("; the deleter leaves an exception set" if raising else ""),
        )
