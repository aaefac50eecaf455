"""refarray.testing: how each hard producer answers, and the checks of consumers and producers."""

from __future__ import annotations

import time
from typing import Any

import pytest
from helpers.spies import consuming, delete_twice

import refarray as ra
from refarray.conformance import _adversary
from refarray.testing import (
    PRODUCERS,
    CheckedConsumer,
    assert_array_equal,
    checked,
    hard_array,
    hard_producer,
    hard_producers,
)

pytestmark = pytest.mark.every_python

IMPORTABLE = [name for name, kind in PRODUCERS.items() if kind.importable]


@pytest.mark.parametrize("kind", IMPORTABLE)
@pytest.mark.parametrize("layout", ["contiguous", "strided", "reversed", "0-d", "empty-axis"])
def test_importable_producers_give_their_elements(kind: str, layout: str) -> None:
    array = hard_array(layout)
    producer = hard_producer(kind, array)
    taken = ra.from_dlpack(producer)
    assert_array_equal(taken, array)
    if array.size and not taken.readonly:
        taken[...] = 77
        assert (float(ra.max(array)) == 77) == producer.shares_memory


@pytest.mark.parametrize("kind", sorted(set(PRODUCERS) - set(IMPORTABLE)))
def test_others_are_refused(kind: str) -> None:
    with pytest.raises((BufferError, RuntimeError)):
        ra.from_dlpack(hard_producer(kind))


def fields(kind: str, array: Any = None, **keywords: Any) -> dict[str, Any]:
    return _adversary.inspect(hard_producer(kind, array).__dlpack__(**keywords))


def test_tensors_have_the_fields_of_their_kind() -> None:
    new: dict[str, Any] = {"max_version": (1, 3)}
    assert fields("versioned", **new)["version"] == (1, 3)
    for kind in ("legacy", "legacy-answer"):
        keywords = new if kind == "legacy-answer" else {}
        assert fields(kind, **keywords).get("version") is None
    assert fields("read-only", **new)["flags"] == 1
    assert fields("copying", **new)["flags"] == 2
    assert fields("byte-offset", **new)["byte_offset"] == 64
    assert fields("null-strides", **new)["strides"] is None
    assert fields("newer-minor", **new)["version"] == (1, 200)
    assert fields("newer-major", **new)["version"] == (2, 0)
    frozen = hard_array("read-only")
    assert fields("byte-offset", frozen, **new, copy=True)["flags"] == 3
    with pytest.raises(BufferError):
        hard_producer("byte-offset", frozen).__dlpack__()  # the legacy struct has no flags


def test_legacy_producers_refuse_read_only_arrays() -> None:
    producer = hard_producer("legacy", hard_array("read-only"))
    assert not producer.importable and hard_producer("legacy").importable
    with pytest.raises(BufferError, match="read-only"):
        ra.from_dlpack(producer)


@pytest.mark.parametrize("kind", IMPORTABLE)
def test_padded_elements_stay_padded(kind: str) -> None:
    producer = hard_producer(kind, hard_array("strided", "float4_e2m1fn_padded"))
    if not producer.importable:
        assert not PRODUCERS[kind].flags
        with pytest.raises(BufferError, match="which has no flag for padding"):
            ra.from_dlpack(producer)
    else:
        assert_array_equal(ra.from_dlpack(producer), producer.array)


def test_requests_are_recorded_and_unknown_keywords_refused() -> None:
    legacy = hard_producer("legacy")
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_version'"):
        legacy.__dlpack__(max_version=(1, 0))
    legacy.__dlpack__(stream=None)
    assert legacy.requests == [{"max_version": (1, 0)}, {"stream": None}]
    with pytest.raises(TypeError, match="'colour'"):
        hard_producer("versioned").__dlpack__(colour="red")
    with pytest.raises(ValueError, match="kind is 'angry'; the kinds are versioned, legacy"):
        hard_producer("angry")
    with pytest.raises(BufferError, match="copy=False"):
        ra.from_dlpack(hard_producer("copying"), copy=False)


def test_they_have_no_other_protocol() -> None:
    for producer in hard_producers():
        names = set(dir(producer))
        assert not names & {"__array__", "__array_interface__", "__buffer__", "__len__"}


def test_slow_producers_take_their_time() -> None:
    began = time.perf_counter()
    ra.from_dlpack(hard_producer("slow"))
    assert time.perf_counter() - began >= 0.05


# --- checked(): a producer that judges consumers


def test_a_correct_consumer_passes() -> None:
    with checked(ra.arange(6)) as x:
        assert ra.from_dlpack(x).tolist() == list(range(6))


def leaking(x: Any) -> None:
    _adversary.take(x.__dlpack__(max_version=(1, 3))).leave()


@pytest.mark.parametrize("consume", [leaking, consuming(delete_twice)])
def test_a_wrong_consumer_is_told_the_requirement(consume: Any) -> None:
    with (
        pytest.raises(AssertionError, match=r"consumer broke \d of DLPack's .*\n.*\n    observed "),
        checked(ra.arange(6), table=False) as x,
    ):
        consume(x)


def test_exceptions_of_the_block_go_on() -> None:
    with pytest.raises(ZeroDivisionError), checked(ra.arange(6)):
        raise ZeroDivisionError


def test_a_consumer_that_asks_nothing_is_told() -> None:
    with pytest.raises(AssertionError, match="never asked"), checked(ra.arange(6)):
        pass


# --- CheckedConsumer


@pytest.mark.parametrize("kind", [kind for kind in IMPORTABLE if kind != "legacy"])
def test_correct_producers_pass(kind: str) -> None:
    consumer = CheckedConsumer()
    producer = hard_producer(kind)
    assert_array_equal(consumer.from_dlpack(producer, copy=None), producer.array)
    assert consumer.requests[0].x is producer
    assert (consumer.requests[0].device, consumer.requests[0].copy) == (None, None)


def test_a_wrong_producer_is_told_the_requirement() -> None:
    with pytest.raises(AssertionError, match=r"PROD-01: expected __dlpack__ accepts stream"):
        CheckedConsumer().from_dlpack(hard_producer("legacy"))


def test_wrong_calls_raise() -> None:
    wrong: Any = CheckedConsumer().from_dlpack
    with pytest.raises(TypeError, match=r"copy must be True, False or None, not 1"):
        wrong(ra.zeros(1), copy=1)
    with pytest.raises(TypeError, match="list has no __dlpack__"):
        wrong([1, 2])
    instance: Any = type("Mine", (), {})()
    instance.__dlpack__ = ra.zeros(1).__dlpack__
    with pytest.raises(TypeError, match="Mine has no __dlpack__, which looks it up on the type"):
        wrong(instance)
    with pytest.raises(ValueError, match="gpu"):
        wrong(ra.zeros(1), device="gpu")
    with pytest.raises(TypeError):
        wrong(x=ra.zeros(1))
