"""The order in which asarray asks an object that offers its memory in several ways, and which
refusals let the next way be asked."""

from __future__ import annotations

import gc
import itertools
import sys
from typing import Any

import numpy as np
import pytest
from native.offers import VALUES, WAYS, Answer, data, logged, offering, raising, refusing

import refarray

PAIRS = list(itertools.combinations(WAYS, 2))


# --- the order


@pytest.mark.req("AAPI-05")
@pytest.mark.parametrize("way", WAYS)
def test_each_way_alone(adv: Any, way: str) -> None:
    x = offering(adv, way)
    assert refarray.asarray(x).tolist() == [VALUES[way]] * 2
    assert x.asked == logged(way)
    assert (
        refarray.asarray(x if way != "table" else offering(adv, way), dtype="int8").tolist()
        == [int(VALUES[way])] * 2
    )


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_first_of_two_is_taken_and_the_second_not_asked(
    adv: Any, first: str, second: str
) -> None:
    x = offering(adv, first, second)
    assert refarray.asarray(x).tolist() == [VALUES[first]] * 2
    assert x.asked == logged(first)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_second_of_two_is_asked_when_the_first_refuses(
    adv: Any, first: str, second: str
) -> None:
    x = offering(adv, first, second, **{first: refusing(first)})
    if (first, second) == ("table", "dlpack"):  # one offer: the table has spoken for both
        with pytest.raises(BufferError, match="table refuses"):
            refarray.asarray(x)
        assert x.asked == ["table"]
        return
    assert refarray.asarray(x).tolist() == [VALUES[second]] * 2
    assert x.asked == logged(first, second)


def test_all_ways_in_their_order(adv: Any) -> None:
    ways = WAYS[1:]
    for refused in range(len(ways) + 1):
        x = offering(adv, *ways, **{way: refusing(way) for way in ways[:refused]})
        if refused < len(ways):
            assert refarray.asarray(x).tolist() == [VALUES[ways[refused]]] * 2
            assert x.asked == logged(*ways[: refused + 1])
            continue
        with pytest.raises(BufferError, match="dlpack refuses") as caught:
            refarray.asarray(x)
        assert x.asked == logged(*ways)
        notes = "\n".join(caught.value.__notes__)
        told = [
            "asked next, the buffer protocol: BufferError: buffer: format 'T{",
            "asked next, __array_interface__: BufferError: interface refuses",
            "asked next, __array__: BufferError: array refuses",
        ]
        places = [notes.find(text) for text in told]
        assert -1 not in places
        assert places == sorted(places)


def test_items_of_sequences_are_asked_in_the_same_order(adv: Any) -> None:
    items = [
        offering(adv, "dlpack", "interface"),
        offering(adv, "dlpack", "interface", dlpack=refusing("dlpack")),
        offering(adv, "array"),
    ]
    x = refarray.asarray(items)
    assert (x.tolist(), x.dtype) == ([[2.0, 2.0], [4.0, 4.0], [5.0, 5.0]], "float32")
    assert [item.asked for item in items] == [["dlpack"], ["dlpack", "interface"], ["array"]]


def test_an_offer_is_preferred_to_a_sequence_and_a_number(adv: Any) -> None:
    class Both(list[float]):
        __array__ = lambda self: data("array")  # noqa: E731

    class Number:
        __array__ = lambda self: np.float32([7, 8])  # noqa: E731

        def __float__(self) -> float:
            raise AssertionError("not asked")

    assert refarray.asarray(Both([1.0])).tolist() == [5.0, 5.0]
    assert refarray.asarray(Number()).tolist() == [7.0, 8.0]


# --- what lets the next way be asked, and what does not


ERRORS = [
    ValueError,
    KeyError,
    RuntimeError,
    AttributeError,
    MemoryError,
    KeyboardInterrupt,
]


@pytest.mark.req("CONS-03")
@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("way", ["table", "dlpack", "interface"])
def test_other_errors_end_the_asking(adv: Any, way: str, kind: type[BaseException]) -> None:
    error = kind("no")
    x = offering(adv, way, "array", **{way: raising(error)})
    if way == "interface" and isinstance(error, AttributeError):  # a property that is not there
        assert refarray.asarray(x).tolist() == [5.0, 5.0]
        return
    with pytest.raises(type(error)) as caught:
        refarray.asarray(x)
    assert caught.value is error
    assert x.asked == [way]


def test_an_error_after_a_refusal_shows_the_refusal(adv: Any) -> None:
    for error in (KeyError("mine"), KeyboardInterrupt()):
        x = offering(
            adv, "dlpack", "interface", dlpack=refusing("dlpack"), interface=raising(error)
        )
        with pytest.raises(type(error)) as caught:
            refarray.asarray(x)
        assert caught.value is error
        assert str(caught.value.__context__) == "dlpack refuses"
    broken = {"version": 3, "shape": [2], "typestr": "<f4", "data": b""}
    x = offering(
        adv, "dlpack", "interface", dlpack=refusing("dlpack"), interface=lambda self: broken
    )
    with pytest.raises(BufferError, match="shape must be a tuple") as caught:
        refarray.asarray(x)
    assert str(caught.value.__context__) == "dlpack refuses"


def test_array_is_a_courtesy_after_a_refusal(adv: Any) -> None:
    """What it raises then adds to the refusal; the user and the machine are still obeyed."""
    x = offering(adv, "dlpack", "array", dlpack=refusing("dlpack"), array=raising(TypeError("no")))
    with pytest.raises(BufferError, match="dlpack refuses") as caught:
        refarray.asarray(x)
    assert caught.value.__notes__ == ["asked next, __array__: TypeError: no"]
    for error in (MemoryError(), KeyboardInterrupt()):
        x = offering(adv, "dlpack", "array", dlpack=refusing("dlpack"), array=raising(error))
        with pytest.raises(type(error)):
            refarray.asarray(x)
    x = offering(adv, "array", array=raising(TypeError("alone")))
    with pytest.raises(TypeError, match="alone"):
        refarray.asarray(x)


def test_refusals_that_are_hard_to_quote(adv: Any) -> None:
    class Mute(BufferError):
        def __str__(self) -> str:
            raise ValueError("no words")

    for error in (Mute(), BufferError("half a pair \udc80"), BufferError()):
        x = offering(
            adv, "dlpack", "interface", dlpack=refusing("dlpack"), interface=raising(error)
        )
        with pytest.raises(BufferError, match="dlpack refuses") as caught:
            refarray.asarray(x)
        notes = getattr(caught.value, "__notes__", [])
        if isinstance(error, Mute):
            assert notes == []
        else:
            assert notes == [f"asked next, __array_interface__: BufferError: {error}"]


@pytest.mark.req("DEV-07", "CONS-07")
def test_what_a_producer_says_of_its_device_is_final(adv: Any) -> None:
    """Or a copy from another device would be made that nobody asked for."""
    x = offering(adv, "dlpack", "interface", device=lambda self: (2, 0))
    with pytest.raises(BufferError, match="the producer's device is"):
        refarray.asarray(x)
    assert x.asked == []
    x = offering(adv, "dlpack", "interface", device=raising(BufferError("spread over two")))
    with pytest.raises(BufferError, match="spread over two"):
        refarray.asarray(x)
    assert x.asked == []


def test_what_was_delivered_and_is_wrong_is_final(adv: Any) -> None:
    tensor = adv.make(shape=(2,), data=None)
    x = offering(adv, "dlpack", "interface", dlpack=lambda self, **_: tensor.capsule())
    with pytest.raises(BufferError, match="data is NULL"):
        refarray.asarray(x)
    assert x.asked == ["dlpack"]
    assert tensor.deleter_calls == 1
    lying = adv.exporter(data=bytes(8), format="f", itemsize=4, shape=(3,))
    with pytest.raises(BufferError, match="len is 8 bytes"):
        refarray.asarray(lying)
    assert lying.releases == lying.gets == 1


def test_the_other_functions_ask_one_way_only(adv: Any) -> None:
    for way, take in (
        ("dlpack", refarray.from_dlpack),
        ("interface", refarray.from_array_interface),
    ):
        x = offering(adv, *WAYS[1:], **{way: refusing(way)})
        with pytest.raises(BufferError, match=f"{way} refuses"):
            take(x)
        assert x.asked == [way]
    x = offering(adv, *WAYS[1:], buffer=refusing("buffer"))
    with pytest.raises(BufferError, match="format"):
        refarray.from_buffer(x)
    assert x.asked == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 688 is in CPython from 3.12 on")
def test_buffers_made_in_python(adv: Any) -> None:
    """What __buffer__ raises decides as it does for the others; what it gave is released once."""
    released: list[memoryview] = []

    def give(self: Any, flags: int) -> memoryview:
        return memoryview(data("buffer"))

    def offer(answer: Answer, *ways: str) -> Any:
        base = type(offering(adv, *ways, "array"))
        names = {
            "__buffer__": answer,
            "__release_buffer__": lambda self, view: released.append(view),
        }
        return type("Offers", (base,), names)()

    x = refarray.asarray(offer(give))
    assert x.tolist() == [3.0, 3.0]
    assert released == []
    del x
    gc.collect()
    assert len(released) == 1
    for error in (BufferError("no"), ValueError("no"), TypeError("no")):
        assert refarray.asarray(offer(raising(error), "interface")).tolist() == [4.0, 4.0]
    assert refarray.asarray(offer(lambda self, flags: b"no view")).tolist() == [5.0, 5.0]
    for error in (KeyError("no"), MemoryError(), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            refarray.asarray(offer(raising(error), "interface"))
    assert len(released) == 1


@pytest.mark.parametrize(
    "way",
    ["buffer", "bytes", "asarray", "interface", "outside", "fallback", "all_refuse", "export"],
)
def test_every_allocation_may_fail(isolated: Any, way: str) -> None:
    assert isolated("out_of_memory_interop.py", way) == "survived\n"
