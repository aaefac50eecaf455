"""Loops inside a test: the cases after a failure run too, and every one that fails is named."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from helpers.cases import cases, run_each


def failures(work: Any, *arguments: Any) -> list[str]:
    with pytest.raises(BaseExceptionGroup) as caught:
        work(*arguments)
    return [error.__notes__[-1].removeprefix("in the case ") for error in caught.value.exceptions]


def test_every_failing_case_is_named() -> None:
    seen = []

    @run_each("x", [1, 2, 3, 4], ids=["one", "two", "three", "four"])
    def test(x: int) -> None:
        seen.append(x)
        assert x not in (1, 3)
        if x == 4:
            pytest.skip("hides the other cases")

    assert failures(test) == ["one", "three", "four"] and seen == [1, 2, 3, 4]


def test_decorators_multiply_and_fixtures_are_left() -> None:
    seen = []

    @run_each("name", ["f", "g"])
    @pytest.mark.parametrize("kept", [0])
    @run_each(("x", "y"), [(1, 2), (3, 4)])
    def test(adv: Any, kept: int, name: str, x: int, y: int) -> None:
        seen.append((adv, kept, name, x, y))
        assert (name, x) != ("g", 1)

    assert list(inspect.signature(test).parameters) == ["adv", "kept"]
    assert failures(lambda: test(adv=7, kept=0)) == ["g, (1, 2)"]
    assert seen == [(7, 0, name, *pair) for name in "fg" for pair in ((1, 2), (3, 4))]
    assert [mark.name for mark in test.pytestmark] == ["parametrize"]  # type: ignore[attr-defined]


def test_loops_in_the_body_go_on_too() -> None:
    def body() -> None:
        with cases() as case:
            for x in range(4):
                with case(x):
                    assert x % 2

    assert failures(body) == ["0", "2"]
    with pytest.raises(KeyboardInterrupt), cases() as case, case("stops"):
        raise KeyboardInterrupt
