"""A spy stands for the producer's C exchange table too: who takes it is seen, and judged."""

from __future__ import annotations

import pytest
from helpers.spies import Loose, broken, by_table, delete_twice, through

import refarray as ra
from refarray.conformance import Outcome, _adversary, spy
from refarray.conformance.live_validator.spy import Spy


def test_a_consumer_that_takes_the_table_is_seen() -> None:
    watched = through(ra.arange(6), ra.from_dlpack, table=True)
    assert not broken(watched)
    assert [call.method for call in watched.calls] == ["from_py"]
    texts = [step.text for step in watched.timeline]
    assert texts[0] == "call from_dlpack(x)"
    assert texts[1] == "calls the table's from_py(x)"
    assert texts[2].startswith("answers dltensor_versioned 1.3, int64 shape (6,)")
    assert texts[-2:] == ["drop the array", "calls the deleter, with the GIL"]
    judged = {found.id for found in watched.findings}
    assert {"LIFE-03", "LIFE-19", "TENS-06", "FLAG-01", "CONS-12"} <= judged
    assert not judged & {"CONS-01", "VERS-09", "LIFE-10"}  # of the methods and capsules


def test_the_data_that_comes_by_the_table_is_shared() -> None:
    array = ra.zeros(3)
    watched = spy(array)
    taken = ra.from_dlpack(watched)
    taken[0] = 7
    assert array.tolist() == [7, 0, 0]
    assert [call.deletions() for call in watched.calls] == [[]]
    del taken
    assert len(watched.calls[0].deletions()) == 1


def test_what_breaks_by_the_table_is_caught() -> None:
    watched = spy(ra.arange(6), producer="refarray")
    watched.take(lambda x: delete_twice(by_table(x).from_py(x)))
    watched.finish()
    assert broken(watched) == {"LIFE-03": Outcome.FAIL}

    watched = spy(ra.arange(6), producer="refarray")
    watched.take(lambda x: by_table(x).from_py(x).leave())
    watched.finish()
    assert broken(watched) == {"LIFE-03": Outcome.FAIL}


def test_what_the_table_lends_and_refuses_is_seen() -> None:
    watched = spy(ra.arange(6, dtype="float32"))
    assert by_table(watched).dltensor(watched)["shape"] == (6,)
    watched = spy(ra.arange(6).as_readonly())
    with pytest.raises(BufferError, match="read-only"):
        by_table(watched).dltensor(watched)
    texts = [step.text for step in watched.timeline]
    assert texts[0] == "calls the table's dltensor(x)"
    assert texts[1].startswith("raises BufferError: ") and "read-only" in texts[1]


def test_the_rest_of_the_table_is_the_real_one() -> None:
    offered, real = by_table(spy(ra.arange(3))), _adversary.api(ra.Array)
    given = _adversary.make(shape=(3,), data=bytes(12)).expect_deletes(1)
    assert type(offered.to_py(given)) is ra.Array
    assert offered.stream(1, 0) == real.stream(1, 0)
    members = {name: value for name, value in offered.members().items() if name != "address"}
    assert members == {name: real.members()[name] for name in members}


def test_where_there_is_no_table_to_stand_for_none_is_offered() -> None:
    class Odd(Loose):
        __dlpack_c_exchange_api__ = 7

    for watched in (spy(Loose()), spy(Odd()), spy(ra.arange(3), table=False)):
        assert type(watched) is Spy and not hasattr(type(watched), "__dlpack_c_exchange_api__")
    assert type(spy(ra.arange(3))) is type(spy(ra.arange(4)))  # a consumer may keep it by type
