"""Arrays of two namespaces do not mix, and the error says which two they are."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import pytest
from helpers.cases import run_each, words
from modes.expressions import OPERATORS
from oracles.functions import TABLE

import refarray

pytestmark = pytest.mark.every_python

strict: Any = refarray.namespace(strict=True)
immutable: Any = refarray.namespace(immutable=True)
SPACES = {"refarray": refarray, "refarray_strict": strict, "refarray_immutable": immutable}
pairs = run_each(("one", "two"), list(itertools.permutations(SPACES, 2)))

FUNCTIONS = TABLE["functions"]
#: Functions that take arrays of other libraries, or no arrays.
TAKE_OTHERS = words(
    "__array_namespace_info__ asarray from_dlpack arange broadcast_shapes empty eye fft.fftfreq"
    " fft.rfftfreq full linspace ones zeros isdtype to_device"
)


def mixes(one: str, two: str) -> Any:
    """Both names, as whole words: the one is a part of the other."""
    words = rf"(?=.*namespace {two} )(?=.*those of {one};)"
    return pytest.raises(TypeError, match=words)


@pairs
@run_each("operator", [*OPERATORS, *(f"{each}=" for each in OPERATORS[:12])])
def test_operators(one: str, two: str, operator: str) -> None:
    names = {"a": SPACES[one].ones((2, 2)), "b": SPACES[two].ones((2, 2))}
    with pytest.raises(TypeError, match=f"(?=.*{one})(?=.*{two})"):
        exec(f"a {operator} b", names)


@pairs
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {*TAKE_OTHERS, "finfo", "iinfo"}))
def test_functions(one: str, two: str, name: str) -> None:
    """The first array of another namespace, or the second beside one of the own."""
    space: Any = SPACES[one]
    own, other = space.ones((2, 2)), SPACES[two].ones((2, 2))
    function = operator.attrgetter(name)(space)
    if name in ("concat", "stack"):
        calls = [([other],), ([own, other],), ((other, own),)]
    elif name in ("broadcast_arrays", "meshgrid", "result_type"):
        calls = [(other,), (own[0, :], other)]
    elif name == "can_cast":
        calls = [(other, space.float64)]
    elif name == "searchsorted":
        calls = [(other, own), (own[0, :], other), (own[0, :], own, other)]
    elif name == "where":
        calls = [(other == 1, own, own), (own == 1, other, own), (own == 1, own, other)]
    else:
        rest = FUNCTIONS[name].strip("()").split(", ")
        count = sum("=" not in each and each[:1] not in "*/" for each in rest)
        calls = [(other, *[1] * (count - 1))]
        if count > 1 and rest[1] in ("x2", "indices"):
            calls += [(own, other), (other, own)]
    for first, *more in calls:
        keywords = {"sorter": more.pop()} if len(more) == 2 and name == "searchsorted" else {}
        with mixes(one, two):
            function(first, *more, **keywords)


@pairs
def test_limits_and_optional_arrays(one: str, two: str) -> None:
    space: Any = SPACES[one]
    own, other = space.ones(3), SPACES[two].ones(3)
    for call in (
        lambda: space.clip(own, other, 2),
        lambda: space.clip(own, 0, other),
        lambda: space.diff(own, prepend=other),
        lambda: space.diff(own, append=other),
        lambda: space.repeat(own, integers(two)),
        lambda: space.searchsorted(own, own, sorter=integers(two)),
    ):
        with mixes(one, two):
            call()


def integers(name: str) -> Any:
    return SPACES[name].asarray([0, 1, 2])


@pairs
def test_indices_and_values(one: str, two: str) -> None:
    x, mask, places = SPACES[one].ones(3), SPACES[two].ones(3) == 1, integers(two)
    for index in (mask, places, (places,), (mask, ...)):
        with mixes(one, two):
            x[index]
        if one != "refarray_immutable":
            with mixes(one, two):
                x[index] = 1
    if one != "refarray_immutable":
        for value in (SPACES[two].ones(3), SPACES[two].ones(())):
            with pytest.raises(TypeError, match="namespace"):
                x[...] = value
        assert x.__array_namespace__() is SPACES[one] and bool(SPACES[one].all(x == 1))


@pairs
def test_numbers_of_another_namespace_are_no_axes_of_strict_ones(one: str, two: str) -> None:
    """An array is no Python number, whatever its namespace; as an index it works by __index__."""
    place = SPACES[two].asarray(1)
    assert [7, 8, 9][place] == 8
    with pytest.raises(TypeError):
        SPACES[one].ones(3) * place


@pairs
def test_arrays_in_sequences_and_fill_values_do_not_mix(one: str, two: str) -> None:
    space, value = SPACES[one], SPACES[two].asarray(1.0)
    for call in (
        lambda: space.full(3, value),
        lambda: space.full_like(space.ones(3), value),
        lambda: space.full(3, value, dtype=space.float64),
        lambda: space.arange(value),
        lambda: space.arange(0.0, 3.0, value),
        lambda: space.linspace(value, 3.0, 4),
        lambda: space.fft.fftfreq(4, d=value),
        lambda: space.std(space.ones(3), correction=value),
    ):
        with pytest.raises(TypeError, match="asarray|a Python number|a number"):
            call()
    if one == "refarray_strict":  # which takes no lists at all
        return
    with mixes(one, two):
        space.arange(3)[[SPACES[two].asarray(0)]]
    if one == "refarray_immutable":
        return
    for values in ([value] * 3, (value,) * 3, [[value] * 3], [1.0, 2.0, value]):
        for index in (..., space.ones(3) == 1, space.asarray([0, 1, 2])):
            x = space.zeros(3)
            with mixes(one, two):
                x[index] = values
            assert not space.any(x)


@pairs
def test_asarray_takes_those_of_another_namespace(one: str, two: str) -> None:
    value = SPACES[two].asarray(1.0)
    assert float(SPACES[one].asarray(value)) == 1.0
    if one != "refarray_strict":  # which takes no list of arrays
        assert SPACES[one].asarray([value, 2]).tolist() == [1, 2]


@pairs
def test_an_integer_of_another_namespace_is_an_int_by_index(one: str, two: str) -> None:
    """As in array-api-strict; strict namespaces take no arrays where the standard has int."""
    space, number = SPACES[one], SPACES[two].asarray(2)
    assert space.arange(5)[:number].shape == (2,)
    for call in (
        lambda: space.zeros(number),
        lambda: space.zeros((number,)),
        lambda: space.roll(space.arange(2), number),
        lambda: space.reshape(space.arange(2), (number,)),
        lambda: space.sum(space.ones((2, 1, 1)), axis=(number, 1)),
    ):
        if one == "refarray_strict":
            with pytest.raises(TypeError, match="integer"):
                call()
        else:
            assert call().shape == (2,)
