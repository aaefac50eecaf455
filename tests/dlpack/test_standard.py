"""Requirements on producers and consumers that no other test covers, one per test."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import struct
import types
from typing import Any

import pytest
from helpers.cases import run_each
from hypothesis import given, settings
from hypothesis import strategies as st
from native.corpus import FLOATS, FP4
from native.producers import Recorder, table_only
from oracles.switches import run_together

import refarray

NEW = {"max_version": (1, 3)}


@pytest.mark.req("ABI-05")
def test_strides_are_in_elements_and_extents_are_64_bit(adv: Any) -> None:
    table = refarray.reshape(refarray.arange(24, dtype="float64"), (4, 6))
    whole, column = (adv.inspect(x.__dlpack__(**NEW)) for x in (table, table[1:, 2]))
    assert (column["shape"], column["strides"]) == ((3,), (6,))
    assert column["data"] + column["byte_offset"] == whole["data"] + (6 + 2) * 8
    huge = refarray.broadcast_to(refarray.asarray([7], dtype="uint8"), (2**33, 3))
    assert adv.inspect(huge.__dlpack__(**NEW))["shape"] == (2**33, 3)
    again = refarray.from_capsule(huge.__dlpack__(**NEW))
    assert (again.shape, again[2**33 - 1, 2].item()) == ((2**33, 3), 7)


@pytest.mark.req("DTYPE-04")
@pytest.mark.parametrize(("dtype", "code"), [("complex64", "f"), ("complex128", "d")])
def test_complex_elements_store_the_real_part_first(adv: Any, dtype: str, code: str) -> None:
    x = refarray.asarray([1 - 2j, 3 + 4j], dtype=dtype)
    owned = adv.take(x.__dlpack__(**NEW))
    assert struct.unpack(f"4{code}", owned.read(x.nbytes)) == (1.0, -2.0, 3.0, 4.0)


def host_arrays() -> dict[str, refarray.Array]:
    return {
        "created": refarray.zeros((2, 2)),
        "converted": refarray.asarray([1, 2, 3]),
        "buffer": refarray.from_buffer(bytearray(4)),
        "view": refarray.arange(4)[::-2],
        "copied": refarray.ones(3).copy(),
        "cast": refarray.ones(3).astype("int8"),
        "empty": refarray.zeros((0,)),
        "exchanged": refarray.from_dlpack(refarray.ones(3)),
    }


@pytest.mark.req("DEV-01", "DEV-02", "DEV-05", "DEV-03")
@run_each("kind", host_arrays())
def test_host_memory_is_announced_as_cpu(adv: Any, kind: str) -> None:
    x = host_arrays()[kind]
    announced = x.__dlpack_device__()
    assert announced == (1, 0)
    assert announced[0] is refarray.DLDeviceType.kDLCPU and type(announced[1]) is int
    for version in (None, (1, 3)):
        assert adv.inspect(x.__dlpack__(max_version=version))["device"] == announced
    assert adv.api(refarray.Array).dltensor(x)["device"] == announced


@pytest.mark.req("DEV-02", "DEV-09", "DEV-12")
@run_each("device_id", [-1, 0, 7])
@run_each("kind", [1, 3, 11])
def test_host_memory_has_device_id_0(adv: Any, kind: int, device_id: int) -> None:
    """Also for device type 11, which the array API's list lacks (A-27, A-28)."""
    x = refarray.from_dlpack(adv.make(data=bytes(16), device=(kind, device_id)))
    assert x.__dlpack_device__() == (kind, 0)
    assert adv.inspect(x[1:].__dlpack__(**NEW))["device"] == (kind, 0)


@pytest.mark.req("PROD-17")
def test_export_does_not_change_the_array(adv: Any) -> None:
    x = refarray.reshape(refarray.arange(6, dtype="int16"), (2, 3)).T

    def attributes() -> tuple[Any, ...]:
        device = x.__dlpack_device__()
        address = adv.api(refarray.Array).dltensor(x)["data"]
        return x.shape, x.strides, x.dtype, x.readonly, device, address, x.tolist(), repr(x)

    before = attributes()
    for version, copy in itertools.product((None, (1, 3)), (None, True, False)):
        capsule = x.__dlpack__(max_version=version, copy=copy)
        assert attributes() == before
        refarray.from_capsule(capsule)
        del capsule
        assert attributes() == before


@pytest.mark.req("CAPI-04")
def test_exchange_table_outlives_the_package(isolated: Any) -> None:
    assert isolated("exchange_table_lifetime.py") == "the table still works\nat the end too\n"


@pytest.mark.req("CAPI-29")
def test_attribute_name_of_dlpack_1_2_is_ignored(adv: Any, forked: Any) -> None:
    """The table is published under the name of 1.3 only; an int under the old name is not a
    pointer."""
    assert not hasattr(refarray.Array, "__c_dlpack_exchange_api__")

    def body() -> None:
        tensor = adv.make(shape=(1,), data=bytes(4))
        body = {
            "__c_dlpack_exchange_api__": 0xDEAD0008,
            "__dlpack__": lambda self, **_: tensor.capsule(),
            "__dlpack_device__": lambda self: (1, 0),
        }
        thing = types.new_class("Thing", (), exec_body=lambda names: names.update(body))()
        assert refarray.from_dlpack(thing).tolist() == [0.0]

    forked(body)
    body()


# --- consumers ---


FP6 = (15, 6, 1)


def end_of_a_page(contents: bytes) -> tuple[mmap.mmap, int]:
    """Memory that ends with `contents`, directly before an inaccessible page."""
    size = mmap.PAGESIZE
    pages = mmap.mmap(-1, 2 * size)
    pages[size - len(contents) : size] = contents
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert protect(start + size, size, 0) == 0
    return pages, start + size - len(contents)


@pytest.mark.req("DTYPE-16", "DTYPE-10")
@pytest.mark.parametrize(
    ("dtype", "flags", "contents", "values"),
    [
        (FP4, 0, b"\x21\x03", [0.5, 1.0, 1.5]),
        (FP4, 4, b"\x01\x02\x03", [0.5, 1.0, 1.5]),
        (FP6, 0, b"\x41\x20\x0c\x01", [0.125, 0.125, 0.25, 0.375, 0.125]),
    ],
    ids=["packed", "padded", "six bits"],
)
def test_import_reads_no_byte_beyond_the_elements(
    adv: Any, forked: Any, dtype: Any, flags: int, contents: bytes, values: list[float]
) -> None:
    """The size of packed elements is rounded up once; padded elements take a byte each (A-05)."""

    def body() -> None:
        pages, address = end_of_a_page(contents)
        tensor = adv.make(dtype=dtype, shape=(len(values),), data=address, flags=flags)
        x = refarray.from_dlpack(tensor)
        assert x.nbytes == len(contents)
        for array in (x, x.copy(), x.astype("float64"), x[::-1][::-1]):
            assert array.tolist() == values
        assert not pages.closed

    def read_one_more() -> None:
        pages, address = end_of_a_page(contents)
        ctypes.string_at(address + len(contents), 1)
        assert not pages.closed

    forked(body)
    with pytest.raises(pytest.fail.Exception, match="SIGSEGV|SIGBUS|SIGABRT"):
        forked(read_one_more)


@pytest.mark.req("TENS-15", "TENS-14", "TENS-19")
@run_each(
    ("shape", "strides"),
    [((1, 3), (999, 1)), ((1, 3), (0, 1)), ((3, 1), (1, -7)), ((1, 1), (5, 0)), ((1,), (2**61,))],
)
def test_round_trip_ignores_strides_of_axes_of_extent_1(
    adv: Any, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    x = refarray.from_dlpack(adv.make(data=FLOATS, shape=shape, strides=strides))
    plain = refarray.from_dlpack(adv.make(data=FLOATS, shape=shape))
    again = refarray.from_capsule(x.__dlpack__(**NEW))
    assert again.shape == plain.shape == shape
    assert again.tolist() == x.tolist() == plain.tolist()
    assert again.is_contiguous() and x.is_contiguous()


sides = st.lists(st.integers(0, 4), max_size=4).map(tuple)
DTYPES = ["bool", "int8", "uint64", "float16", "bfloat16", "complex128", "float8_e5m2", "float32x2"]


@pytest.mark.req("TENS-19", "DTYPE-17", "AAPI-06")
@settings(deadline=None)
@given(st.data(), sides, st.sampled_from(DTYPES), st.booleans(), st.booleans())
def test_round_trip_keeps_all_attributes(
    data: st.DataObject, shape: tuple[int, ...], dtype: str, readonly: bool, by_capsule: bool
) -> None:
    x = refarray.ones(shape, dtype=dtype)
    steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in shape]
    x = x[(..., *(slice(None, None, step) for step in steps))]
    x = refarray.permute_dims(x, tuple(data.draw(st.permutations(range(len(shape))))))
    x = x.as_readonly() if readonly else x
    y = refarray.from_capsule(x.__dlpack__(**NEW)) if by_capsule else refarray.from_dlpack(x)
    assert (y.shape, y.dtype, y.device, y.readonly) == (x.shape, x.dtype, x.device, x.readonly)
    assert y.device == x.device and hash(y.device) == hash(x.device)
    moving = [i for i, extent in enumerate(x.shape) if extent > 1] if x.size else []
    assert [y.strides[i] for i in moving] == [x.strides[i] for i in moving]
    assert y.tolist() == x.tolist()


@pytest.mark.req("LIFE-23", "LIFE-07")
@pytest.mark.parametrize("versioned", [True, False])
def test_from_dlpack_consumes_and_drops_the_capsule(adv: Any, versioned: bool) -> None:
    """After from_dlpack, the array has no reference to the capsule; the used name is static."""
    addresses = set()
    for _ in range(3):
        kept = adv.make(shape=(2, 2), data=FLOATS, versioned=versioned).capsule()
        producer = Recorder(lambda kept=kept, **_: kept)
        array = refarray.from_dlpack(producer)
        found = adv.inspect(kept)
        assert found["name"] == ("used_dltensor_versioned" if versioned else "used_dltensor")
        addresses.add(found["name_address"])
        capsule = type(kept)
        names = [name for name in dir(array) if not name.startswith("__dlpack")]
        public = [getattr(array, name, None) for name in names]  # a property may refuse
        assert not any(type(value) is capsule for value in public)
    assert len(addresses) == 1


@pytest.mark.req("CAPI-30")
def test_foreign_table_functions_run_with_a_thread_state(adv: Any) -> None:
    """The adversary's function aborts the process otherwise. Called from several threads."""
    seen = []

    def work(_: int) -> None:
        thing = table_only(adv, adv.make(data=FLOATS))
        seen.append(refarray.from_dlpack(thing).tolist())

    run_together(work, 3)
    work(3)
    assert seen == [[0.0, 1.0, 2.0]] * 4


@pytest.mark.req("CAPI-03", "CAPI-13", "PROD-18")
def test_subclass_inherits_the_table_until_it_defines_the_methods(adv: Any) -> None:
    """A table of a base would bypass the subclass's own methods (A-38)."""
    tensor = adv.make(data=FLOATS)
    plain = type("Plain", (type(table_only(adv, None)),), {})()
    plain.tensor = tensor
    adv.from_py_calls()
    assert refarray.from_dlpack(plain).tolist() == [0.0, 1.0, 2.0]
    assert adv.from_py_calls() == 1
    other = adv.make(data=FLOATS)
    type(plain).__dlpack__ = lambda self, **_: other.capsule()
    type(plain).__dlpack_device__ = lambda self: (1, 0)
    assert refarray.from_dlpack(plain).tolist() == [0.0, 1.0, 2.0]
    assert (adv.from_py_calls(), other.issued) == (0, True)
