"""The driver libraries: versions, symbols, injected faults, handles, processes."""

from __future__ import annotations

import ctypes
import json
import os
import signal
from pathlib import Path

import fakegpu
import pytest
from conftest import kinds, script
from fakegpu.driving import Cuda, Driver, Hip, Number

LEGACY_STREAM, PER_THREAD_STREAM = 1, 2  # flags of cuGetProcAddress


def address(cuda: Driver, name: str, version: int, flags: int = LEGACY_STREAM) -> int | None:
    out = ctypes.c_void_p()
    cuda("cuGetProcAddress_v2", name.encode(), out, version, flags, ctypes.c_int())
    return out.value


@pytest.mark.parametrize("version", fakegpu.CUDA_VERSIONS)
def test_a_cuda_driver_has_the_symbols_of_its_version(version: int) -> None:
    library = Driver(fakegpu.load(cuda_version=version).cuda)
    said = ctypes.c_int()
    library("cuDriverGetVersion", said)
    assert said.value == version
    assert hasattr(library.library, "cuGetProcAddress_v2") == (version >= 12000)
    out = ctypes.c_void_p()
    code = library.code("cuGetProcAddress", b"cuCtxRecordEvent", out, 13000, LEGACY_STREAM)
    assert (code, bool(out.value)) == ((0, True) if version >= 12050 else (500, False))


def test_a_symbol_is_resolved_in_the_requested_version(cuda: Cuda) -> None:
    fakegpu.configure(cuda_version=13000)
    assert address(cuda, "cuCtxSynchronize", 2000) != address(cuda, "cuCtxSynchronize", 13000)
    infos = {address(cuda, "cuStreamGetCaptureInfo", v) for v in (10010, 11030, 12030)}
    assert len(infos) == 3
    assert (
        address(cuda, "cuMemAlloc", 3020)
        == ctypes.cast(cuda.library.cuMemAlloc_v2, ctypes.c_void_p).value
    )
    assert address(cuda, "cuStreamGetDevice", 12000) is None
    assert cuda.code("cuGetProcAddress_v2", b"cuNoSuch", ctypes.c_void_p(), 13000, 1, None) == 500


@pytest.mark.parametrize("driver", [each for each in fakegpu.CUDA_VERSIONS if each >= 12000])
def test_every_function_of_the_driver_api_is_found_in_its_version(cuda: Cuda, driver: int) -> None:
    fakegpu.configure(cuda_version=driver)
    listed = fakegpu.Drivers.here().cuda.parents[1] / "functions.txt"
    rows = listed.read_text(encoding="utf-8").splitlines()
    assert len(rows) > 450
    for name, *versions in map(str.split, rows):
        for version in map(int, versions):
            found = address(cuda, name, version) is not None
            assert found == (int(versions[0]) <= min(version, driver)), (name, version)


def test_a_function_that_is_not_simulated_is_not_supported(cuda: Cuda) -> None:
    fakegpu.reset()
    assert cuda.code("cuTexRefCreate", Number()) == 801
    assert [call["result"] for call in fakegpu.trace("cuTexRefCreate")] == [801]
    # cuCtxCreate of CUDA 12.5 has one argument more than the simulated one.
    assert address(cuda, "cuCtxCreate", 12050) != address(cuda, "cuCtxCreate", 3020)
    assert cuda.code("cuCtxCreate_v4", Number(), None, 0, 0) == 801
    assert not kinds()


@pytest.mark.parametrize("name", ["cuMemAlloc", "cuStreamDestroy", "cuCtxPushCurrent"])
def test_an_unsuffixed_name_of_an_old_abi_aborts(name: str) -> None:
    done = script(f"Driver(drivers.cuda).library.{name}(None, 1)\n")
    assert done.returncode == -signal.SIGABRT
    assert name in done.stderr


def test_an_old_version_of_a_name_aborts_as_well() -> None:
    body = (
        "cuda, out = Cuda(drivers.cuda), ctypes.c_void_p()\n"
        "cuda('cuGetProcAddress_v2', b'cuMemFree', out, 2000, 1, ctypes.c_int())\n"
        "ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint)(out.value)(0)\n"
    )
    assert script(body).returncode == -signal.SIGABRT


def test_the_null_stream_of_a_ptsz_function_is_the_per_thread_stream(cuda: Cuda) -> None:
    memory = cuda.memory()
    kind = ctypes.CFUNCTYPE(ctypes.c_int, Number, ctypes.c_ubyte, Number, Number)
    fill = kind(address(cuda, "cuMemsetD8Async", 3020, PER_THREAD_STREAM) or 0)
    assert fill(memory, 1, 256, 0) == 0
    other = cuda.stream()
    cuda.after(other, 2)
    cuda.fill(memory, other)
    assert not kinds()


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_there_are_as_many_devices_as_configured(devices: int) -> None:
    cuda = Cuda(fakegpu.load(cuda=devices).cuda)
    assert len(cuda.contexts) == len(set(cuda.contexts)) == devices
    assert cuda.code("cuDeviceGet", ctypes.c_int(), devices) == 101
    assert cuda.code("cuDeviceGet", ctypes.c_int(), -1 % 2**32) == 101


def test_every_attribute_of_a_device_has_a_value(cuda: Cuda) -> None:
    value = ctypes.c_int(-1)
    for attribute in range(1, 148):
        cuda("cuDeviceGetAttribute", value, attribute, 0)
        assert value.value >= 0
    assert cuda.code("cuDeviceGetAttribute", value, 148, 0) == 1


def test_both_drivers_report_that_there_is_no_device() -> None:
    drivers = fakegpu.load(cuda=0, hip=0)
    cuda, hip, count = Driver(drivers.cuda), Driver(drivers.hip), ctypes.c_int(77)
    assert cuda.code("cuInit", 0) == 100
    assert cuda.code("cuDeviceGetCount", count) == 3
    assert hip.code("hipInit", 0) == 101
    assert hip.code("hipGetDeviceCount", count) == 100 and count.value == 0
    assert hip.code("hipMalloc", Number(), 64) == 101


def test_nothing_works_before_cuinit() -> None:
    cuda = Driver(fakegpu.load().cuda)
    assert cuda.code("cuDeviceGetCount", ctypes.c_int()) == 3
    cuda("cuInit", 0)
    cuda("cuDeviceGetCount", ctypes.c_int())
    assert cuda.code("cuMemAlloc_v2", Number(), 64) == 201  # no current context


def test_a_stub_returns_34_and_writes_nothing() -> None:
    cuda, name = Driver(fakegpu.load(stub=True).cuda), Number(77)
    assert cuda.code("cuInit", 0) == 34
    assert cuda.code("cuGetErrorName", 34, name) == 34
    assert name.value == 77


def test_only_the_kth_call_fails(cuda: Cuda) -> None:
    fakegpu.fail("cuEventCreate", 2, 999)
    assert [cuda.code("cuEventCreate", Number(), 2) for _ in range(3)] == [0, 999, 0]
    assert [record.get("injected", False) for record in fakegpu.trace("cuEventCreate")] == [
        False,
        True,
        False,
    ]


def test_a_fault_can_target_any_function(cuda: Cuda) -> None:
    fakegpu.reset()
    cuda.event()
    cuda.stream()
    assert fakegpu.calls() == 2 and fakegpu.calls("cuEventCreate") == 1
    fakegpu.fail("*", 2, 2)
    cuda.event()
    assert cuda.code("cuStreamCreate", Number(), 1) == 2


def test_a_failed_call_has_no_effect_except_a_release(cuda: Cuda) -> None:
    stream, memory = cuda.stream(), cuda.memory()
    fakegpu.fail("cuMemsetD8Async", 1, 1)
    assert cuda.code("cuMemsetD8Async", memory, 1, 256, stream) == 1
    assert fakegpu.peek(memory, 1) == b"\xcd"
    fakegpu.fail("cuMemFree", 1, 1)
    assert cuda.code("cuMemFree_v2", memory) == 1
    assert not fakegpu.live("memory")


def test_an_illegal_address_makes_all_later_calls_fail(cuda: Cuda) -> None:
    fakegpu.fail("cuStreamSynchronize", 1, 700)
    stream = cuda.stream()
    assert cuda.code("cuStreamSynchronize", stream) == 700
    assert cuda.code("cuStreamQuery", stream) == 700
    fakegpu.reset()
    assert cuda.code("cuStreamQuery", stream) == 0


def test_stale_and_foreign_handles_are_detected(cuda: Cuda) -> None:
    stream, event = cuda.stream(), cuda.event()
    hip = Hip(fakegpu.Drivers.here().hip)
    assert hip.code("hipStreamQuery", stream) == 709
    cuda("cuStreamDestroy_v2", stream)
    cuda("cuEventDestroy_v2", event)
    assert cuda.code("cuStreamQuery", stream) == 400  # a real driver crashes
    assert cuda.code("cuEventQuery", event) == 709
    assert cuda.code("cuStreamQuery", 0x1234) == 400  # likewise
    assert kinds() == ["bad-handle"] * 4


def test_bad_handles_crash_if_configured() -> None:
    body = "cuda = Cuda(drivers.cuda)\nfakegpu.configure(crash_on_bad_handle=True)\n"
    assert script(body + "cuda.synchronize(0x1234)\n").returncode == -signal.SIGSEGV


def test_a_kernel_runs_in_its_stream(cuda: Cuda) -> None:
    stream, memory = cuda.stream(), cuda.memory()
    increment = cuda.kernel("fakegpu_increment")
    cuda.fill(memory, stream, 0)
    cuda.launch(increment, stream, memory, 2)
    cuda.launch(increment, stream, memory, 1)
    cuda.synchronize(stream)
    assert fakegpu.peek(memory, 12) == b"\2\0\0\0\1\0\0\0\0\0\0\0"
    module = cuda.made("cuModuleLoadData", b".version 6.0")
    assert cuda.code("cuModuleGetFunction", Number(), module, b"no_such_kernel") == 500


def test_a_host_function_runs_in_its_stream_and_may_not_call_the_driver(cuda: Cuda) -> None:
    stream, codes = cuda.stream(), []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    function = kind(lambda _: codes.append(cuda.code("cuStreamQuery", stream)))
    fakegpu.hold(stream)
    cuda("cuLaunchHostFunc", stream, function, None)
    assert not codes
    fakegpu.run()
    assert codes == [800]
    assert kinds() == ["call-in-host-function"]


def test_a_primary_context_is_shared_until_it_is_released(cuda: Cuda) -> None:
    assert cuda.made("cuDevicePrimaryCtxRetain", 0) == cuda.contexts[0]
    stream = cuda.stream()
    cuda("cuDevicePrimaryCtxRelease_v2", 0)
    cuda("cuStreamQuery", stream)
    cuda("cuDevicePrimaryCtxRelease_v2", 0)
    assert cuda.code("cuStreamQuery", stream) == 709


def test_each_thread_has_a_context_stack(cuda: Cuda) -> None:
    device, popped = ctypes.c_int(), Number()
    cuda("cuCtxPushCurrent_v2", cuda.contexts[1])
    cuda("cuCtxGetDevice", device)
    assert device.value == 1
    cuda("cuCtxPopCurrent_v2", popped)
    cuda("cuCtxGetDevice", device)
    assert (popped.value, device.value) == (cuda.contexts[1], 0)


def test_every_call_fails_in_a_forked_child(cuda: Cuda) -> None:
    stream = cuda.stream()
    child = os.fork()
    if child == 0:
        codes = [cuda.code("cuStreamQuery", stream), cuda.code("cuInit", 0)]
        os._exit(0 if codes == [3, 3] and fakegpu.calls_after_fork() == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert fakegpu.calls_after_fork() == 0
    cuda.synchronize(stream)


def test_every_call_fails_after_deinitialize(cuda: Cuda) -> None:
    memory = cuda.memory()
    fakegpu.deinitialize()
    assert cuda.code("cuMemFree_v2", memory) == 4
    fakegpu.restart()


def test_a_process_can_exit_with_held_work() -> None:
    body = (
        "cuda = Cuda(drivers.cuda)\nstream = cuda.stream()\nfakegpu.hold(stream)\n"
        "cuda.fill(cuda.memory(), stream)\n"
    )
    assert script(body).returncode == 0


def test_pools_and_managed_memory_can_be_disabled() -> None:
    cuda = Cuda(fakegpu.load(pools=False, managed=False).cuda)
    has = ctypes.c_int(77)
    cuda("cuDeviceGetAttribute", has, 115, 0)
    assert has.value == 0
    assert cuda.code("cuMemAllocAsync", Number(), 64, cuda.stream()) == 801
    assert cuda.code("cuMemAllocManaged", Number(), 64, 1) == 801


@pytest.mark.parametrize("version", fakegpu.HIP_VERSIONS)
def test_hip_numbers_memory_types_by_version(version: str) -> None:
    hip = Hip(fakegpu.load(hip_version=version, hip=2).hip)
    said = ctypes.c_int()
    hip("hipRuntimeGetVersion", said)
    assert said.value // 10_000_000 == int(version.partition(".")[0])
    modern = said.value >= 60_000_000
    answer = ctypes.create_string_buffer(32)
    for name, arguments, old, new in (
        ("hipHostMalloc", [64, 0], 0, 1),
        ("hipMalloc", [64], 1, 2),
        ("hipMallocManaged", [64, 1], 3, 3),
    ):
        hip("hipPointerGetAttributes", answer, hip.made(name, *arguments))
        assert int.from_bytes(answer.raw[:4], "little") == (new if modern else old)
    code = hip.code("hipPointerGetAttributes", answer, ctypes.addressof(answer))
    assert code == (0 if said.value >= 70_000_000 else 1)


def test_hip_5_lacks_later_functions() -> None:
    old = Driver(fakegpu.load(hip_version="5.2").hip).library
    new = Driver(fakegpu.Drivers.here(hip_version="6.3").hip).library
    for name in ("hipGetProcAddress", "hipLaunchHostFunc", "hipStreamGetDevice"):
        assert not hasattr(old, name) and hasattr(new, name)
    assert hasattr(old, "hipMallocAsync")


def test_hip_dereferences_the_value_1() -> None:
    body = "Hip(drivers.hip).code('hipStreamQuery', 1)\n"
    assert script(body).returncode == -signal.SIGSEGV
    hip = Hip(fakegpu.load(hip_crash_on_one=False).hip)
    assert hip.code("hipStreamQuery", 1) == 400
    assert kinds() == ["hip-stream-one"]


def test_hip_does_not_wait_if_the_recording_stream_is_destroyed(hip: Hip) -> None:
    producer, consumer, memory = hip.stream(), hip.stream(), hip.memory()
    event = hip.event()
    hip.fill(memory, producer)
    hip.record(event, producer)
    hip("hipStreamDestroy", producer)
    hip.wait(consumer, event)
    hip.fill(memory, consumer)
    assert kinds() == ["race"]


def test_hip_free_waits_for_the_device(hip: Hip) -> None:
    memory = hip.memory()
    hip.fill(memory, hip.stream())
    hip("hipFree", memory)
    assert not kinds()
    assert hip.code("hipMalloc", Number(77), 0) == 0


def test_a_trace_line_names_the_caller_and_the_objects(cuda: Cuda, tmp_path: Path) -> None:
    stream, memory = cuda.stream(), cuda.memory()
    with fakegpu.label("here"):
        cuda.fill(memory, stream)
    [record] = fakegpu.trace("cuMemsetD8Async")
    assert record["stream"] == stream and record["pointer"] == memory
    assert record["bytes"] == 256 and record["device"] == 0 and record["result"] == 0
    assert record["vendor"] == "cuda" and record["label"] == "here" and record["thread"] > 0
    assert "ffi" in record["caller"]  # the library, or its function in _ctypes
    fakegpu.write_trace(tmp_path / "trace.jsonl")
    lines = (tmp_path / "trace.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == fakegpu.trace()
    fakegpu.reset()
    assert fakegpu.trace() == []
