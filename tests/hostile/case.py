"""Owns Case: one hostile input with the rows that it covers, and Off: what was not as specified."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Body = Callable[[Any], Any]

#: How a case can be off, worst first; the columns of the table that `make trust` prints.
KINDS = ("crash", "double deleter", "leak", "silent accept", "other")


class Off(AssertionError):
    """Something was not as specified. `kind` is one of KINDS."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


@dataclass(frozen=True)
class Case:
    """`body(adversary)` throws the input, perhaps by several ways, and raises when one was not as
    specified; it returns how often it threw, or None for once."""

    id: str
    family: str
    rows: tuple[str, ...]
    body: Body
    repeats: int = 4  # to find leaks; 0 where a repetition costs too much

    def __str__(self) -> str:
        return self.id


CASES: list[Case] = []


def case(rows: str, id: str, family: str, repeats: int = 4) -> Callable[[Body], Body]:
    """Adds a case; several with one body get their parameters by closures."""

    def add(body: Body) -> Body:
        CASES.append(Case(f"{family}-{id}", family, tuple(rows.split()), body, repeats))
        return body

    return add


@contextmanager
def refused(*kinds: type[BaseException], words: str = "") -> Iterator[None]:
    """The body has to raise exactly one of these types (or NoCopyError for BufferError), with a
    message, while the exception that is being handled stays the one that it was."""
    marker = KeyError("being handled")
    caught: BaseException | None = None
    try:
        raise marker
    except KeyError:
        try:
            yield
        except BaseException as error:
            caught = error
        if sys.exception() is not marker:
            raise Off("other", f"the handled exception became {sys.exception()!r}") from None
    if caught is None:
        raise Off("silent accept", f"accepted, where {kinds} is specified")
    if isinstance(caught, Off):
        raise caught
    if not isinstance(caught, kinds):
        raise Off("other", f"raised {caught!r}, where {kinds} is specified") from caught
    if words not in str(caught):
        raise Off("other", f"the message {str(caught)!r} does not say {words!r}")


def expect(condition: object, text: str, kind: str = "other") -> None:
    if not condition:
        raise Off(kind, text)


def deleted(tensor: Any, times: int) -> None:
    """The deleter of the tensor has run so often by now."""
    calls = tensor.deleter_calls
    if calls != times:
        kind = "double deleter" if calls > times else "leak"
        raise Off(kind, f"the deleter ran {calls} times instead of {times}")
