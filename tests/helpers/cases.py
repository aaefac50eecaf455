"""Cases in a loop inside one test, which goes on after a failure and names every case that fails.

`run_each` stands where pytest.mark.parametrize would make an item of every case. An item costs a
millisecond or more to collect, set up and report, most cases a small part of that.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

Test = Callable[..., None]
Ids = Iterable[object] | Callable[[Any], object] | None


def words(text: str) -> list[str]:
    return text.split()


@contextlib.contextmanager
def refusal(error: type[Exception] | tuple[type[Exception], ...], *parts: object) -> Iterator[None]:
    """As pytest.raises(), for a message with each of the parts."""
    with pytest.raises(error) as caught:
        yield
    for part in parts:
        assert str(part) in str(caught.value)


class Case(NamedTuple):
    label: str
    arguments: dict[str, Any]


class Failures:
    """Collects what cases raise. A skip counts as a failure: it would hide the other cases."""

    def __init__(self) -> None:
        self.count = 0
        self.found: list[tuple[str, BaseException]] = []

    @contextlib.contextmanager
    def case(self, label: object) -> Iterator[None]:
        self.count += 1
        try:
            yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            error.add_note(f"in the case {label}")
            self.found.append((str(label), error))

    def report(self) -> None:
        if self.found:
            labels, errors = zip(*self.found, strict=True)
            text = f"{len(errors)} of {self.count} cases: {'; '.join(labels)}"
            raise BaseExceptionGroup(text, errors)


@contextlib.contextmanager
def cases() -> Iterator[Callable[[object], contextlib.AbstractContextManager[None]]]:
    """`with cases() as case:` around a loop, and `with case(label):` inside it."""
    failures = Failures()
    yield failures.case
    failures.report()


def name_of(value: Any, number: int, ids: Sequence[str] | Callable[[Any], object] | None) -> str:
    if ids is None:
        return value if isinstance(value, str) else repr(value)
    return str(ids(value)) if callable(ids) else ids[number]


def one_axis(names: str | Sequence[str], values: Iterable[Any], ids: Ids) -> list[Case]:
    listed = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    is_one = isinstance(names, str) and len(listed) == 1
    rows = list(values)
    given = ids if ids is None or callable(ids) else [str(each) for each in ids]
    assert rows, f"no cases of {names}"
    out = []
    for number, row in enumerate(rows):
        if hasattr(row, "marks"):
            raise TypeError("a case has no marks of its own: use pytest.mark.parametrize")
        parts = (row,) if is_one else tuple(row)
        label = name_of(row, number, given)
        out.append(Case(label, dict(zip(listed, parts, strict=True))))
    return out


def run_each(
    names: str | Sequence[str], values: Iterable[Any], ids: Ids = None
) -> Callable[[Test], Test]:
    """Runs a test with each of the values, as pytest.mark.parametrize, in one item."""
    axis = one_axis(names, values, ids)

    def decorate(test: Test) -> Test:
        inner, others = getattr(test, "cases", (test, [Case("", {})]))
        rows = [
            Case(", ".join(filter(None, (a.label, b.label))), {**a.arguments, **b.arguments})
            for a, b in itertools.product(axis, others)
        ]

        @functools.wraps(inner)
        def loop(**fixtures: Any) -> None:
            failures = Failures()
            for row in rows:
                with failures.case(row.label):
                    inner(**fixtures, **row.arguments)
            failures.report()

        loop.__dict__.update(test.__dict__)
        loop.cases = (inner, rows)  # type: ignore[attr-defined]
        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in rows[0][1]]
        loop.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return loop

    return decorate
