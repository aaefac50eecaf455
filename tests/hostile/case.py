"""Case, one hostile input with the catalogue rows it covers, and the assertions that cases use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Body = Callable[[Any], Any]

#: What a number that no device has may raise.
OUT_OF_RANGE = (BufferError, OverflowError, ValueError)

#: Kinds of violation, worst first; the columns of the table that `make gate G=trust` prints.
KINDS = ("crash", "double deleter", "leak", "silent accept", "other")


class Violation(AssertionError):
    """refarray broke its contract. `kind` is one of KINDS."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


@dataclass(frozen=True)
class Case:
    """`body(adversary)` submits the input, usually through several entry points.

    It raises Violation if one of them breaks the contract; it returns the number of attempts, or
    None for 1. `req`: the requirements that it shows, which stand among the rows as `LIFE-12`."""

    id: str
    family: str
    rows: tuple[str, ...]
    body: Body
    repeats: int = 4  # runs of the leak check; 0 where a repetition costs too much
    req: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.id


CASES: list[Case] = []


def add(rows: str, id: str, family: str, body: Any, *given: Any, repeats: int = 4) -> None:
    """Register a case; cases that share a body pass it other arguments."""
    call: Body = lambda adv: body(adv, *given)  # noqa: E731
    of = [tuple(row for row in rows.split() if ("-" in row) is is_req) for is_req in (False, True)]
    CASES.append(Case(f"{family}-{id}", family, of[0], call, repeats, of[1]))


def case(rows: str, id: str, family: str, repeats: int = 4) -> Callable[[Body], Body]:
    """Register the decorated function."""

    def decorate(body: Body) -> Body:
        add(rows, id, family, body, repeats=repeats)
        return body

    return decorate


@contextmanager
def refused(*kinds: type[BaseException], message: str = "") -> Iterator[None]:
    """The block must raise one of `kinds` (subclasses included) with `message` in its text, and the
    exception being handled (sys.exception()) must not change."""
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
            raise Violation("other", f"the handled exception became {sys.exception()!r}") from None
    if caught is None:
        raise Violation("silent accept", f"accepted; expected one of {kinds}")
    if isinstance(caught, Violation):
        raise caught
    if not isinstance(caught, kinds):
        raise Violation("other", f"raised {caught!r}; expected one of {kinds}") from caught
    if message not in str(caught):
        raise Violation("other", f"the message {str(caught)!r} does not say {message!r}")


def expect(condition: object, text: str, kind: str = "other") -> None:
    if not condition:
        raise Violation(kind, text)


def expect_deleter_calls(tensor: Any, times: int) -> None:
    """The deleter of `tensor` has run exactly `times` times so far."""
    calls = tensor.deleter_calls
    if calls != times:
        kind = "double deleter" if calls > times else "leak"
        raise Violation(kind, f"the deleter ran {calls} times instead of {times}")
