"""Rare exchanges: pinned memory, table-only producers, tampered capsules, int-like arguments."""

from __future__ import annotations

import ctypes
import enum
import struct
from typing import Any

import pytest
from native.corpus import FLOATS

import refarray
from refarray import _native

VALUES = [0.0, 1.0, 2.0]


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


@pytest.mark.req("CAPI-28")
@pytest.mark.parametrize("dtype", [(2, 32, 1), (5, 64, 1)])
def test_type_with_only_an_exchange_table(adv: Any, dtype: Any) -> None:
    """Also complex data, which is imported through the methods where they exist."""

    class Only:
        __dlpack_c_exchange_api__ = adv.table().capsule()

        @property
        def tensor(self) -> Any:
            return adv.make(dtype=dtype, shape=(2,), data=FLOATS)

    class Meta(type):
        __dlpack_c_exchange_api__ = Only.__dlpack_c_exchange_api__

    class OfMeta(metaclass=Meta):
        tensor = Only.tensor

    for thing in (Only(), Only(), OfMeta()):
        found = refarray.from_dlpack(thing).tolist()
        assert found == ([0.0, 1.0] if dtype[0] == 2 else [1j, 2 + 3j])


@pytest.mark.req("LIFE-08")
@pytest.mark.parametrize("versioned", [True, False])
def test_capsule_destructor_deletes_a_replaced_tensor(adv: Any, versioned: bool) -> None:
    """Someone replaced the pointer in our capsule: that tensor's deleter is called, once, and a
    pending exception stays pending."""
    set_pointer = ctypes.pythonapi.PyCapsule_SetPointer
    set_pointer.argtypes, set_pointer.restype = [ctypes.py_object, ctypes.c_void_p], ctypes.c_int
    x = refarray.arange(3)
    capsule = x.__dlpack__(max_version=(1, 3) if versioned else None)
    ours = adv.inspect(capsule)["managed"]
    tensor = adv.make(data=FLOATS, versioned=versioned)
    theirs = tensor.capsule()
    assert set_pointer(capsule, adv.inspect(theirs)["managed"]) == 0
    adv.rename(theirs, "used_dltensor_versioned" if versioned else "used_dltensor")
    pending = KeyError("pending")
    capsules = [capsule]
    del capsule
    assert adv.drop_pending(capsules, pending) is pending
    assert tensor.deleter_calls == 1
    size = 8 if versioned else 48  # offset of manager_ctx; the deleter follows it
    deleter = ctypes.c_void_p.from_address(ours + size + 8).value
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(ours)
    assert x.tolist() == [0, 1, 2]


class OneEnum(enum.IntEnum):
    ONE = 1


class IntLike:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_versions_and_devices_may_be_int_like(adv: Any) -> None:
    """VERS-10: anything with __index__ is an int, in __dlpack__ and from_dlpack."""
    x = refarray.zeros(3)
    for major in (OneEnum.ONE, IntLike(1), True):
        found = adv.inspect(x.__dlpack__(max_version=(major, IntLike(0))))
        assert found["version"] == (1, 3)
    found = adv.inspect(x.__dlpack__(dl_device=(OneEnum.ONE, IntLike(0))))
    assert found["device"] == (1, 0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(IntLike(2), 0))
    for stream in (OneEnum.ONE, IntLike(1)):
        with pytest.raises(ValueError, match="stream"):
            x.__dlpack__(stream=stream)


def test_int_subclasses_are_ints() -> None:
    for x in (
        refarray.asarray(OneEnum.ONE),
        refarray.full((), OneEnum.ONE),
        refarray.asarray([OneEnum.ONE])[0],
    ):
        assert (x.dtype, x.tolist()) == ("int64", 1)


def test_get_buffer_with_a_null_view_raises() -> None:
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    with pytest.raises(BufferError, match="to be filled in is NULL"):
        get(refarray.zeros(3), None, 0)


def test_noop_returns_its_argument() -> None:
    thing = object()
    assert _native._noop(thing) is thing


@pytest.mark.parametrize("first", [-3, 2**64 - 2])
def test_arange_of_uint64_does_not_wrap_around(first: int) -> None:
    """A value that does not fit raises."""
    stop = first + 6
    if first >= 0:
        with pytest.raises((OverflowError, ValueError)):
            refarray.arange(first, stop, dtype="uint64")
        assert refarray.arange(first, 2**64, dtype="uint64").tolist() == [first, first + 1]
    else:
        with pytest.raises((OverflowError, ValueError)):
            refarray.arange(first, stop, dtype="uint64")


def test_export_of_complex_vector_elements(adv: Any) -> None:
    """DTYPE-04 with lanes: two complex numbers per element."""
    x = refarray.zeros((2,), dtype="complex64x2")
    owned = adv.take(x.__dlpack__(max_version=(1, 3)))
    owned.write(struct.pack("8f", *range(8)))
    assert struct.unpack("8f", owned.read(32)) == tuple(map(float, range(8)))
    assert owned.fields()["dtype"] == (5, 64, 2)
