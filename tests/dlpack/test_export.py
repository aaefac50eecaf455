"""Export: `__dlpack__` with every combination of its four keywords, for every kind of array."""

from __future__ import annotations

import inspect as signatures
import itertools
import math
import struct
import sys
from typing import Any, NamedTuple

import pytest
from helpers.cases import run_each
from helpers.dtype_names import FLOAT8
from helpers.number_likes import IntLike, OneEnum

import refarray

ABSENT = object()
LEGACY_VERSIONS = [ABSENT, None, (0, 0), (0, 8), (0, 99), (-1, 0), (-(2**70), 0)]
NEW_VERSIONS = [(1, 0), (1, 1), (1, 2), (1, 3), (1, 99), (2, 0), (100, 3), (2**70, 0), (1, 2**70)]


def build_arrays() -> dict[str, Any]:
    base = refarray.reshape(refarray.arange(24, dtype=refarray.float32), (4, 6))
    return {
        "contiguous": base,
        "fortran": refarray.permute_dims(base, (1, 0)),
        "sliced": base[1:3, ::2],
        "offset": base[2:],
        "reversed": base[::-1, ::-1],
        "broadcast": refarray.broadcast_to(base[0], (3, 6)),
        "scalar": base[1, 1],
        "empty": base[0:0],
        "one": base[1:2, 2:3],
        "view-of-import": refarray.from_dlpack(base)[1:],
        "read-only": base.as_readonly(),
    }


KINDS = list(build_arrays())


def pick(**keywords: Any) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value is not ABSENT}


@pytest.mark.req("VERS-01", "VERS-04", "VERS-05", "VERS-06", "VERS-07")
@pytest.mark.req("PROD-08", "PROD-11", "PROD-12", "PROD-13", "PROD-16")
@pytest.mark.req("FLAG-01", "FLAG-02", "FLAG-03", "FLAG-04", "FLAG-06")
@pytest.mark.req("LIFE-06", "DEV-03", "TENS-06", "TENS-18", "AAPI-03")
@run_each("kind", KINDS)
def test_every_combination_of_keywords(adv: Any, kind: str) -> None:
    """max_version x copy x dl_device x stream: name, version, flags, layout, view or copy."""
    x = build_arrays()[kind]
    own = adv.inspect(x.__dlpack__(max_version=(1, 3), copy=False))
    devices = [ABSENT, None, (1, 0), (refarray.DLDeviceType.kDLCPU, 0), x.__dlpack_device__()]
    for version, copy, device, stream in itertools.product(
        LEGACY_VERSIONS + NEW_VERSIONS, [ABSENT, None, True, False], devices, [ABSENT, None]
    ):
        keywords = pick(max_version=version, copy=copy, dl_device=device, stream=stream)
        legacy = version in LEGACY_VERSIONS
        if legacy and x.readonly and copy is not True:
            with pytest.raises(BufferError, match="read-only|readonly"):
                x.__dlpack__(**keywords)
            continue
        found = adv.inspect(x.__dlpack__(**keywords))
        assert found["name"] == ("dltensor" if legacy else "dltensor_versioned"), keywords
        assert found["version"] == (None if legacy else (1, 3)), keywords
        assert found["deleter"] and found["destructor"]
        assert (found["shape"] or ()) == x.shape
        assert (found["device"], found["dtype"], found["ndim"]) == ((1, 0), (2, 32, 1), x.ndim)
        assert x.ndim == 0 or found["strides"] is not None
        if copy is True:
            assert found["flags"] == (None if legacy else 2), keywords
            assert x.size == 0 or found["data"] != own["data"], keywords
        else:
            assert found["flags"] == (None if legacy else int(x.readonly)), keywords
            assert (found["data"], found["byte_offset"], found["strides"]) == (
                own["data"],
                own["byte_offset"],
                own["strides"],
            )
            assert x.ndim == 0 or x.size == 0 or found["strides"] == x.strides


@pytest.mark.req("TENS-03")
@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (0, 0)])
def test_empty_arrays_export_null_data(adv: Any, shape: tuple[int, ...]) -> None:
    for version in (None, (1, 3)):
        for copy in (None, True):
            found = adv.inspect(refarray.zeros(shape).__dlpack__(max_version=version, copy=copy))
            assert (found["data"], found["shape"]) == (0, shape)
            assert found["strides"] is not None


DTYPES = {
    "bool": (6, 8),
    **{f"int{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": (4, 16),
    **{f"complex{bits}": (5, bits) for bits in (32, 64, 128)},
    **{name: (code, 8) for code, name in enumerate(FLOAT8, 7)},  # in the order of dlpack.h
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}


@pytest.mark.req("DTYPE-01", "DTYPE-02", "DTYPE-03", "DTYPE-04", "DTYPE-05")
@pytest.mark.req("DTYPE-06", "DTYPE-07", "DTYPE-08", "DTYPE-15", "DTYPE-17")
@run_each("name", DTYPES)
def test_every_dtype_is_exported(adv: Any, name: str) -> None:
    for lanes in (1, 2):
        dtype = refarray.DType(name if lanes == 1 else f"{name}x{lanes}")
        x = refarray.empty((2, 4), dtype=dtype)  # rows of whole bytes, packed or not
        for version in (None, (1, 3)):
            assert adv.inspect(x.__dlpack__(max_version=version))["dtype"] == (*DTYPES[name], lanes)
        assert refarray.from_dlpack(x).dtype == x.dtype


def test_export_of_complex_vector_elements(adv: Any) -> None:
    """DTYPE-04 with lanes: two complex numbers per element."""
    x = refarray.zeros((2,), dtype="complex64x2")
    owned = adv.take(x.__dlpack__(max_version=(1, 3)))
    owned.write(struct.pack("8f", *range(8)))
    assert struct.unpack("8f", owned.read(32)) == tuple(map(float, range(8)))
    assert owned.fields()["dtype"] == (5, 64, 2)


@pytest.mark.req("DTYPE-09", "FLAG-07", "FLAG-11", "PROD-04")
def test_sub_byte_dtypes(adv: Any) -> None:
    """Packed has flags 0, padded 4. A layout that starts inside a byte and a padded unversioned
    tensor are refused."""
    packed = refarray.zeros((4, 4), dtype="float4_e2m1fn")
    assert adv.inspect(packed.__dlpack__(max_version=(1, 3)))["flags"] == 0
    assert adv.inspect(packed[1:, 2:].__dlpack__(max_version=(1, 3)))["shape"] == (3, 2)
    for inside in (packed[:, 1:], packed[:, ::2], packed[:, ::-1]):
        with pytest.raises(BufferError):
            inside.__dlpack__(max_version=(1, 3))
        assert adv.inspect(inside.__dlpack__(max_version=(1, 3), copy=True))["flags"] == 2
    padded = refarray.zeros((4,), dtype="float4_e2m1fn_padded")
    assert adv.inspect(padded.__dlpack__(max_version=(1, 3)))["flags"] == 4
    assert adv.inspect(padded.__dlpack__(max_version=(1, 3), copy=True))["flags"] == 6
    with pytest.raises(BufferError):
        padded.__dlpack__()


@pytest.mark.req("PROD-11", "FLAG-05", "COPY-05")
@pytest.mark.parametrize("version", [None, (1, 3)])
def test_exported_copies_are_independent(adv: Any, version: Any) -> None:
    """With copy=True, neither consumer nor producer sees the other's writes, nor do two copies."""
    x = refarray.arange(4, dtype=refarray.float32)
    first, second = (adv.take(x.__dlpack__(max_version=version, copy=True)) for _ in range(2))
    first.write(b"\0" * 16)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert second.read(16) != b"\0" * 16
    x[...] = 5.0
    assert first.read(16) == b"\0" * 16


class Version(NamedTuple):
    major: int
    minor: int


def test_versions_and_devices_may_be_int_like(adv: Any) -> None:
    """VERS-10: any tuple of two ints is valid, and anything with __index__ is an int, in __dlpack__
    and from_dlpack."""
    x = refarray.zeros(3)
    majors = (OneEnum.ONE, IntLike(1), True)
    for version in (Version(1, 0), *((major, IntLike(0)) for major in majors)):
        assert adv.inspect(x.__dlpack__(max_version=version))["version"] == (1, 3)
    found = adv.inspect(x.__dlpack__(dl_device=(OneEnum.ONE, IntLike(0))))
    assert found["device"] == (1, 0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(IntLike(2), 0))
    for stream in (OneEnum.ONE, IntLike(1)):
        with pytest.raises(ValueError, match="stream"):
            x.__dlpack__(stream=stream)


@pytest.mark.req("PROD-01", "PROD-02", "DEV-01", "AAPI-02")
def test_signatures_of_the_export_methods() -> None:
    x = refarray.zeros(3)
    names = ["stream", "max_version", "dl_device", "copy"]
    parameters = signatures.signature(x.__dlpack__).parameters
    assert sorted(parameters) == sorted(names)
    assert all(p.kind is p.KEYWORD_ONLY and p.default is None for p in parameters.values())
    for wrong in ({"foo": 1}, {"max_versions": (1, 0)}, {"": 1}, {"stream ": None}):
        with pytest.raises(TypeError):
            x.__dlpack__(**wrong)
    with pytest.raises(TypeError):
        x.__dlpack__(None)
    with pytest.raises(TypeError):
        x.__dlpack_device__(1)
    answer = x.__dlpack_device__()
    assert type(answer) is tuple and answer == (1, 0)
    assert isinstance(answer[0], refarray.DLDeviceType) and type(answer[1]) is int


@pytest.mark.req("LIFE-07", "LIFE-20", "PROD-03")
def test_every_export_is_a_separate_managed_tensor(adv: Any) -> None:
    """The capsules share only the data and their static name."""
    x = refarray.zeros(3)
    for version in (None, (1, 3)):
        capsules = [x.__dlpack__(max_version=version) for _ in range(8)]
        found = [adv.inspect(capsule) for capsule in capsules]
        assert len({row["managed"] for row in found}) == 8
        assert len({row["name_address"] for row in found}) == 1
        assert len({row["data"] for row in found}) == 1
        while capsules:
            capsules.pop(len(capsules) // 2)
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.req("LIFE-21", "LIFE-22")
@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="reference counts are split"
)
def test_exports_do_not_change_the_reference_count() -> None:
    x = refarray.zeros(3)
    before = sys.getrefcount(x)
    capsule = x.__dlpack__(max_version=(1, 3))
    for keywords in (
        {"stream": 1},
        {"copy": 3},
        {"dl_device": (2, 0)},
        {"max_version": 3},
        {"foo": 1},
    ):
        with pytest.raises((TypeError, ValueError, BufferError)):
            x.__dlpack__(**keywords)
    del capsule
    assert sys.getrefcount(x) == before
    assert type(x).__dlpack__(x) is not None


@pytest.mark.req("LIFE-16", "TENS-16")
def test_exported_data_outlives_the_array(adv: Any) -> None:
    """The managed tensor keeps data, shape and strides alive."""
    x = refarray.reshape(refarray.arange(6, dtype=refarray.int8), (2, 3))
    owned = adv.take(refarray.permute_dims(x, (1, 0)).__dlpack__(max_version=(1, 3)))
    del x
    noise = [refarray.full((2, 3), 9, dtype=refarray.int8) for _ in range(64)]
    assert owned.read(6) == bytes(range(6))
    assert (owned.fields()["shape"], owned.fields()["strides"]) == ((3, 2), (1, 3))
    del noise


# --- packed sub-byte elements: contiguous arrays, and views that start inside a byte ---


PACKED = {
    "float4_e2m1fn": [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.5, -1.0],
    "float6_e2m3fn": [0.125 * i for i in range(40)],
}
SHAPES = [(3, 3), (4, 1), (1, 24, 1), (1,), (5,), (3, 1, 5), (2, 3, 3), ()]


def filled(dtype: str, shape: tuple[int, ...]) -> refarray.Array:
    values = itertools.cycle(PACKED[dtype])
    flat = [next(values) for _ in range(math.prod(shape))]
    return refarray.reshape(refarray.asarray(flat, dtype=dtype), shape)


@pytest.mark.req("DTYPE-10", "DTYPE-09", "FLAG-03")
@run_each("copy", [None, True])
@run_each("shape", SHAPES)
@run_each("dtype", PACKED)
def test_contiguous_packed_arrays_round_trip(
    adv: Any, dtype: str, shape: Any, copy: bool | None
) -> None:
    """Rows need not be whole bytes: element i is at bits [i*b, (i+1)*b) of the data."""
    x = filled(dtype, shape)
    for version in (None, (1, 3)):
        capsule = x.__dlpack__(max_version=version, copy=copy)
        fields = adv.inspect(capsule)
        assert (fields["shape"] or ()) == shape
        assert fields["flags"] == (None if version is None else 2 if copy else 0)
        y = refarray.from_capsule(capsule)
        assert (y.dtype, y.shape, y.tolist()) == (dtype, shape, x.tolist())
    assert refarray.from_dlpack(x, copy=copy).tolist() == x.tolist()
    owned = adv.take(x.__dlpack__(max_version=(1, 3), copy=copy))
    bits = bytes(x.__reduce_ex__(2)[1][0])
    assert owned.read(x.nbytes) == bits


VIEWS_INSIDE_A_BYTE: dict[str, Any] = {
    "second row": lambda x: x[1:],
    "second column": lambda x: x[:, 1:],
    "one element": lambda x: x[0, 1],
    "two columns": lambda x: x[:, :2],
    "every other column": lambda x: x[:, ::2],
    "columns": lambda x: x.T,
    "from the end": lambda x: refarray.flip(x, axis=1),
}


@pytest.mark.req("DTYPE-09", "PROD-04", "PROD-11")
@run_each("view", VIEWS_INSIDE_A_BYTE)
def test_views_inside_a_byte_are_only_exported_as_copies(adv: Any, view: str) -> None:
    """A row of three takes 12 bits, so a view of it may start inside a byte."""
    x = VIEWS_INSIDE_A_BYTE[view](filled("float4_e2m1fn", (3, 3)))
    for version in (None, (1, 3)):
        with pytest.raises(BufferError, match="copy"):
            x.__dlpack__(max_version=version)
        y = refarray.from_capsule(x.__dlpack__(max_version=version, copy=True))
        assert y.tolist() == x.tolist()


@pytest.mark.req("DTYPE-09")
def test_views_that_start_on_a_byte_are_exported(adv: Any) -> None:
    x = filled("float4_e2m1fn", (3, 3))
    whole = filled("float4_e2m1fn", (3, 4))
    for view in (x[:2], x[2:], x[0, :2], whole[1:], whole[:, 2:], whole[::2]):
        y = refarray.from_capsule(view.__dlpack__(max_version=(1, 3)))
        assert y.tolist() == view.tolist()
        y[...] = 1.0
        assert view.tolist() == y.tolist()  # shared, not copied
