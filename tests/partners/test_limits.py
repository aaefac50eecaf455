"""Asks whether the recorded limits are well formed and whether their checker can fail."""

from __future__ import annotations

import pytest

from . import limits


def refuse() -> None:
    raise limits_exception("JaxRuntimeError")


def limits_exception(name: str) -> Exception:
    return type(name, (RuntimeError,), {})("refused")


def test_every_limit_names_a_case_of_the_grid() -> None:
    assert {limit.facet for limit in limits.LIMITS} <= limits.known_facets()
    keys = [(limit.partner, limit.direction, limit.facet) for limit in limits.LIMITS]
    assert len(keys) == len(set(keys))


def test_a_met_limit_gives_none() -> None:
    assert limits.attempt("jax", "to", ("layout:stepped",), refuse) is None


def test_an_unexpected_pass_fails() -> None:
    with pytest.raises(AssertionError, match="remove"):
        limits.attempt("jax", "to", ("layout:stepped",), lambda: 1)


def test_another_exception_than_the_recorded_one_fails() -> None:
    with pytest.raises(KeyError):
        limits.attempt("jax", "to", ("layout:stepped",), lambda: {}["x"])


def test_an_unrecorded_refusal_fails() -> None:
    with pytest.raises(RuntimeError):
        limits.attempt("jax", "to", ("layout:flat",), refuse)
