"""Contexts, handles and devices: calls in a wrong context or in none, handles of destroyed objects,
and peer copies that name the wrong device. Each mistake once, and the correct call beside it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import partial

import fakegpu
import pytest
from conftest import Elsewhere, Gpu, in_thread, kinds
from fakegpu.driving import NON_BLOCKING, Cuda, Hip, Number

GLOBAL, RELAXED = 0, 2
NO_CONTEXT, DESTROYED, BAD_HANDLE, UNSUPPORTED = 201, 709, 400, 900


class Objects:
    """One of each, in device 0's context; `calls` are legal while it is current."""

    def __init__(self, cuda: Cuda) -> None:
        stream, event, timed = cuda.stream(), cuda.event(), cuda.event(0)
        memory, other = cuda.memory(), cuda.memory()
        increment = cuda.kernel("fakegpu_increment")
        module = cuda.made("cuModuleLoadData", b".version 6.0")
        cuda.record(timed, stream)
        cuda.synchronize(stream)
        number, small, contexts = Number(), ctypes.c_int(), cuda.contexts
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
        call = partial(partial, cuda.code)
        self.calls: dict[str, Callable[[], int]] = {
            "cuEventRecord": call("cuEventRecord", event, stream),
            "cuEventSynchronize": call("cuEventSynchronize", event),
            "cuEventElapsedTime": call("cuEventElapsedTime", ctypes.c_float(), timed, timed),
            "cuStreamWaitEvent": call("cuStreamWaitEvent", stream, event, 0),
            "cuStreamSynchronize": call("cuStreamSynchronize", stream),
            "cuStreamQuery": call("cuStreamQuery", stream),
            "cuStreamGetDevice": call("cuStreamGetDevice", stream, small),
            "cuStreamGetCtx": call("cuStreamGetCtx", stream, number),
            "cuMemsetD8Async": call("cuMemsetD8Async", memory, 1, 8, stream),
            "cuMemcpyAsync": call("cuMemcpyAsync", other, memory, 8, stream),
            "cuMemcpyPeerAsync": call(
                "cuMemcpyPeerAsync", other, contexts[0], memory, contexts[0], 8, stream
            ),
            "cuModuleGetFunction": call("cuModuleGetFunction", number, module, b"fakegpu_copy"),
            "cuLaunchKernel": partial(
                cuda.launch_code, increment, stream, [memory.to_bytes(8, "little"), bytes(8)]
            ),
            "cuLaunchHostFunc": call("cuLaunchHostFunc", stream, function, None),
            "cuCtxSynchronize": call("cuCtxSynchronize"),
            "cuMemFree": call("cuMemFree_v2", memory),
            "cuModuleUnload": call("cuModuleUnload", module),
            "cuEventDestroy": call("cuEventDestroy_v2", event),
            "cuStreamDestroy": call("cuStreamDestroy_v2", stream),
        }
        self.kept = function


def test_calls_need_a_current_context(each_cuda: Cuda) -> None:
    objects = Objects(each_cuda)
    each_cuda("cuCtxPopCurrent_v2", Number())
    assert {name: call() for name, call in objects.calls.items()} == dict.fromkeys(
        objects.calls, NO_CONTEXT
    )
    each_cuda("cuCtxPushCurrent_v2", each_cuda.contexts[0])
    assert {name: call() for name, call in objects.calls.items()} == dict.fromkeys(objects.calls, 0)
    assert not kinds()


def test_some_calls_need_no_context(each_cuda: Cuda) -> None:
    stream, event, memory = each_cuda.stream(), each_cuda.event(), each_cuda.memory()
    host = each_cuda.pinned()
    each_cuda.record(event, stream)
    each_cuda.synchronize(stream)
    each_cuda("cuCtxPopCurrent_v2", Number())
    each_cuda("cuMemFreeHost", host)
    each_cuda("cuEventQuery", event)
    each_cuda("cuStreamIsCapturing", stream, ctypes.c_int())
    each_cuda("cuPointerGetAttribute", ctypes.c_uint(), 2, memory)
    each_cuda("cuThreadExchangeStreamCaptureMode", ctypes.c_int(RELAXED))
    each_cuda("cuDevicePrimaryCtxGetState", 0, ctypes.c_uint(), ctypes.c_int())


def test_a_thread_starts_without_a_context(each_cuda: Cuda) -> None:
    stream = each_cuda.stream()

    def use() -> list[int]:
        synchronize = partial(each_cuda.code, "cuStreamSynchronize", stream)
        return [
            synchronize(),
            each_cuda.code("cuCtxSetCurrent", each_cuda.contexts[0]),
            synchronize(),
        ]

    assert in_thread(use) == [NO_CONTEXT, 0, 0]


def test_a_destroyed_context_stays_current_to_other_threads(each_cuda: Cuda) -> None:
    context = each_cuda.made("cuCtxCreate_v2", 0, 0)
    stream, codes = each_cuda.stream(), []
    destroyed, current = threading.Event(), threading.Event()

    def use() -> None:
        each_cuda("cuCtxSetCurrent", context)
        current.set()
        assert destroyed.wait(60)
        codes.append(each_cuda.code("cuStreamQuery", stream))
        each_cuda.use(0)
        codes.append(each_cuda.code("cuStreamQuery", each_cuda.stream()))

    thread = threading.Thread(target=use)
    thread.start()
    assert current.wait(60)
    each_cuda("cuCtxDestroy_v2", context)
    destroyed.set()
    thread.join()
    assert codes == [DESTROYED, 0]


def test_a_primary_context_that_is_reset_keeps_its_handle(each_cuda: Cuda) -> None:
    cuda, event, memory = each_cuda, each_cuda.event(), each_cuda.memory()
    allocate = partial(cuda.code, "cuMemAlloc_v2", Number(), 64)
    cuda("cuDevicePrimaryCtxReset_v2", 0)
    assert cuda.made("cuCtxGetCurrent") == cuda.contexts[0]
    assert cuda.code("cuCtxPushCurrent_v2", cuda.contexts[0]) == 0
    assert [allocate(), cuda.code("cuMemFree_v2", memory)] == [DESTROYED] * 2
    assert cuda.code("cuMemFreeAsync", memory, 1) == DESTROYED
    assert cuda.code("cuCtxSynchronize") == DESTROYED
    assert cuda.made("cuDevicePrimaryCtxRetain", 0) == cuda.contexts[0]
    assert allocate() == 0
    assert cuda.code("cuStreamQuery", cuda.stream()) == 0
    assert not kinds()
    assert cuda.code("cuEventQuery", event) == DESTROYED
    assert kinds() == ["bad-handle"]


def test_work_of_another_context_is_allowed_except_launches(each: Gpu) -> None:
    stream, memory = each.stream(), each.memory()
    increment, event = each.kernel("fakegpu_increment"), each.event()
    values = [memory.to_bytes(8, "little"), bytes(8)]
    each.use(1)
    each.fill(memory, stream)
    each.record(event, stream)
    each.wait(each.stream(), event)
    each.synchronize(stream)
    assert not kinds()
    for launching in (stream, each.stream()):
        assert each.launch_code(increment, launching, values) == BAD_HANDLE
    assert kinds() == ["wrong-device-launch"] * 2
    each.use(0)
    assert each.launch_code(increment, stream, values) == 0


def test_events_of_two_devices_have_no_time_between_them(each: Gpu) -> None:
    times = []
    for device in (0, 1):
        each.use(device)
        event, stream = each.event(0), each.stream()
        each.record(event, stream)
        each.synchronize(stream)
        times.append(event)
    elapsed = partial(each.code, f"{each.prefix}EventElapsedTime", ctypes.c_float())
    assert elapsed(times[0], times[1]) == BAD_HANDLE
    assert elapsed(times[1], times[1]) == 0


def test_an_event_is_recorded_on_its_own_device(each: Gpu) -> None:
    event, near = each.event(), each.stream()
    each.use(1)
    record = partial(each.code, f"{each.prefix}EventRecord", event)
    assert record(each.stream()) == BAD_HANDLE
    assert kinds() == ["wrong-device-record"]
    assert record(near) == 0


class Pair:
    """Memory on two devices, and a copy between them that names them in one of two orders."""

    def __init__(self, each: Gpu) -> None:
        self.each, self.far, self.stream = each, each.memory(), each.stream()
        each.use(1)
        self.near = each.memory()
        each.use(0)

    def copy(self, to: int, source: int) -> int:
        """The status of copying from `far` (device 0) to `near` (device 1)."""
        cuda = isinstance(self.each, Cuda)
        names = self.each.contexts if isinstance(self.each, Cuda) else [0, 1]
        return self.each.code(
            "cuMemcpyPeerAsync" if cuda else "hipMemcpyPeerAsync",
            *(self.near, names[to], self.far, names[source], 256, self.stream),
        )


@pytest.mark.parametrize(("to", "source"), [(1, 0), (0, 1), (0, 0), (1, 1)])
def test_a_peer_copy_names_the_devices_of_the_memory(each: Gpu, to: int, source: int) -> None:
    is_right = (to, source) == (1, 0)
    assert Pair(each).copy(to, source) == (0 if is_right else 1)
    assert kinds() == ([] if is_right else ["wrong-device-copy"])


def destroy(each: Gpu, what: str, handle: int) -> None:
    each(f"{each.prefix}{what}Destroy" + ("_v2" if each.prefix == "cu" else ""), handle)


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("what", ["Stream", "Event"])
def test_the_next_object_gets_the_handle_if_configured(each: Gpu, what: str, reuse: bool) -> None:
    fakegpu.configure(reuse=reuse)
    make = each.stream if what == "Stream" else each.event
    first, other = make(), make()
    destroy(each, what, first)
    second = make()
    assert (second == first) == reuse
    assert second != other
    assert each.code(f"{each.prefix}{what}Query", second) == 0
    assert [item["handle"] for item in fakegpu.live(what.lower())] == [other, second]


def test_a_reused_handle_is_another_stream(each: Gpu) -> None:
    """A program that knows streams by their handles takes the second one for the first."""
    fakegpu.configure(reuse=True)
    first, memory = each.stream(), each.memory()
    each.fill(memory, first)
    destroy(each, "Stream", first)
    second = each.stream()
    assert second == first
    each.fill(memory, second)
    assert kinds() == ["race"]


def test_a_reused_handle_has_an_id_of_its_own(each_cuda: Cuda) -> None:
    fakegpu.configure(reuse=True)
    ids = []
    for _ in range(2):
        stream, number = each_cuda.stream(), Number()
        each_cuda("cuStreamGetId", stream, number)
        ids.append((stream, number.value))
        destroy(each_cuda, "Stream", stream)
    assert ids[0][0] == ids[1][0] and ids[0][1] != ids[1][1]


def test_a_reused_event_has_not_been_recorded(each: Gpu) -> None:
    fakegpu.configure(reuse=True)
    producer, consumer, memory, event = each.stream(), each.stream(), each.memory(), each.event()
    each.fill(memory, producer)
    each.record(event, producer)
    destroy(each, "Event", event)
    assert each.event() == event
    each.wait(consumer, event)
    each.fill(memory, consumer)
    assert kinds() == ["race"]


@pytest.mark.parametrize("name", ["cuEventQuery", "cuEventSynchronize", "cuStreamQuery"])
def test_the_host_may_not_look_while_a_capture_affects_it(each_cuda: Cuda, name: str) -> None:
    cuda, capturing, stream, event = each_cuda, each_cuda.stream(), each_cuda.stream(), None
    event = cuda.event()
    look = partial(cuda.code, name, stream if name == "cuStreamQuery" else event)
    cuda("cuStreamBeginCapture_v2", capturing, GLOBAL)
    mode = ctypes.c_int(RELAXED)
    cuda("cuThreadExchangeStreamCaptureMode", mode)
    assert look() == 0
    cuda("cuThreadExchangeStreamCaptureMode", mode)
    assert look() == UNSUPPORTED
    state = ctypes.c_int()
    cuda("cuStreamIsCapturing", capturing, state)
    assert state.value == 2


@pytest.mark.parametrize("name", ["hipEventQuery", "hipEventSynchronize"])
def test_hip_refuses_to_look_from_7_on(each_hip: Hip, name: str) -> None:
    said, stream, event = ctypes.c_int(), each_hip.stream(), each_hip.event()
    each_hip("hipRuntimeGetVersion", said)
    each_hip("hipStreamBeginCapture", stream, GLOBAL)
    refused = said.value >= 70_000_000
    assert each_hip.code(name, event) == (UNSUPPORTED if refused else 0)
    assert each_hip.code("hipStreamSynchronize", stream) == (901 if refused else UNSUPPORTED)


def test_an_external_wait_is_for_captures_only(each: Gpu) -> None:
    stream, outside, event = each.stream(), each.stream(), each.event()
    each.record(event, outside)
    wait = partial(each.code, f"{each.prefix}StreamWaitEvent", stream, event)
    assert [wait(0), wait(1), wait(2)] == [0, 1, 1]


def test_only_a_global_capture_stops_other_threads_from_looking(
    cuda: Cuda, elsewhere: Elsewhere
) -> None:
    for mode, code in ((GLOBAL, UNSUPPORTED), (1, 0)):
        event = cuda.event()
        cuda("cuStreamBeginCapture_v2", cuda.stream(), mode)
        assert elsewhere(partial(cuda.code, "cuEventSynchronize", event)) == code
        fakegpu.restart()
        cuda = Cuda(fakegpu.Drivers.here().cuda)


def test_a_destroyed_context_must_not_be_used(cuda: Cuda) -> None:
    """NVIDIA's driver 580 aborts the process; it may be asked for its id."""
    context = cuda.made("cuCtxCreate_v2", 0, 0)
    cuda("cuCtxDestroy_v2", context)
    assert cuda.code("cuCtxGetId", context, Number()) == DESTROYED
    assert not kinds()
    assert cuda.code("cuCtxPushCurrent_v2", context) == NO_CONTEXT
    assert kinds() == ["bad-handle"]


def test_an_event_of_a_context_covers_destroyed_streams(cuda: Cuda) -> None:
    """cuCtxRecordEvent captures all activities of the context, and destroyed streams' work runs."""
    gone, other, memory = cuda.stream(), cuda.stream(), cuda.memory()
    cuda.fill(memory, gone)
    cuda("cuStreamDestroy_v2", gone)
    event = cuda.event()
    cuda("cuCtxRecordEvent", cuda.contexts[0], event)
    cuda.wait(other, event)
    cuda.fill(memory, other, 8)
    assert fakegpu.violations() == []
    cuda.fill(memory, cuda.stream(), 9)  # has not waited
    assert kinds() == ["race"]


class Green:
    """A green context, with a stream and the context to make current."""

    def __init__(self, cuda: Cuda) -> None:
        resource = (ctypes.c_int * 64)()
        cuda("cuDeviceGetDevResource", 0, resource, 1)
        self.handle = cuda.made(
            "cuGreenCtxCreate", cuda.made("cuDevResourceGenerateDesc", resource, 1), 0, 1
        )
        self.context = cuda.made("cuCtxFromGreenCtx", self.handle)
        self.stream = cuda.made("cuGreenCtxStreamCreate", self.handle, NON_BLOCKING, 0)


@pytest.fixture
def green(cuda: Cuda) -> Green:
    return Green(cuda)


def test_a_green_context_is_current_to_one_thread_at_a_time(
    cuda: Cuda, green: Green, elsewhere: Elsewhere
) -> None:
    push = partial(cuda.code, "cuCtxPushCurrent_v2", green.context)
    assert push() == 0
    assert push() == 0  # in the same thread
    assert elsewhere(push) == NO_CONTEXT
    assert kinds() == ["green-context"]
    fakegpu.reset()
    for _ in range(2):
        cuda("cuCtxPopCurrent_v2", Number())
    assert elsewhere(push) == 0
    assert push() == NO_CONTEXT  # the other thread has ended with it
    assert kinds() == ["green-context"]


def test_a_green_context_is_part_of_the_primary_one(cuda: Cuda, green: Green) -> None:
    """An event of the primary context covers it, and may be recorded in it. Not the reverse."""
    memory, other, event = cuda.memory(), cuda.stream(), cuda.event()
    cuda.fill(memory, green.stream)
    cuda("cuCtxRecordEvent", cuda.contexts[0], event)
    cuda.wait(other, event)
    cuda.fill(memory, other, 8)
    cuda.record(event, green.stream)
    cuda("cuGreenCtxRecordEvent", green.handle, event)
    cuda.wait(green.stream, event)
    assert not kinds()
    cuda.fill(memory, green.stream, 9)  # has waited for itself only
    assert kinds() == ["race"]


def test_what_the_driver_says_of_a_green_contexts_stream(cuda: Cuda, green: Green) -> None:
    context, handle = Number(), Number()
    cuda("cuStreamGetCtx_v2", green.stream, context, handle)
    assert (context.value, handle.value) == (cuda.contexts[0], green.handle)
    cuda("cuStreamGetCtx_v2", cuda.stream(), context, handle)
    assert (context.value, handle.value) == (cuda.contexts[0], 0)
    for name, stream, said in (
        ("cuStreamGetCtx", green.stream, green.context),
        ("cuStreamGetGreenCtx", green.stream, green.handle),
        ("cuStreamGetGreenCtx", cuda.stream(), 0),
    ):
        cuda(name, stream, handle)
        assert handle.value == said


def test_a_green_context_has_to_be_converted(cuda: Cuda, green: Green) -> None:
    assert cuda.code("cuCtxPushCurrent_v2", green.handle) == NO_CONTEXT
    assert cuda.code("cuCtxDestroy_v2", green.context) == NO_CONTEXT
    assert cuda.code("cuGreenCtxDestroy", green.context) == NO_CONTEXT
    cuda("cuStreamDestroy_v2", green.stream)
    cuda("cuGreenCtxDestroy", green.handle)
    assert not kinds()
    assert cuda.code("cuCtxPushCurrent_v2", green.context) == NO_CONTEXT
    assert kinds() == ["bad-handle"]
