"""Calls that stream capture forbids, and their effect on the capture."""

from __future__ import annotations

import ctypes
from functools import partial

import fakegpu
import pytest
from conftest import Elsewhere, in_thread, kinds
from fakegpu.driving import Cuda, Hip, Number

LEGACY = 1
INVALID_VALUE = 1
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, UNJOINED = 900, 901, 902, 903, 904
ISOLATION, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = 905, 906, 907, 908


def status(cuda: Cuda, stream: int) -> int:
    out = ctypes.c_int(77)
    cuda("cuStreamIsCapturing", stream, out)
    return out.value


def end(cuda: Cuda, stream: int) -> int:
    return cuda.code("cuStreamEndCapture", stream, Number())


@pytest.fixture
def memory(cuda: Cuda) -> int:
    return cuda.memory()


@pytest.fixture
def stream(cuda: Cuda, memory: int) -> int:
    """A capturing stream; `memory` was allocated before."""
    stream = cuda.stream()
    cuda("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
    return stream


def test_captured_work_runs_when_its_graph_is_launched(cuda: Cuda) -> None:
    stream, other, memory = cuda.stream(), cuda.stream(), cuda.memory()
    cuda("cuStreamBeginCapture_v2", stream, GLOBAL)
    cuda.fill(memory, stream, 4)
    graph = Number()
    cuda("cuStreamEndCapture", stream, graph)
    fakegpu.run()
    assert fakegpu.peek(memory, 1) == b"\xcd"
    cuda("cuGraphLaunch", cuda.made("cuGraphInstantiateWithFlags", graph.value, 0), stream)
    cuda.synchronize(stream)
    assert fakegpu.peek(memory, 1) == b"\4"
    cuda("cuGraphLaunch", cuda.made("cuGraphInstantiateWithFlags", graph.value, 0), stream)
    assert not kinds()
    cuda.fill(memory, other)
    assert kinds() == ["race"]  # launched work is ordered like any other


def test_every_capture_has_an_id(cuda: Cuda) -> None:
    ids = []
    for _ in range(2):
        stream, state, number = cuda.stream(), ctypes.c_int(), Number()
        cuda("cuStreamBeginCapture_v2", stream, RELAXED)
        cuda("cuStreamGetCaptureInfo", stream, state, number)
        ids.append(number.value)
        assert state.value == 1
        assert end(cuda, stream) == 0
        assert status(cuda, stream) == 0
    assert ids[0] != ids[1]


def test_an_event_from_outside_invalidates(cuda: Cuda, stream: int) -> None:
    outside, event = cuda.stream(), cuda.event()
    cuda.record(event, outside)
    assert cuda.code("cuStreamWaitEvent", stream, event, 0) == ISOLATION
    assert status(cuda, stream) == 2
    assert end(cuda, stream) == INVALIDATED


def test_an_invalid_capture_takes_no_more_work(cuda: Cuda, stream: int, memory: int) -> None:
    assert cuda.code("cuStreamSynchronize", stream) == UNSUPPORTED
    assert cuda.code("cuMemsetD8Async", memory, 0, 1, stream) == INVALIDATED


def test_a_captured_event_pulls_another_stream_in(cuda: Cuda, stream: int) -> None:
    other, event = cuda.stream(), cuda.event()
    cuda.record(event, stream)
    cuda.wait(other, event)
    assert status(cuda, other) == 1
    cuda.after(stream, other)
    assert end(cuda, stream) == 0
    assert status(cuda, other) == 0


@pytest.mark.parametrize(("joined", "code"), [(False, UNJOINED), (True, 0)])
def test_a_forked_stream_must_be_joined(
    cuda: Cuda, stream: int, memory: int, joined: bool, code: int
) -> None:
    other = cuda.stream()
    cuda.after(other, stream)
    cuda.fill(memory, other)
    if joined:
        cuda.after(stream, other)
    assert end(cuda, stream) == code


def test_a_capture_ends_where_it_began(cuda: Cuda, stream: int) -> None:
    other = cuda.stream()
    cuda.after(other, stream)
    assert end(cuda, other) == UNMATCHED


def test_two_captures_do_not_mix(cuda: Cuda, stream: int) -> None:
    other, event = cuda.stream(), cuda.event()
    cuda("cuStreamBeginCapture_v2", other, THREAD_LOCAL)
    cuda.record(event, other)
    assert cuda.code("cuStreamWaitEvent", stream, event, 0) == MERGE
    assert (status(cuda, stream), status(cuda, other)) == (2, 2)


def test_the_legacy_stream_fails_while_a_blocking_stream_captures(cuda: Cuda) -> None:
    blocking, memory = cuda.stream(0), cuda.memory()
    cuda("cuStreamBeginCapture_v2", blocking, THREAD_LOCAL)
    probe = ctypes.c_int()
    assert cuda.code("cuStreamIsCapturing", LEGACY, probe) == IMPLICIT  # does not invalidate
    assert status(cuda, blocking) == 1
    assert cuda.code("cuMemsetD8Async", memory, 0, 1, LEGACY) == IMPLICIT
    assert status(cuda, blocking) == 2


def test_the_legacy_stream_works_while_a_non_blocking_one_captures(
    cuda: Cuda, stream: int, memory: int
) -> None:
    cuda.fill(memory, LEGACY)
    assert status(cuda, LEGACY) == 0
    assert status(cuda, stream) == 1


def test_the_legacy_stream_does_not_capture(cuda: Cuda) -> None:
    assert cuda.code("cuStreamBeginCapture_v2", LEGACY, GLOBAL) == UNSUPPORTED


def test_an_event_of_an_ended_capture_cannot_be_used(cuda: Cuda, stream: int) -> None:
    event = cuda.event()
    cuda.record(event, stream)
    assert end(cuda, stream) == 0
    assert cuda.code("cuEventQuery", event) == INVALID_VALUE
    assert cuda.code("cuEventSynchronize", event) == INVALID_VALUE
    assert cuda.code("cuStreamWaitEvent", cuda.stream(), event, 0) == INVALID_VALUE


def test_hip_refuses_a_captured_event_without_effect_on_the_capture(hip: Hip) -> None:
    stream, event = hip.stream(), hip.event()
    hip("hipStreamBeginCapture", stream, RELAXED)
    hip.record(event, stream)
    assert hip.code("hipEventQuery", event) == CAPTURED_EVENT
    hip("hipStreamEndCapture", stream, Number())


@pytest.mark.parametrize("call", ["cuMemAlloc_v2", "cuMemHostAlloc"])
def test_an_unsafe_call_invalidates_unless_the_thread_is_relaxed(cuda: Cuda, call: str) -> None:
    stream = cuda.stream()
    cuda("cuStreamBeginCapture_v2", stream, GLOBAL)
    mode = ctypes.c_int(RELAXED)
    cuda("cuThreadExchangeStreamCaptureMode", mode)
    assert mode.value == GLOBAL
    cuda(call, Number(), 64, 0)
    cuda("cuThreadExchangeStreamCaptureMode", mode)
    assert mode.value == RELAXED
    assert status(cuda, stream) == 1
    assert cuda.code(call, Number(), 64, 0) == UNSUPPORTED
    assert status(cuda, stream) == 2


def test_a_relaxed_capture_allows_unsafe_calls(cuda: Cuda) -> None:
    stream = cuda.stream()
    cuda("cuStreamBeginCapture_v2", stream, RELAXED)
    cuda.memory()
    assert status(cuda, stream) == 1


def test_only_a_global_capture_affects_other_threads(cuda: Cuda, elsewhere: Elsewhere) -> None:
    for mode, code in ((GLOBAL, UNSUPPORTED), (THREAD_LOCAL, 0)):
        stream = cuda.stream()
        cuda("cuStreamBeginCapture_v2", stream, mode)
        assert elsewhere(lambda: cuda.code("cuMemAlloc_v2", Number(), 64)) == code
        assert end(cuda, stream) == (INVALIDATED if code else 0)


def test_another_thread_may_end_only_a_relaxed_capture(cuda: Cuda, elsewhere: Elsewhere) -> None:
    for mode, code in ((GLOBAL, WRONG_THREAD), (RELAXED, 0)):
        stream = cuda.stream()
        cuda("cuStreamBeginCapture_v2", stream, mode)
        assert elsewhere(partial(end, cuda, stream)) == code


def test_context_wide_calls_invalidate_captures(cuda: Cuda, stream: int) -> None:
    event = cuda.event()
    assert cuda.code("cuCtxRecordEvent", cuda.contexts[0], event) == UNSUPPORTED
    assert status(cuda, stream) == 2
    assert cuda.code("cuCtxSynchronize") == UNSUPPORTED


def test_memory_allocated_in_a_capture_belongs_to_the_graph(cuda: Cuda, stream: int) -> None:
    inside = cuda.pooled(stream)
    cuda("cuMemFreeAsync", inside, stream)
    assert end(cuda, stream) == 0
    outside, other = cuda.pooled(stream), cuda.stream()
    cuda("cuStreamBeginCapture_v2", other, RELAXED)
    assert cuda.code("cuMemFreeAsync", outside, other) == 1
    assert end(cuda, other) == 0


def test_a_copy_to_pageable_memory_cannot_be_captured(cuda: Cuda, stream: int) -> None:
    own = ctypes.create_string_buffer(256)
    pool = cuda.made("cuDeviceGetMemPool", 0)
    cuda("cuThreadExchangeStreamCaptureMode", ctypes.c_int(RELAXED))
    memory = cuda.made("cuMemAllocFromPoolAsync", 256, pool, LEGACY)
    assert cuda.code("cuMemcpyDtoHAsync_v2", own, memory, 256, stream) == UNSUPPORTED


def test_a_query_of_a_capturing_stream_invalidates(cuda: Cuda, stream: int) -> None:
    assert cuda.code("cuStreamQuery", stream) == UNSUPPORTED
    assert status(cuda, stream) == 2


@pytest.mark.parametrize(
    ("version", "mode", "code"),
    [
        ("6.3", GLOBAL, 0),
        ("7.0", GLOBAL, UNSUPPORTED),
        ("7.0", RELAXED, UNSUPPORTED),
        ("10.0", GLOBAL, UNSUPPORTED),
        ("10.0", RELAXED, 0),
    ],
)
def test_relaxed_mode_does_not_help_event_queries_of_hip_7_0(
    version: str, mode: int, code: int
) -> None:
    """ROCm/rocm-systems#3176: they fail and invalidate the other thread's capture."""
    hip = Hip(fakegpu.load(hip_version=version).hip)
    stream, event = hip.stream(), hip.event()
    hip("hipStreamBeginCapture", stream, GLOBAL)

    def ask() -> list[int]:
        hip("hipThreadExchangeStreamCaptureMode", ctypes.c_int(mode))
        return [hip.code(name, event) for name in ("hipEventQuery", "hipEventSynchronize")]

    assert in_thread(ask) == [code, code]
    assert hip.code("hipStreamEndCapture", stream, Number()) == (INVALIDATED if code else 0)


def test_hip_reports_an_event_of_a_capture_that_is_recorded_again(hip: Hip) -> None:
    """ROCm/rocm-systems#2072. CUDA allows it."""
    stream, event = hip.stream(), hip.event()
    hip("hipStreamBeginCapture", stream, RELAXED)
    hip.record(event, stream)
    hip("hipStreamEndCapture", stream, Number())
    hip.record(event, stream)
    assert kinds() == ["captured-event-recorded"]


def test_cuda_allows_an_event_of_a_capture_to_be_recorded_again(cuda: Cuda, stream: int) -> None:
    event = cuda.event()
    cuda.record(event, stream)
    assert end(cuda, stream) == 0
    cuda.record(event, stream)
    assert fakegpu.violations() == []


def test_pools_are_unsafe_calls_beside_a_capture(cuda: Cuda) -> None:
    other, capturing = cuda.stream(), cuda.stream()
    memory = cuda.pooled(other)
    for name, arguments in (
        ("cuMemAllocAsync", (Number(), 256, other)),
        ("cuMemFreeAsync", (memory, other)),
    ):
        cuda("cuStreamBeginCapture_v2", capturing, GLOBAL)
        assert cuda.code(name, *arguments) == UNSUPPORTED
        assert end(cuda, capturing) == INVALIDATED


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("name", ["cuEventQuery", "cuEventSynchronize"])
def test_asking_a_captured_event_invalidates_in_every_mode(
    cuda: Cuda, name: str, mode: int
) -> None:
    stream, event = cuda.stream(), cuda.event()
    cuda("cuStreamBeginCapture_v2", stream, mode)
    cuda.record(event, stream)
    cuda("cuThreadExchangeStreamCaptureMode", ctypes.c_int(RELAXED))
    assert cuda.code(name, event) == CAPTURED_EVENT
    assert end(cuda, stream) == INVALIDATED
    assert cuda.code(name, event) == 1
    assert cuda.code("cuStreamWaitEvent", cuda.stream(), event, 0) == 1


def test_waiting_for_another_stream_and_trimming_a_pool_are_unsafe(
    cuda: Cuda, elsewhere: Elsewhere
) -> None:
    other, pool = cuda.stream(), cuda.made("cuDeviceGetDefaultMemPool", 0)
    for name, *arguments in (("cuStreamSynchronize", other), ("cuMemPoolTrimTo", pool, 0)):
        call = partial(cuda.code, name, *arguments)
        for enter, mode, code in (
            (lambda body: body(), GLOBAL, UNSUPPORTED),
            (lambda body: body(), THREAD_LOCAL, UNSUPPORTED),
            (lambda body: body(), RELAXED, 0),
            (elsewhere, GLOBAL, UNSUPPORTED),
            (elsewhere, THREAD_LOCAL, 0),
        ):
            stream = cuda.stream()
            cuda("cuStreamBeginCapture_v2", stream, mode)
            assert enter(call) == code
            assert end(cuda, stream) == (INVALIDATED if code else 0)


def test_an_implicit_use_of_the_legacy_stream_is_reported_first(cuda: Cuda) -> None:
    for name, *arguments in (
        ("cuStreamQuery", LEGACY),
        ("cuStreamSynchronize", LEGACY),
        ("cuMemAllocAsync", Number(), 256, LEGACY),
        ("cuMemFreeAsync", cuda.pooled(LEGACY), LEGACY),
    ):
        blocking = cuda.stream(0)
        cuda("cuStreamBeginCapture_v2", blocking, GLOBAL)
        assert cuda.code(name, *arguments) == IMPLICIT
        assert end(cuda, blocking) == INVALIDATED
