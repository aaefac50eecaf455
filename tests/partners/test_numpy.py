"""NumPy as producer and consumer by DLPack: every dtype, layout and flag."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray as ra

from . import grid, limits

pytestmark = pytest.mark.numpy

READ_ONLY = 1
WRITABLE = [name for name in grid.LAYOUTS if not name.startswith("empty")]


def theirs(dtype: str, layout: str = "flat") -> Any:
    """NumPy's array of the grid; its broadcast views are writable, unlike ours."""
    flat = np.array(grid.values(dtype), dtype=dtype)
    if grid.LAYOUTS[layout].broadcast:
        return np.lib.stride_tricks.as_strided(flat, (3, 4), (0, flat.itemsize))
    return grid.LAYOUTS[layout].build(np, flat)


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", grid.DTYPES)
def test_numpy_reads_ours(dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    result = np.from_dlpack(source)
    assert result.dtype == np.dtype(dtype)
    assert result.shape == source.shape
    assert result.tolist() == grid.expected(dtype, layout)
    if result.size:
        assert result.ctypes.data == grid.address(source)
        assert grid.element_strides(result) == source.strides


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", grid.DTYPES)
def test_we_read_numpy(dtype: str, layout: str) -> None:
    source = theirs(dtype, layout)
    at, strides = source.ctypes.data, grid.element_strides(source)
    grid.check_import(ra.from_dlpack(source), dtype, layout, at, strides)


@run_each("layout", [name for name in WRITABLE if name != "broadcast"])
@run_each("dtype", grid.DTYPES)
def test_writes_are_seen_on_both_sides(dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    grid.assert_writes_seen(source, np.from_dlpack(source), dtype)
    origin = theirs(dtype, layout)
    grid.assert_writes_seen(origin, ra.from_dlpack(origin), dtype)


@run_each("dtype", grid.NARROW)
def test_narrow_dtypes_are_refused_by_numpy(dtype: str) -> None:
    source = grid.ours(dtype)
    facets = (f"dtype:{dtype}",)
    assert limits.attempt("numpy", "to", facets, lambda: np.from_dlpack(source)) is None


@run_each("layout", grid.LAYOUTS)
def test_our_read_only_arrays_stay_so_in_numpy(layout: str) -> None:
    source = grid.ours("float32", layout).as_readonly()
    assert grid.info(source)["flags"] & READ_ONLY
    result = np.from_dlpack(source)
    if source.size:
        assert not result.flags.writeable
        assert ra.from_dlpack(result).readonly
    else:
        assert result.flags.owndata  # NumPy makes a new array if data is NULL


@run_each("layout", grid.LAYOUTS)
def test_numpys_read_only_arrays_stay_so_here(layout: str) -> None:
    source = theirs("float32", layout)
    source.flags.writeable = False
    result = ra.from_dlpack(source)
    assert result.readonly
    assert grid.info(result)["flags"] & READ_ONLY
    if result.size:
        assert not np.from_dlpack(result).flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            result[(0,) * result.ndim] = 7.0
        assert result.tolist() == grid.expected("float32", layout)


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
        source = grid.ours("float64", layout)
        grid.assert_independent(source, np.from_dlpack(source, copy=True), "float64")
    origin = theirs("float64", layout)
    copy = ra.from_dlpack(origin, copy=True)
    assert not copy.readonly
    assert copy.tolist() == grid.expected("float64", layout)
    grid.assert_independent(origin, copy, "float64")


def test_copy_of_read_only_data_is_writable() -> None:
    source = theirs("int32")
    source.flags.writeable = False
    copy = ra.from_dlpack(source, copy=True)
    assert not copy.readonly
    copy[0] = 7
    assert source[0] == 0
    assert np.from_dlpack(grid.ours("int32").as_readonly(), copy=True).flags.writeable


@run_each("layout", [name for name in WRITABLE if name != "broadcast"])
def test_copy_false_aliases(layout: str) -> None:
    source = grid.ours("int64", layout)
    grid.assert_writes_seen(source, np.from_dlpack(source, copy=False), "int64")
    origin = theirs("int64", layout)
    grid.assert_writes_seen(origin, ra.from_dlpack(origin, copy=False), "int64")


def test_device_cpu_is_honoured_in_both_directions() -> None:
    source, origin = grid.ours("int64"), theirs("int64")
    assert np.from_dlpack(source, device="cpu").ctypes.data == grid.address(source)
    assert grid.address(ra.from_dlpack(origin, device="cpu")) == origin.ctypes.data


@run_each("max_version", [None, (0, 8), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0)])
@run_each("layout", grid.LAYOUTS)
def test_every_requested_version_gives_the_same_array(
    layout: str, max_version: tuple[int, int] | None
) -> None:
    origin = theirs("int16", layout)
    result = ra.from_dlpack(origin, max_version=max_version)
    grid.check_import(result, "int16", layout, origin.ctypes.data)


def test_the_source_lives_as_long_as_our_array() -> None:
    origin = theirs("float64")
    died = weakref.ref(origin)
    view = ra.from_dlpack(origin)[3:]
    del origin
    gc.collect()
    assert died() is not None
    assert view.tolist() == grid.values("float64")[3:]
    del view
    gc.collect()
    assert died() is None


def test_our_data_lives_as_long_as_numpys_array() -> None:
    source = grid.ours("float64")
    died = weakref.ref(source)
    result = np.from_dlpack(source)[3:]
    del source
    gc.collect()
    assert died() is None, "the export holds our storage, never our Python object"
    grid.check_outlives(result.tolist, 3)


def test_a_chain_through_numpy_keeps_the_first_owner() -> None:
    origin = theirs("int32")
    died = weakref.ref(origin)
    last = np.from_dlpack(ra.from_dlpack(np.from_dlpack(ra.from_dlpack(origin))))
    assert last.ctypes.data == origin.ctypes.data
    del origin
    gc.collect()
    assert last.tolist() == grid.values("int32")
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
    source = grid.ours("float32", "permuted")
    result = np.from_dlpack(grid.Protocol(source))
    assert result.tolist() == grid.expected("float32", "permuted")
    assert result.ctypes.data == grid.address(source)
