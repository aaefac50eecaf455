"""Device objects (names, equality, pickling, misuse), and Array.to_device() without a GPU."""

from __future__ import annotations

import copy
import inspect as signatures
import pickle
from typing import Any

import pytest

import refarray
from refarray import Device

pytestmark = pytest.mark.every_python

# name: (kind, id, DLPack's device type)
DEVICES = {
    "cpu": ("cpu", 0, 1),
    "cuda:0": ("cuda", 0, 2),
    "cuda:7": ("cuda", 7, 2),
    "cuda_host": ("cuda_host", 0, 3),
    "cuda_host:1": ("cuda_host", 1, 3),
    "rocm:0": ("rocm", 0, 10),
    "rocm:2147483647": ("rocm", 2147483647, 10),
    "rocm_host": ("rocm_host", 0, 11),
    "cuda_managed:0": ("cuda_managed", 0, 13),
    **{
        f"{kind}:{number}": (kind, number, code)
        for kind, code in (("cpu", 1), ("cuda", 2), ("rocm_host", 11), ("cuda_managed", 13))
        for number in (1, 9, 10, 127, 2**31 - 1)
    },
}


@pytest.mark.parametrize("name", DEVICES)
def test_a_device(name: str) -> None:
    device = Device(name)
    kind, number, code = DEVICES[name]
    assert (device.kind, device.id, device.dlpack) == (kind, number, (code, number))
    assert type(device.dlpack) is tuple and all(type(part) is int for part in device.dlpack)
    assert str(device) == name and repr(device) == f"refarray.Device({name!r})"
    assert eval(repr(device), {"refarray": refarray}) == device
    assert device == name and name == device and (device != name) is False
    assert hash(device) == hash(name) == hash(Device(name))
    assert Device(device) == device and Device(name=name) == device
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(device, protocol))
        assert again == device and type(again) is Device
    assert copy.copy(device) == device and copy.deepcopy([device]) == [device]


@pytest.mark.parametrize(
    ("short", "name"), [("cuda", "cuda:0"), ("rocm", "rocm:0"), ("cuda_managed", "cuda_managed:0"),
                        ("cpu:0", "cpu"), ("cuda_host:0", "cuda_host")]
)  # fmt: skip
def test_a_name_without_a_number_means_device_0(short: str, name: str) -> None:
    assert Device(short) == Device(name) == name
    assert Device(short) == short and Device(short) != f"{short}:7"
    assert hash(Device(short)) == hash(name)  # of the full name


def test_hip_is_rocm() -> None:
    assert Device("hip") == Device("rocm:0") == "hip:0" and str(Device("hip:3")) == "rocm:3"
    for name in ("hip:", "hip:x", "hipper", "hip:0:0"):
        with pytest.raises(ValueError, match="no device is named"):
            Device(name)


def test_equality_is_by_value() -> None:
    devices = [Device(name) for name in DEVICES]
    for i, one in enumerate(devices):
        for j, other in enumerate(devices):
            assert (one == other) is (i == j) and (one != other) is (i != j)
    for other in (None, 1, (1, 0), object(), b"cpu", refarray.DType("int8")):
        assert (Device("cpu") == other) is False and (Device("cpu") != other) is True


UNKNOWN = [
    "", "CPU", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:00", "cuda:1.0", "cuda: 1", "cpu:x",
    "cuda:2147483648", "mps", "cuda:0:0", "unknown:0", "cpu\0", "c" * 10_000, ":", ":0", "cpu ",
    " cpu", "cuda:1 ", "cuda:01", "cuda:0x1", "cuda:1:2", "cuda:a", "cuda:99999999999999999999",
    "cuda0", "cudahost", "cuda_", "cuda-host", "cpu:0.0", "rocm:1\n",
]  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN, ids=range(len(UNKNOWN)))
def test_an_unknown_name_is_a_value_error_that_quotes_it(name: str) -> None:
    with pytest.raises(ValueError, match="no device is named") as caught:
        Device(name)
    assert repr(name)[:60] in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("wrong", [None, 1, (1, 0), b"cpu", ["cpu"], object(), Device])
def test_other_types_are_a_type_error_that_names_the_type(wrong: object) -> None:
    with pytest.raises(TypeError, match=f"device must be .*, not {type(wrong).__name__}"):
        Device(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("args", "keywords"),
    [((), {}), (("cpu", "cpu"), {}), (("cpu",), {"name": "cpu"}), ((), {"device": "cpu"})],
)
def test_wrong_arguments(args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="Device"):
        Device(*args, **keywords)


def test_devices_are_unordered_final_and_immutable() -> None:
    with pytest.raises(TypeError, match="not supported between"):
        sorted([Device("cpu"), Device("cuda:0")])  # type: ignore[type-var]
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Mine", (Device,), {})
    with pytest.raises(TypeError, match="immutable"):
        Device.kind = "mine"  # type: ignore[misc]
    for attribute in ("kind", "id", "dlpack", "mine"):
        with pytest.raises(AttributeError):
            setattr(Device("cpu"), attribute, 1)


def test_signature_and_docstrings() -> None:
    assert Device.__module__ == "refarray" and Device.__qualname__ == "Device"
    assert str(signatures.signature(Device)) == "(name)"
    assert "Array API" in (Device.__doc__ or "")
    for attribute in ("kind", "id", "dlpack"):
        assert getattr(Device, attribute).__doc__


def test_cpu_arrays_share_one_device_object() -> None:
    array = refarray.zeros((1,))
    assert array.device is refarray.zeros((2,)).device is Device("cpu")
    assert array.device == "cpu"


# Array.device and Array.to_device().


def test_to_its_own_device_shares_the_memory() -> None:
    array = refarray.asarray([1, 2, 3])
    for same in (
        array.to_device("cpu"),
        array.to_device(Device("cpu"), stream=None),
        refarray.to_device(array, array.device),
    ):
        assert same is not array
        same[0] = 7
        assert array.tolist() == [7, 2, 3]
        array[0] = 1
    assert array.as_readonly().to_device("cpu").readonly


@pytest.mark.parametrize("name", [name for name in DEVICES if name != "cpu"])
def test_an_unusable_device_is_a_buffer_error(name: str) -> None:
    array = refarray.zeros((2,))
    for move in (
        lambda: array.to_device(name),
        lambda: refarray.to_device(array, Device(name)),
        lambda: array.astype("float64", device=name),
        lambda: array.astype("int8", copy=False, device=name),
    ):
        with pytest.raises(BufferError, match=f"device {name} (cannot be used|does not exist)"):
            move()


@pytest.mark.req("AAPI-04")
@pytest.mark.parametrize(
    ("stream", "error"),
    [*((stream, ValueError) for stream in (-1, 0, 1, 2, 2**40, 2**70)),
     ("0", TypeError), (1.0, TypeError), (True, TypeError)],
)  # fmt: skip
def test_the_cpu_has_no_streams(stream: Any, error: type[Exception]) -> None:
    array = refarray.zeros((2,))
    with pytest.raises(error, match="stream"):
        array.to_device("cpu", stream=stream)
    with pytest.raises(error, match="stream"):
        refarray.to_device(array, "cpu", stream=stream)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to_device(),
        lambda x: x.to_device("cpu", None),
        lambda x: x.to_device(device="cpu"),
        lambda x: x.to_device(None),
        lambda x: x.to_device(1),
        lambda x: refarray.to_device(x),
        lambda x: refarray.to_device([1], "cpu"),
        lambda x: refarray.to_device("cpu", x),
    ],
)
def test_wrong_calls_of_to_device(call: Any) -> None:
    with pytest.raises(TypeError):
        call(refarray.zeros((2,)))


@pytest.mark.req("DEV-04")
def test_pinned_memory_copies_to_the_cpu(adv: Any) -> None:
    pinned = refarray.from_capsule(adv.make(device=(3, 0), shape=(2, 3)).capsule())
    assert pinned.device == "cuda_host"
    for there in (pinned.to_device("cpu"), pinned.copy(), pinned.astype("float32")):
        assert there.device == "cpu" and not there.readonly and there.is_contiguous()
        assert there.tolist() == pinned.tolist()
        there[0, 0] = 9.0
        assert pinned[0, 0].item() != 9.0
    assert pinned.to_device("cuda_host").device == "cuda_host"
    assert pinned.astype(pinned.dtype, copy=False) is pinned
