"""Verification of answers: refarray checks what a producer delivered instead of trusting it."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import run_each
from native.corpus import FLOATS
from native.producers import Recorder, check_independent

import refarray

VALUES = [0.0, 1.0, 2.0]
FIRST = {"max_version": (1, 3)}


@pytest.mark.req("FLAG-05", "COPY-05")
def test_copy_true_answered_with_a_copy_is_not_copied_again(recorder: Any) -> None:
    producer = recorder(flags=2)
    array = refarray.from_dlpack(producer, copy=True)
    assert (array.tolist(), producer.tensors[0].deleter_calls) == (VALUES, 0)
    array[0] = 5.0
    assert producer.tensors[0].bytes()[:4] != FLOATS[:4]


@pytest.mark.req("COPY-05")
def test_views_that_may_be_poisoned_take_no_copy_of_a_producer(recorder: Any) -> None:
    """Poison would be written into memory that somebody else made."""
    xp: Any = refarray.namespace(poison_views=True)
    producer = recorder(flags=2)
    array = xp.from_dlpack(producer, copy=True)
    assert array.tolist() == VALUES
    check_independent(array, producer.tensors[0])


@pytest.mark.parametrize("copy", [None, True, False])
def test_unavailable_device_raises(recorder: Any, copy: Any) -> None:
    """Without a driver only the host is available, for foreign producers and refarray's arrays."""
    for device in ("cuda", "cuda:0", "rocm:1"):
        with pytest.raises(BufferError):
            refarray.from_dlpack(recorder(), device=device, copy=copy)
        with pytest.raises(BufferError):
            refarray.from_dlpack(refarray.zeros(3), device=device, copy=copy)


@pytest.mark.req("COPY-03", "DEV-07")
def test_gpu_producer_may_deliver_cpu_memory(adv: Any) -> None:
    """device="cpu" is passed on as dl_device, even for an unavailable device; without a stream."""
    tensor = adv.make(data=FLOATS, flags=2)
    producer = Recorder(lambda **_: tensor.capsule(), device=(2, 0))
    assert refarray.from_dlpack(producer, device="cpu").tolist() == VALUES
    assert producer.asked == [{**FIRST, "dl_device": (1, 0)}]


@pytest.mark.req("VERS-08")
@run_each("asked", [{}, {"max_version": (1, 0)}, {"max_version": (0, 8)}])
@run_each("versioned", [True, False])
def test_answers_of_any_version_are_accepted(
    recorder: Any, asked: dict[str, Any], versioned: bool
) -> None:
    """A producer may ignore max_version: the capsule's name decides."""
    assert refarray.from_dlpack(recorder(versioned=versioned), **asked).tolist() == VALUES


@pytest.mark.req("CONS-05")
@run_each("answer", [None, 0, 12345, "dltensor", object(), b""])
def test_answer_that_is_not_a_capsule_raises(recorder: Any, answer: Any) -> None:
    """Row 33: the TypeError names the producer's type; __dlpack__ is not called again."""
    producer = recorder()
    producer.answer = lambda **_: answer
    with pytest.raises(TypeError, match="Recorder"):
        refarray.from_dlpack(producer)
    assert len(producer.asked) == 1


# --- pinned memory ---


@pytest.mark.req("PROD-04", "PROD-11")
@pytest.mark.parametrize("kind", [3, 11])
def test_pinned_memory_is_only_copied_to_the_cpu(adv: Any, kind: int) -> None:
    """Without a driver pinned memory cannot be allocated; no copy elsewhere was requested."""
    x = refarray.from_dlpack(adv.make(data=FLOATS, device=(kind, 0)))
    with pytest.raises(BufferError, match=r"copy=True needs memory.*dl_device=\(1, 0\)"):
        x.__dlpack__(max_version=(1, 3), copy=True)
    found = adv.inspect(x.__dlpack__(max_version=(1, 3), copy=True, dl_device=(1, 0)))
    assert (found["device"], found["flags"]) == ((1, 0), 2)


@pytest.mark.req("COPY-10")
@pytest.mark.parametrize("copy", [None, False])
def test_requested_pinned_memory_that_is_not_delivered_raises(recorder: Any, copy: Any) -> None:
    producer = recorder(device=(1, 0))
    with pytest.raises(BufferError, match="cuda_host .*asked for, but.* delivered cpu"):
        refarray.from_dlpack(producer, device="cuda_host", copy=copy)
    assert producer.asked[0]["dl_device"] == (3, 0)
    assert producer.tensors[0].deleter_calls == 1


@pytest.mark.req("COPY-02", "COPY-03", "DEV-09")
def test_own_pinned_array_is_imported_as_cpu_on_request(adv: Any) -> None:
    x = refarray.from_dlpack(adv.make(data=FLOATS, device=(3, 0)))
    y = refarray.from_dlpack(x, device="cpu")
    assert (str(x.device), str(y.device), y.tolist()) == ("cuda_host", "cpu", VALUES)
    assert str(refarray.from_dlpack(x, max_version=(1, 0)).device) == "cuda_host"
    assert str(refarray.from_dlpack(x, device="cuda_host").device) == "cuda_host"
    y[0] = 9.0
    assert x.tolist() == [9.0, 1.0, 2.0]
