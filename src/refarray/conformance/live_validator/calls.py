"""Records of a spy: calls of the producer, imports, and the steps of the timeline, also as text."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from refarray._describe import device_name, dtype_name, flags_text, version_text
from refarray._terminal import width, wrap_hanging
from refarray.conformance import _adversary
from refarray.conformance.cases import describe_error
from refarray.conformance.dlpack import CPU
from refarray.conformance.findings import Finding, Outcome
from refarray.conformance.harness.producer import keywords_text


def now() -> int:
    """Nanoseconds of the monotonic clock, as in the events of the native recorder."""
    return time.monotonic_ns()


def thread_name(ident: int) -> str:
    """The name of a Python thread; the identifier of any other thread."""
    for thread in threading.enumerate():
        if thread.ident == ident:
            return thread.name
    return f"thread {ident:#x}"


@dataclass
class Call:
    """One call of a method of the producer, or of a function of its C exchange table."""

    method: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    thread: int = 0
    started: int = 0
    ended: int = 0
    answer: Any = None
    """The result of __dlpack_device__, or a result of __dlpack__ that is no valid DLPack
    capsule."""
    error: BaseException | None = None
    held: Mapping[str, Any] | None = None
    """The fields of the exported tensor."""
    watched: _adversary.StandIn | None = None
    left_as: str | None = None
    """The kept capsule's name after the import."""
    cleared: bool | None = None
    """Whether the consumer cleared the capsule's destructor; None if the capsule was not kept."""
    looked: int = 0
    """When the kept capsule was inspected."""

    @property
    def by_table(self) -> bool:
        """Whether it is a call of the C exchange table, which involves no capsule."""
        return not self.method.startswith("__")

    @property
    def request(self) -> str:
        """The call as Python code; "the table's from_py(x)" for a function of the exchange
        table."""
        if self.by_table:
            return f"the table's {self.method}(x)"
        given = [*map(repr, self.arguments)]
        if self.keywords:
            given.append(keywords_text(self.keywords))
        return f"{self.method}({', '.join(given)})"

    @property
    def reply(self) -> str:
        """The result of the call, for the timeline."""
        if self.error is not None:
            return f"raises {describe_error(self.error)}"
        if self.held is None:
            return f"returns {self.answer if self.by_table else repr(self.answer)}"
        return f"returns {capsule_text(self.held)}"

    def events(self) -> list[tuple[str, int, int, bool, bool, bool, str]]:
        """The events of its tensor: (kind, time, thread, attached, interpreter alive, exception
        set, capsule name)."""
        return [] if self.watched is None else self.watched.events()

    @property
    def name_after(self) -> str | None:
        """The capsule's last known name; None if it is unknown."""
        names = [event[6] for event in self.events() if event[0] == "capsule"]
        return names[-1] if names else self.left_as

    def deletions(self) -> list[int]:
        """The times of the deleter calls, by the consumer or by the capsule's destructor."""
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
        if held["device"][0] != CPU:
            parts.append(f"on {device_name(held['device'])}")
    return ", ".join(parts)


@dataclass
class ImportCall:
    """One call of the consumer's from_dlpack, made by Spy.take()."""

    keywords: dict[str, Any]
    started: int
    thread: int
    ended: int = 0
    error: BaseException | None = None
    result: str = ""
    """A description of the imported array."""
    arrival: str = ""
    """An Arrival: "shared", "copied" …; empty if it is unknown."""
    readonly: bool | None = None
    """Whether the imported array is read-only; None if it is unknown."""
    dropped: int | None = None
    """When the user released the imported array."""


@dataclass(frozen=True)
class Step:
    """One line of the timeline."""

    nanoseconds: int
    thread: str
    who: str
    """producer, consumer, interpreter or you."""
    text: str


def describe_rename(call: Call) -> str:
    """The timeline text for the name of a kept capsule."""
    assert call.held is not None
    before, after = call.held["name"], call.left_as
    action = f"leaves the capsule named {after}" if after == before else f"renames it {after}"
    return f"{action} (was {before})" + (", destructor cleared" if call.cleared else "")


def deletions(call: Call, which: str) -> Iterator[Step]:
    """The steps that the native recorder saw: deleter calls and the end of the capsule."""
    for kind, nanoseconds, ident, attached, interpreter, raising, name in call.events():
        if kind == "capsule" and (call.cleared is not None or call.by_table):
            continue  # the spy released it, not the consumer; a table returns no capsule
        place = "with the GIL" if attached else "without the GIL"
        if not interpreter:
            place = "after the interpreter"
        text = {
            "deleter": f"calls the deleter{which}, {place}",
            "destructor": f"capsule's destructor calls the deleter{which}",
            "capsule": f"frees the capsule{which}, named {name}",
        }[kind]
        who = {"deleter": "consumer", "destructor": "producer", "capsule": "interpreter"}[kind]
        yield Step(
            nanoseconds,
            thread_name(ident),
            who,
            text + ("; the deleter leaves an exception set" if raising else ""),
        )


class Record:
    """What a spy has recorded; the rules judge it."""

    def __init__(self, producer: str, consumer: str = "") -> None:
        self.calls: list[Call] = []
        self.imports: list[ImportCall] = []
        self.finished: bool = False
        self.began: int = now()
        self.producer: str = producer
        self.consumer: str = consumer or "consumer"

    @property
    def timeline(self) -> list[Step]:
        """The recorded steps in order of time."""
        return sorted(self._steps(), key=lambda step: step.nanoseconds)

    def _steps(self) -> Iterator[Step]:
        for taken in self.imports:
            name = thread_name(taken.thread)
            given = keywords_text(taken.keywords)
            yield Step(taken.started, name, "you", f"call from_dlpack(x{given and f', {given}'})")
            done = (
                f"raises {describe_error(taken.error)}"
                if taken.error
                else f"returns {taken.result}"
            )
            yield Step(taken.ended, name, "consumer", done)
            if taken.dropped is not None and not taken.error:
                yield Step(taken.dropped, name, "you", "drop the array")
        watched = [call for call in self.calls if call.watched is not None]
        for call in self.calls:
            name = thread_name(call.thread)
            yield Step(call.started, name, "consumer", f"calls {call.request}")
            yield Step(call.ended, name, "producer", call.reply)
            if call.cleared is not None and call.held is not None:
                yield Step(call.looked, name, "consumer", describe_rename(call))
            which = f" of tensor {watched.index(call)}" if call in watched and watched[1:] else ""
            yield from deletions(call, which)


# --- as text


def timeline_lines(steps: Sequence[Step], began: int, names: Mapping[str, str]) -> list[str]:
    """The events as a table; times are in milliseconds since `began`."""
    rows = [("ms", "thread", "who", "what")]
    for step in steps:
        passed = f"{(step.nanoseconds - began) / 1e6:.3f}"
        rows.append((passed, step.thread, names.get(step.who, step.who), step.text))
    a, b, c = (max(len(row[i]) for row in rows) for i in range(3))
    out = []
    for row in rows:
        first = f"{row[0]:>{a}}  {row[1]:<{b}}  {row[2]:<{c}}  "
        out += wrap_hanging(first, row[3], len(first) + 2, width())
    return out


def lines(findings: Sequence[Finding]) -> list[str]:
    """A line for each verdict, and the totals."""
    order = list(Outcome)
    ranked = sorted(findings, key=lambda f: (f.outcome is Outcome.PASS, order.index(f.outcome)))
    out = []
    for f in ranked:
        first = f"{f.outcome:<4}  {f.id:<8} {f.level:<8} {f.subject}: "
        out += wrap_hanging(first, f.expected, 15, width())
        if f.outcome is not Outcome.PASS:
            out += wrap_hanging(f"{'':15}saw: ", f.observed, 20, width())
    broken = sum(f.outcome.failed for f in findings)
    return [*out, f"{len(findings)} requirements judged, {broken} broken"]
