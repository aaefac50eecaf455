"""The registry of models, and the comparison of a result with its model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from oracles.checks import BOUNDS, NARROW, OTHERS, assert_dtype, error, flat, same
from oracles.nested import Nested
from oracles.real_functions import Exact

from properties.arrays import Draw


class Near(NamedTuple):
    """An exact number to which the element must be close, with a bound in ULP of float64; the
    narrower formats are rounded once."""

    exact: Exact
    bound: float = OTHERS


class Result(NamedTuple):
    """An array. An element is a number, a tuple of admissible ones, Near, or None for any."""

    model: Nested
    dtype: str


class Call(NamedTuple):
    """Arguments, and the result: a Result, a tuple of them, or a function that checks it."""

    arguments: tuple[Any, ...]
    wanted: Result | tuple[Result, ...] | Callable[[Any], None]
    keywords: dict[str, Any] = {}  # noqa: RUF012 (never changed)


Model = Callable[[Draw], Call]
MODELS: dict[str, Model] = {}


def model(name: str, work: Model) -> None:
    assert name not in MODELS
    MODELS[name] = work


def models(*names: str) -> Callable[[Callable[[str, Draw], Call]], Callable[[str, Draw], Call]]:
    """Registers a function of a name and `draw` for each of the names."""

    def register(work: Callable[[str, Draw], Call]) -> Callable[[str, Draw], Call]:
        for name in names:
            model(name, lambda draw, name=name: work(name, draw))  # type: ignore[misc]
        return work

    return register


def near(name: str, exact: Exact) -> Near:
    """The result of a function of the C library."""
    return Near(exact, BOUNDS.get(name, OTHERS))


def is_right(got: Any, wanted: Any, dtype: str) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, Near):
        return error(got, wanted.exact, dtype) <= (wanted.bound if dtype == "float64" else NARROW)
    if isinstance(wanted, tuple):
        return any(same(got, each) for each in wanted)
    return same(got, wanted)


def check_result(out: Any, wanted: Result) -> None:
    assert_dtype(out, wanted.dtype)
    assert out.shape == wanted.model.shape
    assert math.prod(out.shape) == len(wanted.model.values)
    for index, (got, right) in enumerate(zip(flat(out), wanted.model.values, strict=True)):
        assert is_right(got, right, wanted.dtype), f"element {index} is {got!r}, not {right!r}"


def check(out: Any, call: Call) -> None:
    """Compares what the function returned."""
    if isinstance(call.wanted, Result):
        check_result(out, call.wanted)
    elif isinstance(call.wanted, tuple):
        assert isinstance(out, tuple)
        for each, wanted in zip(out, call.wanted, strict=True):
            check_result(each, wanted)
    else:
        call.wanted(out)
