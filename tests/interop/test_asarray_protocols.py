"""asarray with every import protocol of an object: their order, which errors try the next one,
copy=, and __array__, the last one."""

from __future__ import annotations

import gc
import itertools
import sys
import weakref
from types import SimpleNamespace
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
    assert isolated("out_of_memory_scenarios.py", "buffers", scenario) == "survived\n"


# --- copy


@run_each("protocol", PROTOCOLS)
def test_copy_true_copies_with_every_protocol(adv: Any, protocol: str) -> None:
    x = exporting(adv, protocol)
    y = refarray.asarray(x, copy=True)
    y[0] = 9.0
    if protocol == "buffer":
        assert list(x) == [3.0, 3.0]
    elif protocol != "table":
        assert x.kept[protocol].tolist() == [VALUES[protocol]] * 2
    assert not y.readonly


def test_copy_false_tries_the_next_protocol_that_shares(adv: Any) -> None:
    def old(self: Any, *, max_version: Any = None) -> Any:
        return self.kept["dlpack"].__dlpack__(max_version=max_version)

    x = exporting(adv, "dlpack", "interface", dlpack=old)
    y = refarray.asarray(x, copy=False)
    y[0] = 9.0
    assert x.kept["interface"].tolist() == [9.0, 4.0]
    x = exporting(adv, "dlpack", dlpack=old)
    with pytest.raises(refarray.NoCopyError, match="does not take copy="):
        refarray.asarray(x, copy=False)
    with pytest.raises(refarray.NoCopyError, match="exports no memory"):
        refarray.asarray(exporting(adv, "table"), copy=False)


def test_copy_false_is_passed_to_dunder_array(adv: Any) -> None:
    seen: list[Any] = []

    def with_copy_keyword(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        seen.append((dtype, copy))
        if copy is False and len(seen) > 2:
            raise ValueError("only by copying")
        return self.kept["array"]

    x = exporting(adv, "array", array=with_copy_keyword)
    y = refarray.asarray(x, copy=False)
    y[0] = 9.0
    assert x.kept["array"].tolist() == [9.0, 5.0]
    refarray.asarray(x)
    assert seen == [(None, False), (None, None)]
    with pytest.raises(ValueError, match="only by copying"):
        refarray.asarray(x, copy=False)
    with pytest.raises(refarray.NoCopyError, match="does not take copy=") as caught:
        refarray.asarray(exporting(adv, "array"), copy=False)
    assert isinstance(caught.value.__cause__, TypeError)


def test_copy_true_is_passed_to_dunder_array(adv: Any) -> None:
    seen: list[Any] = []

    def with_copy_keyword(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        seen.append((dtype, copy))
        return self.kept["array"].copy() if copy else self.kept["array"]

    x = exporting(adv, "array", array=with_copy_keyword)
    y = refarray.asarray(x, copy=True)
    y[0] = 9.0
    assert (x.kept["array"].tolist(), y.tolist()) == ([5.0, 5.0], [9.0, 5.0])
    assert refarray.asarray(x, copy=True, dtype="float32").dtype == "float32"
    assert seen == [(None, True), (None, None)]  # with dtype= the conversion is the copy


def test_a_copy_of_dunder_array_is_not_copied_again(adv: Any) -> None:
    addresses: list[int] = []

    def fresh(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        out = np.full(1000, 5.0)
        addresses.append(out.ctypes.data)
        return out

    y = refarray.asarray(exporting(adv, "array", array=fresh), copy=True)
    assert y.__array_interface__["data"][0] == addresses[0]


@pytest.mark.parametrize("how", ["itself", "view", "hidden view"])
def test_a_method_that_ignores_copy_true_is_not_believed(adv: Any, how: str) -> None:
    def ignoring(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        kept = self.kept["array"]
        if how == "hidden view":
            return np.ndarray(kept.shape, kept.dtype, memoryview(kept))
        return kept if how == "itself" else kept[:]

    x = exporting(adv, "array", array=ignoring)
    refarray.asarray(x, copy=True)[0] = 9.0
    assert x.kept["array"].tolist() == [5.0, 5.0]


def test_an_old_dunder_array_is_called_without_copy(adv: Any) -> None:
    calls: list[int] = []

    def old(self: Any) -> Any:
        calls.append(1)
        return self.kept["array"]

    x = exporting(adv, "array", array=old)
    refarray.asarray(x, copy=True)[0] = 9.0
    assert (x.kept["array"].tolist(), len(calls)) == ([5.0, 5.0], 1)

    def raising(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        calls.append(2)
        raise TypeError("its own")

    class Raising:
        __array__ = raising

    for copy in (True, False):
        with pytest.raises(TypeError, match="its own"):
            refarray.asarray(Raising(), copy=copy)
    assert calls == [1, 2, 2], "a method that has begun is not called again"


# --- __array__


@run_each("result", [None, [1.0], 5, "text", refarray.zeros(1), np.float32(1)])
def test_dunder_array_must_return_an_ndarray(adv: Any, result: Any) -> None:
    x = exporting(adv, "array", array=lambda self: result)
    with pytest.raises(
        TypeError, match=r"__array__\(\) of Exporter returned .*, not a numpy.ndarray"
    ):
        refarray.asarray(x)


def test_dunder_array_is_looked_up_on_the_type(adv: Any) -> None:
    x: Any = SimpleNamespace(__array__=lambda: data("array"))
    with pytest.raises(TypeError, match="SimpleNamespace"):
        refarray.asarray(x)
    for thing in (np.ndarray, np.float32, refarray.Array, int):
        with pytest.raises(TypeError, match="is of type"):
            refarray.asarray(thing)
    unset = type("Unset", (), {"__array__": None, "__array_interface__": None})()
    with pytest.raises(TypeError, match="is of type Unset"):
        refarray.asarray(unset)


def test_fabricated_attributes_are_ignored() -> None:
    class Fabricates:
        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: data("array")

    with pytest.raises(TypeError, match="Fabricates must be a dict, not function"):
        refarray.asarray(Fabricates())


def test_result_of_dunder_array_is_kept_alive(adv: Any) -> None:
    class Memory(bytearray):
        pass

    memory = Memory(data("array").tobytes())
    alive = weakref.ref(memory)
    results = [np.frombuffer(memory, "f4")]
    x = exporting(adv, "array", array=lambda self: results.pop())
    y = refarray.asarray(x)
    del x, memory
    gc.collect()
    assert alive() is not None
    assert y.tolist() == [5.0, 5.0]
    del y
    gc.collect()
    assert alive() is None


def test_recursive_dunder_array_raises(adv: Any) -> None:
    x = exporting(adv, "array", array=refarray.asarray)
    with pytest.raises(RecursionError):
        refarray.asarray(x)
