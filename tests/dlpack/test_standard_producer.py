"""Requirements on a producer that no other test covers, one per test."""

from __future__ import annotations

import inspect as signatures
import itertools
import struct
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
from helpers.cases import run_each
from helpers.leaks import blocks_left

import refarray

NEW = {"max_version": (1, 3)}
STANDARD_DTYPES = [
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float32", "float64", "complex64", "complex128"),
]


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


@pytest.mark.req("DTYPE-11", "TENS-11")
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda np: np.arange(3, dtype=">i4"), id="byte order"),
        pytest.param(lambda np: np.zeros(3, dtype="i1,f4")["f1"], id="stride"),
    ],
)
def test_foreign_byte_order_and_odd_strides_are_refused_on_import(
    make: Callable[[Any], Any],
) -> None:
    """So every array, and every export, has native byte order and strides in whole elements."""
    np = pytest.importorskip("numpy")
    theirs = make(np)
    if sys.byteorder == "big":
        theirs = theirs.view(theirs.dtype.newbyteorder())
    for take in (refarray.from_dlpack, refarray.from_buffer):
        with pytest.raises(BufferError):
            take(theirs)


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


@pytest.mark.req("LIFE-18")
def test_exported_storage_cannot_be_resized(adv: Any) -> None:
    """Neither through refarray, which has no such operation, nor by the owner of an imported
    buffer."""
    owner = bytearray(b"abcd")
    x = refarray.from_buffer(owner)
    owned = adv.take(x.__dlpack__(**NEW))
    del x
    with pytest.raises(BufferError):
        owner.extend(b"e")
    assert owned.read(4) == b"abcd"
    owned.drop()
    owner.extend(b"e")
    y = refarray.zeros(4)
    for name in ("shape", "strides", "dtype", "device", "readonly"):
        with pytest.raises(AttributeError):
            setattr(y, name, getattr(y, name))
    assert not hasattr(y, "resize")


REFUSED: dict[str, Callable[[], Any]] = {
    "read-only, legacy": lambda: refarray.zeros(3).as_readonly().__dlpack__(),
    "inside a byte": lambda: refarray.zeros((3, 3), dtype="float4_e2m1fn")[1:].__dlpack__(**NEW),
    "padded, legacy": lambda: refarray.zeros(3, dtype="float4_e2m1fn_padded").__dlpack__(),
    "another device": lambda: refarray.zeros(3).__dlpack__(dl_device=(2, 0)),
    "another device id": lambda: refarray.zeros(3).__dlpack__(dl_device=(1, 1), copy=False),
}


@pytest.mark.req("PROD-04", "LIFE-21")
@run_each("case", REFUSED)
def test_refused_export_does_not_leak(case: str) -> None:
    def work() -> None:
        with pytest.raises(BufferError):
            REFUSED[case]()

    assert blocks_left(work) < 25


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


@pytest.mark.req("AAPI-01", "AAPI-02", "COPY-01", "COPY-12")
def test_names_and_signatures_of_the_array_api() -> None:
    assert {"__dlpack__", "__dlpack_device__"} <= set(vars(refarray.Array))
    assert "from_dlpack" in refarray.__all__
    x, *rest = signatures.signature(refarray.from_dlpack).parameters.values()
    assert x.kind is x.POSITIONAL_ONLY and x.default is x.empty
    assert [each.name for each in rest] == ["device", "copy", "max_version"]
    assert all(each.kind is each.KEYWORD_ONLY and each.default is None for each in rest)


@pytest.mark.req("AAPI-03", "DTYPE-15")
@run_each("dtype", STANDARD_DTYPES)
def test_every_export_the_array_api_suite_makes(adv: Any, dtype: str) -> None:
    shapes = [(), *((side,) for side in range(3)), *itertools.product(range(3), repeat=2)]
    for shape, copy, version, device in itertools.product(
        shapes, (True, False, None), ((), (0, 0), (1, 0), (2, 0)), (None, (1, 0))
    ):
        x = refarray.ones(shape, dtype=dtype)
        given = {} if version == () else {"max_version": version}
        found = adv.inspect(x.__dlpack__(copy=copy, dl_device=device, **given))
        assert found["name"] == ("dltensor_versioned" if version > (0, 9) else "dltensor")
        assert ((found["shape"] or ()), found["device"]) == (shape, (1, 0))
        assert refarray.from_dlpack(x, copy=copy).tolist() == x.tolist()


@pytest.mark.req("AAPI-04", "STRM-16")
def test_to_device_rejects_streams_on_the_cpu() -> None:
    x = refarray.zeros(3)
    assert x.to_device("cpu", stream=None).tolist() == [0.0] * 3
    for stream in (-1, 0, 1, 2, 2**40):
        with pytest.raises(ValueError, match="stream"):
            x.to_device("cpu", stream=stream)
        with pytest.raises(ValueError, match="stream"):
            x.__dlpack__(stream=stream)


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
