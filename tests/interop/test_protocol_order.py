"""The order in which asarray tries an object's import protocols, and which errors try the next
one."""

from __future__ import annotations

import gc
import itertools
import sys
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from native.exporters import PROTOCOLS, VALUES, Method, data, exporting, logged, raising, refusing

import refarray

PAIRS = list(itertools.combinations(PROTOCOLS, 2))


# --- order


@pytest.mark.req("AAPI-05")
@run_each("protocol", PROTOCOLS)
def test_each_protocol_alone(adv: Any, protocol: str) -> None:
    x = exporting(adv, protocol)
    assert refarray.asarray(x).tolist() == [VALUES[protocol]] * 2
    assert x.tried == logged(protocol)
    assert (
        refarray.asarray(
            x if protocol != "table" else exporting(adv, protocol), dtype="int8"
        ).tolist()
        == [int(VALUES[protocol])] * 2
    )


@run_each(("first", "second"), PAIRS)
def test_first_of_two_protocols_is_used(adv: Any, first: str, second: str) -> None:
    x = exporting(adv, first, second)
    # Both are DLPack: the methods decide, and the table is not asked.
    used = second if (first, second) == ("table", "dlpack") else first
    assert refarray.asarray(x).tolist() == [VALUES[used]] * 2
    assert x.tried == logged(used)


@run_each(("first", "second"), PAIRS)
def test_second_of_two_protocols_is_tried_after_a_refusal(
    adv: Any, first: str, second: str
) -> None:
    if (first, second) == ("table", "dlpack"):  # both are DLPack: the methods' refusal is final
        x = exporting(adv, first, second, dlpack=refusing("dlpack"))
        with pytest.raises(BufferError, match="dlpack refuses"):
            refarray.asarray(x)
        assert x.tried == ["dlpack"]
        return
    x = exporting(adv, first, second, **{first: refusing(first)})
    assert refarray.asarray(x).tolist() == [VALUES[second]] * 2
    assert x.tried == logged(first, second)


def test_all_protocols_in_their_order(adv: Any) -> None:
    protocols = PROTOCOLS[1:]
    for refused in range(len(protocols) + 1):
        x = exporting(
            adv, *protocols, **{protocol: refusing(protocol) for protocol in protocols[:refused]}
        )
        if refused < len(protocols):
            assert refarray.asarray(x).tolist() == [VALUES[protocols[refused]]] * 2
            assert x.tried == logged(*protocols[: refused + 1])
            continue
        with pytest.raises(BufferError, match="dlpack refuses") as caught:
            refarray.asarray(x)
        assert x.tried == logged(*protocols)
        notes = "\n".join(caught.value.__notes__)
        expected_notes = [
            "tried next, the buffer protocol: BufferError: buffer: format 'T{",
            "tried next, __array_interface__: BufferError: interface refuses",
            "tried next, __array__: BufferError: array refuses",
        ]
        places = [notes.find(text) for text in expected_notes]
        assert -1 not in places
        assert places == sorted(places)


def test_items_of_sequences_use_the_same_order(adv: Any) -> None:
    items = [
        exporting(adv, "dlpack", "interface"),
        exporting(adv, "dlpack", "interface", dlpack=refusing("dlpack")),
        exporting(adv, "array"),
    ]
    x = refarray.asarray(items)
    assert (x.tolist(), x.dtype) == ([[2.0, 2.0], [4.0, 4.0], [5.0, 5.0]], "float32")
    assert [item.tried for item in items] == [["dlpack"], ["dlpack", "interface"], ["array"]]


def test_protocols_precede_sequences_and_numbers(adv: Any) -> None:
    class Both(list[float]):
        __array__ = lambda self: data("array")  # noqa: E731

    class Number:
        __array__ = lambda self: np.float32([7, 8])  # noqa: E731

        def __float__(self) -> float:
            raise AssertionError("must not be called")

    assert refarray.asarray(Both([1.0])).tolist() == [5.0, 5.0]
    assert refarray.asarray(Number()).tolist() == [7.0, 8.0]


# --- which errors try the next protocol


ERRORS = [
    ValueError,
    KeyError,
    RuntimeError,
    AttributeError,
    MemoryError,
    KeyboardInterrupt,
]


@pytest.mark.req("CONS-03")
@run_each("kind", ERRORS)
@run_each("protocol", ["table", "dlpack", "interface"])
def test_other_errors_propagate_at_once(adv: Any, protocol: str, kind: type[BaseException]) -> None:
    error = kind("no")
    x = exporting(adv, protocol, "array", **{protocol: raising(error)})
    if protocol == "interface" and isinstance(error, AttributeError):  # means: no such attribute
        assert refarray.asarray(x).tolist() == [5.0, 5.0]
        return
    with pytest.raises(type(error)) as caught:
        refarray.asarray(x)
    assert caught.value is error
    assert x.tried == [protocol]


def test_error_after_a_refusal_has_it_as_context(adv: Any) -> None:
    for error in (KeyError("mine"), KeyboardInterrupt()):
        x = exporting(
            adv, "dlpack", "interface", dlpack=refusing("dlpack"), interface=raising(error)
        )
        with pytest.raises(type(error)) as caught:
            refarray.asarray(x)
        assert caught.value is error
        assert str(caught.value.__context__) == "dlpack refuses"
    broken = {"version": 3, "shape": 2, "typestr": "<f4", "data": b""}
    x = exporting(
        adv, "dlpack", "interface", dlpack=refusing("dlpack"), interface=lambda self: broken
    )
    with pytest.raises(BufferError, match="shape must be a tuple") as caught:
        refarray.asarray(x)
    assert str(caught.value.__context__) == "dlpack refuses"


def test_error_of_dunder_array_becomes_a_note_of_the_refusal(adv: Any) -> None:
    """Except MemoryError and KeyboardInterrupt, which propagate."""
    x = exporting(adv, "dlpack", "array", dlpack=refusing("dlpack"), array=raising(TypeError("no")))
    with pytest.raises(BufferError, match="dlpack refuses") as caught:
        refarray.asarray(x)
    assert caught.value.__notes__ == ["tried next, __array__: TypeError: no"]
    for error in (MemoryError(), KeyboardInterrupt()):
        x = exporting(adv, "dlpack", "array", dlpack=refusing("dlpack"), array=raising(error))
        with pytest.raises(type(error)):
            refarray.asarray(x)
    x = exporting(adv, "array", array=raising(TypeError("alone")))
    with pytest.raises(TypeError, match="alone"):
        refarray.asarray(x)


def test_refusals_without_a_usable_message(adv: Any) -> None:
    class WithoutMessage(BufferError):
        def __str__(self) -> str:
            raise ValueError("no message")

    for error in (WithoutMessage(), BufferError("lone surrogate \udc80"), BufferError()):
        x = exporting(
            adv, "dlpack", "interface", dlpack=refusing("dlpack"), interface=raising(error)
        )
        with pytest.raises(BufferError, match="dlpack refuses") as caught:
            refarray.asarray(x)
        notes = getattr(caught.value, "__notes__", [])
        if isinstance(error, WithoutMessage):
            assert notes == []
        else:
            assert notes == [f"tried next, __array_interface__: BufferError: {error}"]


@pytest.mark.req("DEV-07", "CONS-07")
def test_refused_device_is_final(adv: Any) -> None:
    """Another protocol would silently copy from another device."""
    x = exporting(adv, "dlpack", "interface", device=lambda self: (2, 0))
    with pytest.raises(BufferError, match="the producer's device is"):
        refarray.asarray(x)
    assert x.tried == []
    x = exporting(adv, "dlpack", "interface", device=raising(BufferError("spread over two")))
    with pytest.raises(BufferError, match="spread over two"):
        refarray.asarray(x)
    assert x.tried == []


def test_invalid_data_is_final(adv: Any) -> None:
    tensor = adv.make(shape=(2,), data=None)
    x = exporting(adv, "dlpack", "interface", dlpack=lambda self, **_: tensor.capsule())
    with pytest.raises(BufferError, match="data is NULL"):
        refarray.asarray(x)
    assert x.tried == ["dlpack"]
    assert tensor.deleter_calls == 1
    lying = adv.exporter(data=bytes(8), format="f", itemsize=4, shape=(3,))
    with pytest.raises(BufferError, match="len is 8 bytes"):
        refarray.asarray(lying)
    assert lying.releases == lying.gets == 1


def test_other_functions_try_one_protocol_only(adv: Any) -> None:
    for protocol, take in (
        ("dlpack", refarray.from_dlpack),
        ("interface", refarray.from_array_interface),
    ):
        x = exporting(adv, *PROTOCOLS[1:], **{protocol: refusing(protocol)})
        with pytest.raises(BufferError, match=f"{protocol} refuses"):
            take(x)
        assert x.tried == [protocol]
    x = exporting(adv, *PROTOCOLS[1:], buffer=refusing("buffer"))
    with pytest.raises(BufferError, match="format"):
        refarray.from_buffer(x)
    assert x.tried == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 688 is in CPython from 3.12 on")
def test_dunder_buffer_written_in_python(adv: Any) -> None:
    """Its exceptions count like those of other protocols; its buffer is released once."""
    released: list[memoryview] = []

    def give(self: Any, flags: int) -> memoryview:
        return memoryview(data("buffer"))

    def exporter(answer: Method, *protocols: str) -> Any:
        base = type(exporting(adv, *protocols, "array"))
        names = {
            "__buffer__": answer,
            "__release_buffer__": lambda self, view: released.append(view),
        }
        return type("Offers", (base,), names)()

    x = refarray.asarray(exporter(give))
    assert x.tolist() == [3.0, 3.0]
    assert released == []
    del x
    gc.collect()
    assert len(released) == 1
    for error in (BufferError("no"), ValueError("no"), TypeError("no")):
        assert refarray.asarray(exporter(raising(error), "interface")).tolist() == [4.0, 4.0]
    assert refarray.asarray(exporter(lambda self, flags: b"no view")).tolist() == [5.0, 5.0]
    for error in (KeyError("no"), MemoryError(), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            refarray.asarray(exporter(raising(error), "interface"))
    assert len(released) == 1


@pytest.mark.parametrize(
    "scenario",
    ["buffer", "bytes", "asarray", "interface", "outside", "fallback", "all_refuse", "export"],
)
def test_imports_survive_allocation_failures(isolated: Any, scenario: str) -> None:
    assert isolated("out_of_memory_interop.py", scenario) == "survived\n"
