"""The spy's C exchange table: calls through it are recorded and checked too."""

from __future__ import annotations

import pytest
from helpers.spies import Unchecked, broken, by_table, delete_twice

import refarray as ra
from refarray.conformance import Outcome, _adversary, spy
from refarray.conformance.live_validator.spy import Spy

pytestmark = pytest.mark.every_python


def test_requirements_broken_through_the_table_are_found() -> None:
    watched = spy(ra.arange(6), producer="refarray")
    watched.take(lambda x: delete_twice(by_table(x).from_py(x)))
    watched.finish()
    assert broken(watched) == {"LIFE-03": Outcome.FAIL}

    watched = spy(ra.arange(6), producer="refarray")
    watched.take(lambda x: by_table(x).from_py(x).leave())
    watched.finish()
    assert broken(watched) == {"LIFE-03": Outcome.FAIL}


def test_calls_of_dltensor_are_recorded() -> None:
    watched = spy(ra.arange(6, dtype="float32"))
    assert by_table(watched).dltensor(watched)["shape"] == (6,)
    watched = spy(ra.arange(6).as_readonly())
    with pytest.raises(BufferError, match="read-only"):
        by_table(watched).dltensor(watched)
    texts = [step.text for step in watched.timeline]
    assert texts[0] == "calls the table's dltensor(x)"
    assert texts[1].startswith("raises BufferError: ") and "read-only" in texts[1]


def test_the_other_functions_are_those_of_the_real_table() -> None:
    offered, real = by_table(spy(ra.arange(3))), _adversary.api(ra.Array)
    given = _adversary.make(shape=(3,), data=bytes(12)).expect_deletes(1)
    assert type(offered.to_py(given)) is ra.Array
    assert offered.stream(1, 0) == real.stream(1, 0)
    members = {name: value for name, value in offered.members().items() if name != "address"}
    assert members == {name: real.members()[name] for name in members}


def test_a_spy_has_no_table_if_its_array_has_none() -> None:
    class Odd(Unchecked):
        __dlpack_c_exchange_api__ = 7

    for watched in (spy(Unchecked()), spy(Odd()), spy(ra.arange(3), table=False)):
        assert type(watched) is Spy and not hasattr(type(watched), "__dlpack_c_exchange_api__")
    assert type(spy(ra.arange(3))) is type(
        spy(ra.arange(4))
    )  # consumers may cache the table by type
