"""NumPy as producer and consumer: every dtype, layout and flag, by DLPack and by buffers."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray as ra

from . import limits
from .grid import (
    DTYPES,
    LAYOUTS,
    MAX_VERSION,
    NARROW,
    Protocol,
    address,
    assert_independent,
    assert_writes_seen,
    expected,
    info,
    ours,
    values,
)

pytestmark = pytest.mark.numpy

READ_ONLY = 1
WRITABLE = [name for name in LAYOUTS if not name.startswith("empty")]


def theirs(dtype: str, layout: str = "flat") -> Any:
    """NumPy's array of the grid; its broadcast views are writable, unlike ours."""
    flat = np.array(values(dtype), dtype=dtype)
    if LAYOUTS[layout].broadcast:
        return np.lib.stride_tricks.as_strided(flat, (3, 4), (0, flat.itemsize))
    return LAYOUTS[layout].build(np, flat)


def element_strides(array: Any) -> tuple[int, ...]:
    return tuple(stride // array.itemsize for stride in array.strides)


@run_each("layout", LAYOUTS)
@run_each("dtype", DTYPES)
def test_numpy_reads_ours(dtype: str, layout: str) -> None:
    source = ours(dtype, layout)
    result = np.from_dlpack(source)
    assert result.dtype == np.dtype(dtype)
    assert result.shape == source.shape
    assert result.tolist() == expected(dtype, layout)
    if result.size:
        assert result.ctypes.data == address(source)
        assert element_strides(result) == source.strides


@run_each("layout", LAYOUTS)
@run_each("dtype", DTYPES)
def test_we_read_numpy(dtype: str, layout: str) -> None:
    source = theirs(dtype, layout)
    result = ra.from_dlpack(source)
    assert str(result.dtype) == dtype
    assert result.shape == source.shape
    assert result.tolist() == expected(dtype, layout)
    if source.size:
        assert address(result) == source.ctypes.data
        assert result.strides == element_strides(source)


@run_each("layout", [name for name in WRITABLE if name != "broadcast"])
@run_each("dtype", DTYPES)
def test_writes_are_seen_on_both_sides(dtype: str, layout: str) -> None:
    source = ours(dtype, layout)
    assert_writes_seen(source, np.from_dlpack(source), dtype)
    origin = theirs(dtype, layout)
    assert_writes_seen(origin, ra.from_dlpack(origin), dtype)


@run_each("dtype", NARROW)
def test_narrow_dtypes_are_refused_by_numpy(dtype: str) -> None:
    source = ours(dtype)
    facets = (f"dtype:{dtype}",)
    assert limits.attempt("numpy", "to", facets, lambda: np.from_dlpack(source)) is None


@run_each("layout", LAYOUTS)
def test_our_read_only_arrays_stay_so_in_numpy(layout: str) -> None:
    source = ours("float32", layout).as_readonly()
    assert info(source)["flags"] & READ_ONLY
    result = np.from_dlpack(source)
    if source.size:
        assert not result.flags.writeable
        assert ra.from_dlpack(result).readonly
    else:
        assert result.flags.owndata  # NumPy makes a new array if data is NULL


@run_each("layout", LAYOUTS)
def test_numpys_read_only_arrays_stay_so_here(layout: str) -> None:
    source = theirs("float32", layout)
    source.flags.writeable = False
    result = ra.from_dlpack(source)
    assert result.readonly
    assert info(result)["flags"] & READ_ONLY
    if result.size:
        assert not np.from_dlpack(result).flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            result[(0,) * result.ndim] = 7.0
        assert result.tolist() == expected("float32", layout)


def test_read_only_data_is_refused_to_a_legacy_consumer() -> None:
    source = theirs("float32")
    source.flags.writeable = False
    with pytest.raises(BufferError):
        ra.from_dlpack(source).__dlpack__()
    with pytest.raises(BufferError):
        ra.from_dlpack(source, max_version=(0, 8))


@run_each("layout", WRITABLE)
def test_copy_true_is_independent(layout: str) -> None:
    if layout != "broadcast":
        source = ours("float64", layout)
        assert_independent(source, np.from_dlpack(source, copy=True), "float64")
    origin = theirs("float64", layout)
    copy = ra.from_dlpack(origin, copy=True)
    assert not copy.readonly
    assert copy.tolist() == expected("float64", layout)
    assert_independent(origin, copy, "float64")


def test_copy_of_read_only_data_is_writable() -> None:
    source = theirs("int32")
    source.flags.writeable = False
    copy = ra.from_dlpack(source, copy=True)
    assert not copy.readonly
    copy[0] = 7
    assert source[0] == 0
    assert np.from_dlpack(ours("int32").as_readonly(), copy=True).flags.writeable


@run_each("layout", [name for name in WRITABLE if name != "broadcast"])
def test_copy_false_aliases(layout: str) -> None:
    source = ours("int64", layout)
    assert_writes_seen(source, np.from_dlpack(source, copy=False), "int64")
    origin = theirs("int64", layout)
    assert_writes_seen(origin, ra.from_dlpack(origin, copy=False), "int64")


def test_device_cpu_is_honoured_in_both_directions() -> None:
    source, origin = ours("int64"), theirs("int64")
    assert np.from_dlpack(source, device="cpu").ctypes.data == address(source)
    assert address(ra.from_dlpack(origin, device="cpu")) == origin.ctypes.data


@run_each("max_version", [None, (0, 8), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0)])
@run_each("layout", LAYOUTS)
def test_every_requested_version_gives_the_same_array(
    layout: str, max_version: tuple[int, int] | None
) -> None:
    origin = theirs("int16", layout)
    result = ra.from_dlpack(origin, max_version=max_version)
    assert result.tolist() == expected("int16", layout)
    if origin.size:
        assert address(result) == origin.ctypes.data


def test_the_source_lives_as_long_as_our_array() -> None:
    origin = theirs("float64")
    died = weakref.ref(origin)
    view = ra.from_dlpack(origin)[3:]
    del origin
    gc.collect()
    assert died() is not None
    assert view.tolist() == values("float64")[3:]
    del view
    gc.collect()
    assert died() is None


def test_our_data_lives_as_long_as_numpys_array() -> None:
    source = ours("float64")
    died = weakref.ref(source)
    result = np.from_dlpack(source)[3:]
    del source
    gc.collect()
    assert died() is None, "the export holds our storage, never our Python object"
    scratch = [ra.zeros((24,)) for _ in range(64)]
    assert result.tolist() == values("float64")[3:]
    assert len(scratch) == 64


def test_a_chain_through_numpy_keeps_the_first_owner() -> None:
    origin = theirs("int32")
    died = weakref.ref(origin)
    last = np.from_dlpack(ra.from_dlpack(np.from_dlpack(ra.from_dlpack(origin))))
    assert last.ctypes.data == origin.ctypes.data
    del origin
    gc.collect()
    assert last.tolist() == values("int32")
    del last
    gc.collect()
    assert died() is None


@pytest.mark.parametrize("stack", [0, 1 << 18])
@pytest.mark.parametrize(
    "kind",
    ["numpy", "numpy_dlpack", "numpy_buffer", "numpy_interface", "numpy_asarray", "mixed_numpy"],
)
def test_a_long_chain_of_numpys_arrays_is_dropped(isolated: Any, kind: str, stack: int) -> None:
    """100,000 arrays, each of which keeps the one before alive through an ndarray."""
    assert isolated("stack_use.py", "chain", kind, "100000", str(stack)) == "built\ndropped\n"


@pytest.mark.req("LIFE-05")
@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("mode", ["daemon_numpy", "daemon_numpy_deleter"])
def test_daemon_threads_inside_numpys_deleter_do_not_abort_the_exit(
    isolated: Any, mode: str, attempt: int
) -> None:
    assert isolated("finalization.py", mode, leaks=True) == "alive until here\n"


def test_a_capsule_of_numpy_has_one_consumer() -> None:
    origin = theirs("int32")
    died = weakref.ref(origin)
    capsule = origin.__dlpack__(max_version=MAX_VERSION)
    first = ra.from_capsule(capsule)
    with pytest.raises(BufferError):
        ra.from_capsule(capsule)
    assert first.tolist() == values("int32")
    del capsule, first, origin
    gc.collect()
    assert died() is None


@run_each(
    "make",
    [
        lambda: np.array(["a"]),
        lambda: np.array([None]),
        lambda: np.zeros(2, dtype="i4,f4"),
        lambda: np.array([0], dtype="M8[s]"),
        lambda: np.arange(3, dtype=">i4"),
        lambda: np.zeros(3, dtype=[("a", "i1"), ("b", "f4")])["b"],
    ],
    ids=["text", "object", "record", "time", "big-endian", "odd-stride"],
)
def test_unexportable_numpy_arrays_raise_buffer_error(make: Any) -> None:
    with pytest.raises(BufferError):
        ra.from_dlpack(make())


def test_numpy_scalars_have_no_dlpack() -> None:
    """In NumPy 2.4; NumPy 2.6 exports them read-only."""
    with pytest.raises(AttributeError):
        ra.from_dlpack(np.float32(3))


def test_misaligned_data_of_numpy_is_read_correctly() -> None:
    origin = np.frombuffer(bytearray(33), dtype=np.uint8)[1:].view(np.float32)
    origin[...] = range(8)
    assert not origin.flags.aligned
    assert ra.from_dlpack(origin).tolist() == [float(index) for index in range(8)]


def test_the_python_protocol_alone_gives_the_same() -> None:
    source = ours("float32", "permuted")
    result = np.from_dlpack(Protocol(source))
    assert result.tolist() == expected("float32", "permuted")
    assert result.ctypes.data == address(source)


@run_each("layout", LAYOUTS)
@run_each("dtype", DTYPES)
def test_numpy_reads_our_buffer(dtype: str, layout: str) -> None:
    source = ours(dtype, layout)
    result = np.asarray(memoryview(source))
    assert result.dtype == np.dtype(dtype)
    assert result.tolist() == expected(dtype, layout)
    assert result.flags.writeable is not source.readonly
    if result.size:
        assert result.ctypes.data == address(source)
        assert element_strides(result) == source.strides


@run_each("layout", LAYOUTS)
@run_each("dtype", DTYPES)
def test_we_read_numpys_buffer(dtype: str, layout: str) -> None:
    origin = theirs(dtype, layout)
    result = ra.from_buffer(origin)
    assert str(result.dtype) == dtype
    assert result.tolist() == expected(dtype, layout)
    if origin.size:
        assert address(result) == origin.ctypes.data
        assert result.strides == element_strides(origin)


def test_a_read_only_buffer_stays_read_only_both_ways() -> None:
    assert not np.asarray(memoryview(ours("int32").as_readonly())).flags.writeable
    origin = theirs("int32")
    origin.flags.writeable = False
    result = ra.from_buffer(origin)
    assert result.readonly
    assert info(result)["flags"] & READ_ONLY


def test_asarray_copies_numpy_arrays_only_on_request() -> None:
    origin = theirs("float32", "permuted")
    assert address(ra.asarray(origin)) == origin.ctypes.data
    assert_independent(origin, ra.asarray(origin, copy=True), "float32")
