"""Negotiation: the calls `from_dlpack` makes on a producer, retries, and the errors it raises."""

from __future__ import annotations

import pyexpat
import sys
from typing import Any

import pytest
from helpers.cases import run_each
from native.corpus import FLOATS
from native.producers import Recorder, check_independent, knowing

import refarray
from refarray.conformance.native_method import native_method

VALUES = [0.0, 1.0, 2.0]
FIRST = {"max_version": (1, 3)}


class OwnError(Exception):
    pass


class OnCpu:
    """A producer in Python; its methods have tracebacks, unlike those of a Recorder."""

    def __dlpack_device__(self) -> Any:
        return (1, 0)


# --- the first call ---


@pytest.mark.req("CONS-01", "CONS-08", "CONS-09", "VERS-09", "STRM-14", "COPY-04", "COPY-12")
@run_each(
    ("given", "asked"),
    [
        ({}, {}),
        ({"copy": None, "device": None, "max_version": None}, {}),
        ({"copy": True}, {"copy": True}),
        ({"copy": False}, {"copy": False}),
        ({"device": "cpu"}, {"dl_device": (1, 0)}),
        ({"device": refarray.Device("cpu"), "copy": False}, {"dl_device": (1, 0), "copy": False}),
        ({"max_version": (1, 0)}, {"max_version": (1, 0)}),
        ({"max_version": (1, 3)}, {}),
        ({"max_version": (1, 99)}, {}),
        ({"max_version": (2, 0)}, {}),
        ({"max_version": (2**70, 2**70)}, {}),
        ({"max_version": (0, 8)}, {"max_version": (0, 8)}),
    ],
)
def test_import_makes_one_call_with_the_given_keywords(
    recorder: Any, given: dict[str, Any], asked: dict[str, Any]
) -> None:
    """__dlpack_device__, then __dlpack__ with max_version and the user's keywords; no stream."""
    producer = recorder(flags=2 if given.get("copy") else 0)
    assert refarray.from_dlpack(producer, **given).tolist() == VALUES
    assert producer.calls == [("__dlpack_device__", {}), ("__dlpack__", {**FIRST, **asked})]
    device = producer.asked[0].get("dl_device", (1, 0))
    assert type(device) is tuple and len(device) == 2


@pytest.mark.req("COPY-01", "COPY-11")
def test_bad_arguments_raise_before_the_producer_is_called(recorder: Any) -> None:
    producer = recorder()
    for bad in (
        {"copy": 1},
        {"copy": "no"},
        {"copy": 0},
        {"max_version": [1, 0]},
        {"max_version": "10"},
        {"max_version": (1,)},
        {"max_version": (1.0, 0)},
        {"stream": None},
        {"foo": 1},
        {"device": 3.5},
        {"device": object()},
    ):
        with pytest.raises(TypeError):
            refarray.from_dlpack(producer, **bad)
    with pytest.raises((ValueError, TypeError)):
        refarray.from_dlpack(producer, device="toaster")
    for wrong in ((), (producer, None)):
        with pytest.raises(TypeError):
            refarray.from_dlpack(*wrong)
    with pytest.raises(TypeError):
        refarray.from_dlpack(x=producer)
    assert producer.calls == []


# --- old producers ---


@pytest.mark.req("COPY-09", "DEV-04", "DEV-09")
@run_each("copy", [None, True])
@pytest.mark.parametrize(("kind", "name"), [(3, "cuda_host"), (11, "rocm_host")])
@run_each("known", ["", "stream max_version"])
def test_pinned_memory_of_an_old_producer_is_imported_as_cpu(
    adv: Any, known: str, kind: int, name: str, copy: bool | None
) -> None:
    """Pinned memory is CPU memory, so a producer without dl_device= has nothing to do."""
    versioned = "max_version" in known
    tensor = adv.make(data=FLOATS, device=(kind, 0), versioned=versioned)
    producer = Recorder(knowing(known, lambda **_: tensor.capsule()), device=(kind, 0))
    array = refarray.from_dlpack(producer, device="cpu", copy=copy)
    assert (str(array.device), array.tolist()) == ("cpu", VALUES)
    assert producer.asked[1:] == [FIRST if versioned else {}]
    if copy:
        check_independent(array, tensor)
    again = adv.make(data=FLOATS, device=(kind, 0), versioned=versioned)
    producer.answer = knowing(known, lambda **_: again.capsule())
    assert str(refarray.from_dlpack(producer).device) == name


@pytest.mark.req("COPY-09", "COPY-06", "CONS-04")
@pytest.mark.parametrize("known", ["", "stream", "stream max_version"])
def test_copy_false_requires_support_of_the_producer(recorder: Any, known: str) -> None:
    """Without the keyword nothing guarantees a view: NoCopyError, chained to the producer's
    TypeError."""
    producer = recorder(known)
    with pytest.raises(refarray.NoCopyError) as caught:
        refarray.from_dlpack(producer, copy=False)
    assert isinstance(caught.value, BufferError) and isinstance(caught.value, ValueError)
    assert isinstance(caught.value.__cause__ or caught.value.__context__, TypeError)
    assert len(producer.asked) <= 2


@pytest.mark.req("CONS-04")
@run_each("take", [refarray.from_dlpack, refarray.asarray, refarray.inspect])
@run_each("error", [TypeError, ValueError])
def test_a_producer_that_has_begun_is_not_called_again(take: Any, error: type[Exception]) -> None:
    calls: list[dict[str, Any]] = []

    class Producer(OnCpu):
        def __dlpack__(self, **keywords: Any) -> Any:
            calls.append(keywords)
            raise error("got an unexpected keyword argument 'max_version'")

    if take is refarray.inspect:
        found = take(Producer())
        assert [error.__name__ in (each.error or "") for each in found.answers] == [True, True]
        assert found.answers[1].request == "not asked"
    else:
        with pytest.raises(error, match="unexpected keyword"):
            take(Producer())
    assert calls == [FIRST]


@pytest.mark.req("CONS-04")
@run_each("take", [refarray.from_dlpack, refarray.asarray, refarray.inspect])
@run_each("bottom", [TypeError, ValueError, RecursionError])
def test_a_producer_that_calls_its_consumer_is_called_once_a_level(
    take: Any, bottom: type[Exception]
) -> None:
    """Twice a level would be 2**40 calls."""
    calls = 0

    class Producer(OnCpu):
        def __dlpack__(self, **keywords: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 40:
                raise bottom
            return take(self)

    try:
        take(Producer())
    except (bottom, TypeError):
        pass
    else:
        assert take is refarray.inspect
    assert calls == 40


@pytest.mark.req("CONS-04")
def test_endless_reentry_of_inspect_ends() -> None:
    """RecursionError is no part of the report: it would be caught once a level."""
    calls = 0

    class Producer(OnCpu):
        def __dlpack__(self, **keywords: Any) -> Any:
            nonlocal calls
            calls += 1
            refarray.inspect(self)
            return refarray.ones(1).__dlpack__(**keywords)

    with pytest.raises(RecursionError):
        refarray.inspect(Producer())
    assert calls < sys.getrecursionlimit()


@pytest.mark.req("CONS-04")
def test_arguments_that_cython_refuses_are_dropped(adv: Any) -> None:
    """Cython adds an entry to the traceback of a TypeError about arguments, as pyexpat does to that
    of a handler; its code has no variables."""
    calls: list[dict[str, Any]] = []

    class Producer(OnCpu):
        @native_method
        def __dlpack__(self, **keywords: Any) -> Any:
            calls.append(keywords)
            if keywords:
                parser = pyexpat.ParserCreate()
                parser.StartElementHandler = len  # takes one argument and is given two
                parser.Parse(b"<a/>", True)
            return adv.make(data=FLOATS, versioned=False).capsule()

    with pytest.raises(TypeError) as caught:
        Producer().__dlpack__(stream=None)
    assert caught.traceback[-1].frame.code.raw.co_nlocals == 0
    assert refarray.from_dlpack(Producer()).tolist() == VALUES
    assert calls == [{"stream": None}, FIRST, {}]
    assert refarray.inspect(Producer()).shape == (3,)


@pytest.mark.req("CONS-04")
def test_the_first_error_ends_the_context_chain_of_the_second(recorder: Any) -> None:
    """The first TypeError is appended to the context chain of the second error."""
    producer = recorder()
    first = TypeError("first")

    def answer(**keywords: Any) -> Any:
        if len(producer.asked) == 1:
            raise first
        try:
            raise KeyError("inner")
        except KeyError:
            raise OwnError("second")  # noqa: B904

    producer.answer = answer
    with pytest.raises(OwnError, match="second") as caught:
        refarray.from_dlpack(producer)
    inner = caught.value.__context__
    assert isinstance(inner, KeyError)
    assert inner.__context__ is first
    assert first.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.req("CONS-04")
def test_context_chain_of_related_errors_is_acyclic(recorder: Any) -> None:
    """The second error is the first one, or was raised from it."""
    producer = recorder()
    first = TypeError("first")

    def answer(**keywords: Any) -> Any:
        if len(producer.asked) == 1 or same:
            raise first
        raise OwnError("second") from first

    for same in (True, False):
        producer.calls.clear()
        with pytest.raises(TypeError if same else OwnError) as caught:
            producer.answer = answer
            refarray.from_dlpack(producer)
        chain: list[BaseException] = [caught.value]
        while chain[-1].__context__ is not None and len(chain) < 10:
            chain.append(chain[-1].__context__)
        assert chain == ([first] if same else [caught.value, first])


@pytest.mark.req("CONS-04")
@pytest.mark.parametrize(
    "message",
    [
        "__dlpack__() got an unexpected keyword argument 'max_version'",
        "'max_version' is an invalid keyword argument for __dlpack__()",
        "P.__dlpack__() takes no keyword arguments",
        "__dlpack__(): incompatible function arguments. These argument types are supported:",
    ],
)
def test_every_wording_of_an_unknown_keyword_error_is_retried(recorder: Any, message: str) -> None:
    """Interpreters and binding generators use different messages; one retry without keywords."""
    producer = recorder()
    accepted = producer.answer

    def answer(**keywords: Any) -> Any:
        if keywords:
            raise TypeError(message)
        return accepted()

    producer.answer = answer
    assert refarray.from_dlpack(producer).tolist() == VALUES
    assert producer.asked == [FIRST, {}]


# --- errors ---


@pytest.mark.req("DEV-01")
def test_the_cpu_may_lack_an_id(recorder: Any) -> None:
    """Paddle's tensors announce (kDLCPU, None)."""
    assert refarray.from_dlpack(recorder(device=(1, None))).device == refarray.Device("cpu")
