"""Virtual devices: only their namespace reads their arrays; each has dtypes and defaults."""

from __future__ import annotations

import contextlib
import operator
import pickle
from typing import Any

import pytest
from helpers.cases import run_each

import refarray

pytestmark = pytest.mark.every_python

STANDARD = tuple(refarray.__array_namespace_info__().dtypes().values())
WIDE = (refarray.float64, refarray.complex128)
GPU = refarray.VirtualDevice("gpu")
NO_64 = refarray.VirtualDevice(
    "no64",
    id=1,
    dtypes=[each for each in STANDARD if each not in (*WIDE, refarray.int64, refarray.uint64)],
)
CPU = refarray.Device("cpu")
xp: Any = refarray.namespace(strict=True, devices=[GPU, NO_64])


def test_results_are_on_the_device() -> None:
    x = xp.ones((2, 3), device=GPU)
    results = [x, x + x, x + 1.0, x[0, ...], x.T, xp.sum(x), xp.concat([x, x]), xp.zeros_like(x)]
    results += [xp.linalg.matrix_norm(x), xp.fft.rfft(x), *xp.nonzero(x), xp.unique_all(x).counts]
    assert [each.device for each in results] == [GPU] * len(results)
    assert float(xp.sum(x)) == 6.0
    assert x.__array_namespace__() is xp


@run_each(
    "call",
    [
        memoryview,
        lambda x: x.__array__(),
        lambda x: x.__dlpack__(),
        lambda x: x.__dlpack__(dl_device=(12, 0)),
        lambda x: x.__dlpack__(dl_device=(1, 0), copy=False),
        refarray.asarray,
        refarray.from_dlpack,
        lambda x: xp.from_dlpack(x, device=CPU, copy=False),
    ],
)
def test_nobody_else_reads_the_memory(call: Any) -> None:
    x = xp.ones(3, device=GPU)
    with pytest.raises((BufferError, TypeError, ValueError), match="gpu|kDLExtDev|copies"):
        call(x)


def test_dlpack_copies_to_the_host() -> None:
    x = xp.asarray([1.0, 2.0], device=GPU)
    assert x.__dlpack_device__() == (refarray.DLDeviceType.kDLExtDev, 0)
    host = refarray.from_dlpack(x, device="cpu")
    x[...] = 0.0
    assert host.tolist() == [1.0, 2.0]


def test_transfers_copy() -> None:
    host = xp.asarray([1.0, 2.0])
    moved = host.to_device(GPU)
    again = xp.from_dlpack(moved, device=CPU)
    named = xp.asarray(moved, device=CPU)
    assert (moved.device, again.device, named.device) == (GPU, CPU, CPU)
    assert moved.to_device(GPU) is moved
    moved[...] = 0.0
    for each in (host, again, named):
        assert list(map(float, each)) == [1.0, 2.0]


def test_memory_of_others_is_copied() -> None:
    owner = bytearray(b"\x01\x02")
    x = xp.asarray(memoryview(owner), device=GPU)
    owner[0] = 9
    assert int(x[0]) == 1
    with pytest.raises(refarray.NoCopyError, match="gpu"):
        xp.asarray(memoryview(owner), device=GPU, copy=False)


@pytest.mark.parametrize("act", [operator.add, operator.eq, xp.add, operator.iadd])
def test_devices_do_not_mix(act: Any) -> None:
    with pytest.raises(ValueError, match=r"(?=.*gpu)(?=.*cpu).*to_device"):
        act(xp.ones(3, device=GPU), xp.ones(3))


def test_setitem_does_not_transfer() -> None:
    x = xp.ones(3, device=GPU)
    with pytest.raises(ValueError, match=r"gpu.*to_device|cpu.*to_device"):
        x[...] = xp.ones(3)


def test_defaults_and_dtypes() -> None:
    made = [
        (xp.zeros(3, device=NO_64), xp.float32),
        (xp.asarray([1, 2], device=NO_64), xp.int32),
        (xp.asarray([1j], device=NO_64), xp.complex64),
        (xp.linspace(0, 1, 3, device=NO_64), xp.float32),
        (xp.argmax(xp.asarray([1, 2], device=NO_64)), xp.int32),
        (xp.sum(xp.asarray([1, 2], dtype=xp.int8, device=NO_64)), xp.int32),
        (xp.sum(xp.asarray([1, 2], dtype=xp.uint8, device=NO_64)), xp.uint32),
        (xp.unique_counts(xp.ones(3, device=NO_64)).values, xp.float32),
        (xp.unique_counts(xp.ones(3, device=NO_64)).counts, xp.int32),
        (xp.fft.fftfreq(3, device=NO_64), xp.float32),
        (xp.astype(xp.zeros(3), xp.float32, device=NO_64), xp.float32),
    ]
    assert [each.dtype for each, _ in made] == [dtype for _, dtype in made]
    assert {each.device for each, _ in made} == {NO_64}


@pytest.mark.parametrize(
    "call",
    [
        lambda: xp.zeros(3, dtype=xp.float64, device=NO_64),
        lambda: xp.astype(xp.zeros(3, device=NO_64), xp.int64),
        lambda: xp.zeros(3).to_device(NO_64),
        lambda: xp.asarray(xp.zeros(3), device=NO_64),
    ],
)
def test_missing_dtypes(call: Any) -> None:
    with pytest.raises(ValueError, match=r"no64.* has no (float64|int64)"):
        call()


def test_values_beyond_the_default_dtype() -> None:
    with pytest.raises(OverflowError):
        xp.asarray([2**40], device=NO_64)


def test_info() -> None:
    info = xp.__array_namespace_info__()
    assert info.devices() == (CPU, GPU, NO_64)
    assert info.default_device() == CPU
    assert info.default_dtypes(device=NO_64)["integral"] == xp.int32
    assert "float64" not in info.dtypes(device=NO_64, kind="real floating")
    with pytest.raises(ValueError, match="no device"):
        info.dtypes(device="gpu")


@run_each("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    for device in (GPU, CPU):
        x = xp.asarray([0.0, 1.0], device=device)
        y = pickle.loads(pickle.dumps(xp.flip(x), protocol=protocol))
        assert (y.device, y.__array_namespace__(), float(y[0])) == (device, xp, 1.0)
    assert pickle.loads(pickle.dumps(NO_64)) == NO_64


def test_unknown_devices() -> None:
    other = refarray.VirtualDevice("other", id=7)
    for device in (other, "gpu", [], 1):
        with pytest.raises(ValueError, match=r"no device .*VirtualDevice\('gpu'\)"):
            xp.zeros(3, device=device)
        with pytest.raises(ValueError, match="no device"):
            xp.zeros(3).to_device(device)
    with pytest.raises(ValueError, match="stream"):
        xp.zeros(3).to_device(GPU, stream=1)


@run_each(
    ("arguments", "error"),
    [
        ({"name": ""}, TypeError),
        ({"name": "a", "id": -1}, ValueError),
        ({"name": "a", "dtypes": [refarray.float16]}, ValueError),
        ({"name": "a", "default_dtypes": {"real": refarray.float32}}, ValueError),
        ({"name": "a", "default_dtypes": {"integral": refarray.float32}}, ValueError),
    ],
)
def test_bad_devices(arguments: Any, error: Any) -> None:
    with pytest.raises(error):
        refarray.VirtualDevice(**arguments)


@run_each(
    ("arguments", "error"),
    [
        ({"devices": ["gpu"]}, TypeError),
        ({"devices": [GPU, GPU]}, ValueError),
        ({"devices": [GPU, refarray.VirtualDevice("b")]}, ValueError),
        ({"extensions": ["random"]}, ValueError),
        ({"extensions": "fft"}, TypeError),
        ({"default_dtypes": {"real floating": refarray.int8}}, ValueError),
    ],
)
def test_bad_arguments(arguments: Any, error: Any) -> None:
    with pytest.raises(error):
        refarray.namespace(**arguments)


def test_default_dtypes_of_a_namespace() -> None:
    narrow: Any = refarray.namespace(default_dtypes={"real floating": refarray.float32})
    assert narrow.ones(3).dtype == narrow.asarray([1.5]).dtype == refarray.float32
    assert narrow.asarray(refarray.ones(3)).dtype == refarray.float64
    assert narrow.__array_namespace_info__().default_dtypes()["real floating"] == refarray.float32
    assert pickle.loads(pickle.dumps(narrow)) is narrow


def test_extensions() -> None:
    space: Any = refarray.namespace(extensions=["linalg"])
    assert not hasattr(space, "fft")
    assert space.linalg.det(space.eye(2)).tolist() == 1.0
    assert refarray.namespace(extensions=["fft", "linalg"]) is refarray


@run_each("base", [list, tuple])
@run_each("method", ["__len__", "__getitem__", "__iter__", "__bool__", "__eq__"])
def test_functions_pass_on_what_a_method_of_an_argument_raises(base: Any, method: str) -> None:
    def fail(self: Any, *_: Any) -> Any:
        raise ZeroDivisionError(method)

    x = xp.ones((2, 3), device=GPU)
    arrays = type("Hostile", (base,), {method: fail})([x, x])
    numbers = type("Hostile", (base,), {method: fail})([0, 1])
    calls = [
        lambda: xp.concat(arrays),
        lambda: xp.stack(arrays),
        lambda: xp.broadcast_arrays(*arrays[:]),
        lambda: xp.meshgrid(arrays),
        lambda: xp.sum(x, axis=numbers),
        lambda: xp.permute_dims(x, numbers),
        lambda: xp.isdtype(xp.float64, numbers),
        lambda: xp.tensordot(x, x, axes=numbers),
        lambda: xp.asarray(numbers, device=GPU),
    ]
    for call in calls:
        with contextlib.suppress(ZeroDivisionError, TypeError, ValueError):
            call()  # never SystemError: "returned a result with an exception set"
