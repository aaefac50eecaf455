"""C exchange API: every function of refarray's exchange table, called from C++, and with NULL
pointers."""

from __future__ import annotations

import ctypes
import gc
import struct
from typing import Any

import pytest
from native.corpus import FLOATS
from native.producers import Recorder

import refarray
from refarray import _native

VALUES = [0.0, 1.0, 2.0]
MEMBERS = ("allocator", "from_py", "to_py", "dltensor", "stream")


@pytest.fixture
def api(adv: Any) -> Any:
    return adv.api(refarray.Array)


# --- our table ---


@pytest.mark.req("CAPI-01", "CAPI-02", "CAPI-03", "CAPI-05", "CAPI-06", "CAPI-07")
def test_table_is_on_the_type_and_complete(adv: Any, api: Any) -> None:
    """The capsule on the type has the standard name; the table has version 1.3, all functions and a
    constant address."""
    members = api.members()
    assert (members["version"], members["prev_api"]) == ((1, 3), False)
    assert all(members[name] for name in MEMBERS)
    x = refarray.zeros(3)
    assert "__dlpack_c_exchange_api__" in vars(refarray.Array)
    assert x.__dlpack_c_exchange_api__ is refarray.Array.__dlpack_c_exchange_api__
    gc.collect()
    assert adv.api(refarray.Array).members()["address"] == members["address"]
    shown = _native._inspect_exchange_api(refarray.Array)
    assert (tuple(shown["version"]), bool(shown["prev_api"])) == ((1, 3), False)
    assert all(shown["functions"].values()) and len(shown["functions"]) == 5
    with pytest.raises((TypeError, AttributeError)):
        refarray.Array.__dlpack_c_exchange_api__ = None


@pytest.mark.req("CAPI-03")
def test_other_classes_of_the_metaclass_have_no_table() -> None:
    """With the limited API, a metaclass provides Array's table and must not provide it to other
    classes. Otherwise the metaclass is `type`, and the same holds."""
    made: Any = type(refarray.Array)("Made", (), {})
    assert hasattr(refarray.Array, "__dlpack_c_exchange_api__")
    assert not hasattr(made, "__dlpack_c_exchange_api__")
    with pytest.raises(AttributeError, match="__dlpack_c_exchange_api__"):
        made.__dlpack_c_exchange_api__  # noqa: B018
    with pytest.raises(AttributeError, match="__dlpack__"):
        refarray.from_dlpack(made())
    assert _native._inspect_exchange_api(made) is None


@pytest.mark.req("CAPI-09", "CAPI-11", "CAPI-14", "VERS-01", "FLAG-02")
@pytest.mark.parametrize("readonly", [False, True])
def test_from_py_exports_a_view(api: Any, readonly: bool) -> None:
    """An owning versioned tensor that shares memory, carries the read-only flag and outlives x."""
    x = refarray.reshape(refarray.arange(6, dtype=refarray.float32), (2, 3))
    x = refarray.permute_dims(x, (1, 0))
    x = x.as_readonly() if readonly else x
    owned = api.from_py(x)
    fields = owned.fields()
    assert (fields["version"], fields["flags"], fields["device"]) == ((1, 3), int(readonly), (1, 0))
    assert (fields["shape"], fields["strides"], fields["dtype"]) == ((3, 2), (1, 3), (2, 32, 1))
    assert fields["deleter"]
    del x
    assert owned.read(24) == struct.pack("6f", *range(6))
    owned.drop_in_thread(True)


@pytest.mark.req("CAPI-11", "CAPI-14", "TENS-03", "TENS-06")
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1)])
def test_from_py_of_empty_and_0d_arrays(api: Any, shape: tuple[int, ...]) -> None:
    fields = api.from_py(refarray.zeros(shape)).fields()
    assert ((fields["shape"] or ()), fields["ndim"]) == (shape, len(shape))
    assert fields["strides"] is not None or shape == ()
    assert (fields["data"] == 0) == (0 in shape)


@pytest.mark.req("CAPI-13", "CAPI-09")
@pytest.mark.parametrize(
    "thing", [1, None, "x", object(), refarray.float32, [1.0], Recorder(lambda: None)]
)
def test_export_functions_reject_other_types(api: Any, thing: Any) -> None:
    """Both export functions raise TypeError."""
    for function in (api.from_py, api.dltensor):
        with pytest.raises(TypeError):
            function(thing)


@pytest.mark.req("CAPI-11", "DTYPE-09")
def test_export_functions_refuse_layouts_inside_a_byte(api: Any) -> None:
    inside = refarray.zeros((4, 4), dtype="float4_e2m1fn")[:, 1:]
    for function in (api.from_py, api.dltensor):
        with pytest.raises(BufferError):
            function(inside)


@pytest.mark.req("CAPI-11", "CAPI-15")
@pytest.mark.parametrize("mode", ["strict", "immutable", "lazy", "poison_views"])
def test_export_functions_refuse_virtual_devices(api: Any, mode: str) -> None:
    """C code may ask the table for an array of any type of ours."""
    device = refarray.VirtualDevice("gpu")
    x = refarray.namespace(devices=[device], **{mode: True}).zeros(3, device=device)
    for function in (api.from_py, api.dltensor):
        with pytest.raises(BufferError, match="'gpu'"):
            function(x)


@pytest.mark.req("CAPI-15", "CAPI-16")
def test_dltensor_borrows_the_array(adv: Any, api: Any) -> None:
    """Data, shape and strides are the array's own. DLTensor has no flags, so read-only and padded
    arrays are refused (A-37)."""
    x = refarray.reshape(refarray.arange(6, dtype=refarray.int16), (2, 3))[:, ::-1]
    first, second = api.dltensor(x), api.dltensor(x)
    assert first == second
    assert (first["shape"], first["strides"], first["dtype"]) == ((2, 3), (3, -1), (0, 16, 1))
    assert first["data"] + first["byte_offset"] == adv.inspect(x.__dlpack__())["data"]
    with pytest.raises(BufferError):
        api.dltensor(x.as_readonly())
    with pytest.raises(BufferError):  # no flag for padding either
        api.dltensor(refarray.zeros(3, dtype="float4_e2m1fn_padded"))


@pytest.mark.req("CAPI-17", "CAPI-14", "LIFE-03")
def test_to_py_takes_ownership(adv: Any, api: Any) -> None:
    """The result is a refarray.Array; the deleter runs when its last view dies."""
    tensor = adv.make(data=FLOATS, flags=1)
    array = api.to_py(tensor)
    assert type(array) is refarray.Array
    assert (array.tolist(), array.readonly, tensor.deleter_calls) == (VALUES, True, 0)
    view = array[1:]
    del array
    assert tensor.deleter_calls == 0
    del view
    assert tensor.deleter_calls == 1


@pytest.mark.req("CAPI-17", "TENS-19")
def test_from_py_and_to_py_share_memory(api: Any) -> None:
    x = refarray.arange(4, dtype=refarray.int64)
    y = api.to_py(api.from_py(x))
    y[0] = 9
    assert (x.tolist(), y.tolist()) == ([9, 1, 2, 3], [9, 1, 2, 3])


@pytest.mark.req("CAPI-26", "CAPI-27")
def test_work_stream_of_the_cpu_is_null(api: Any) -> None:
    """The output is written. Devices without streams and unknown devices raise ValueError
    (A-27)."""
    assert api.stream(1, 0) == 0
    for device in ((99, 0), (-1, 0), (0, 0), (2**31 - 1, 0), (4, 0)):
        with pytest.raises((ValueError, BufferError)):
            api.stream(*device)


# --- the allocator ---


@pytest.mark.req("CAPI-20", "CAPI-21", "CAPI-22", "CAPI-23", "TENS-02")
@pytest.mark.parametrize("thread", [False, True], ids=["here", "thread"])
def test_allocator_makes_compact_writable_tensors(
    adv: Any, api: Any, forked: Any, thread: bool
) -> None:
    """It reads dtype, ndim, shape and device only, and works on threads without the GIL."""

    def body() -> None:
        prototype = adv.make(
            shape=(2, 3), strides=0xDEAD0008, data=0xDEAD0000, byte_offset=2**64 - 1, guarded=True
        )
        code, owned, errors = api.allocate(prototype, thread=thread)
        assert (code, errors) == (0, [])
        fields = owned.fields()
        assert (fields["version"], fields["flags"], fields["device"]) == ((1, 3), 0, (1, 0))
        assert (fields["shape"], fields["strides"], fields["dtype"]) == ((2, 3), (3, 1), (2, 32, 1))
        assert fields["data"] % 256 == 0 and fields["data"] != 0 and fields["deleter"]
        owned.write(bytes(24))
        array = api.to_py(owned)
        assert (array.tolist(), array.readonly) == ([[0.0] * 3] * 2, False)

    forked(body)  # a deadlock over the GIL, which this thread holds, would time out
    body()


@pytest.mark.req("CAPI-20", "TENS-03")
def test_allocator_of_empty_and_0d_tensors(adv: Any, api: Any) -> None:
    for shape, data in (((), True), ((0,), False), ((3, 0, 2), False), ((1,) * 64, True)):
        code, owned, errors = api.allocate(adv.make(shape=shape, data=None))
        assert (code, errors) == (0, [])
        assert (owned.fields()["shape"] or ()) == shape
        assert (owned.fields()["data"] != 0) is data
    code, owned, errors = api.allocate(adv.make(shape=None, ndim=0))
    assert (code, errors) == (0, [])


# --- bad arguments ---


OFFSETS = {"allocator": 16, "from_py": 24, "to_py": 32, "dltensor": 40, "stream": 48}
POINTER, INT = ctypes.c_void_p, ctypes.c_int


def function(adv: Any, name: str, *kinds: Any) -> Any:
    """PYFUNCTYPE keeps the GIL and raises the exception that the function sets."""
    address = adv.api(refarray.Array).members()["address"] + OFFSETS[name]
    pointer = ctypes.c_void_p.from_address(address).value
    return ctypes.PYFUNCTYPE(INT, *kinds)(pointer)


@pytest.mark.req("CAPI-09", "CAPI-11")
def test_null_output_raises(adv: Any) -> None:
    x = refarray.zeros(3)
    with pytest.raises(ValueError, match="out is NULL"):
        function(adv, "from_py", ctypes.py_object, POINTER)(x, None)
    with pytest.raises(ValueError, match="out is NULL"):
        function(adv, "to_py", POINTER, POINTER)(None, None)
    with pytest.raises(ValueError, match="out is NULL"):
        function(adv, "dltensor", ctypes.py_object, POINTER)(x, None)
    with pytest.raises(ValueError, match="out is NULL"):
        function(adv, "stream", INT, INT, POINTER)(1, 0, None)


@pytest.mark.req("CAPI-09", "CAPI-13")
def test_null_input_raises(adv: Any) -> None:
    """On failure the output is set to NULL (A-32)."""
    out = ctypes.c_void_p(0xDEAD0008)
    with pytest.raises(TypeError, match="not None"):
        function(adv, "from_py", POINTER, POINTER)(None, ctypes.addressof(out))
    assert out.value is None
    out.value = 0xDEAD0008
    with pytest.raises(ValueError, match="tensor is NULL"):
        function(adv, "to_py", POINTER, POINTER)(None, ctypes.addressof(out))
    assert out.value is None
    dltensor = (ctypes.c_uint64 * 6)()
    with pytest.raises(TypeError, match="not None"):
        function(adv, "dltensor", POINTER, POINTER)(None, ctypes.addressof(dltensor))


@pytest.mark.req("CAPI-09", "CAPI-18")
def test_interpreter_without_the_package_raises(adv: Any) -> None:
    """RuntimeError, because there is no array type; the caller still owns the tensor."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    api.PyInterpreterState_GetDict.argtypes = [ctypes.c_void_p]
    api.PyInterpreterState_GetDict.restype = ctypes.py_object
    known = api.PyInterpreterState_GetDict(api.PyInterpreterState_Get())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(known))  # GetDict returned a borrowed reference
    tensor = adv.make(data=bytes(16))
    module = known.pop("refarray._native")
    try:
        with pytest.raises(RuntimeError, match="not been imported in this interpreter"):
            adv.api(refarray.Array).to_py(tensor)
    finally:
        known["refarray._native"] = module
    assert tensor.deleter_calls == 0
    tensor.delete()
    assert adv.api(refarray.Array).to_py(adv.make(data=bytes(16))).shape == (3,)
