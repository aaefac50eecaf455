"""NumPy before versioned DLPack, as producer and consumer: 1.23.2, the oldest for Python 3.11."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import refarray as ra

from .. import grid, limits

pytestmark = pytest.mark.numpy


@pytest.mark.parametrize("layout", grid.LAYOUTS)
@pytest.mark.parametrize("dtype", [*grid.DTYPES, *grid.NARROW])
def test_old_numpy_reads_ours(dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout if dtype in grid.DTYPES else "flat")
    if source.readonly:
        with pytest.raises(
            BufferError, match="read-only"
        ):  # raised by refarray: NumPy requests a legacy capsule
            np.from_dlpack(source)
        source = source.copy()
    facets = (f"dtype:{dtype}",)
    result = limits.attempt("numpy", "to", facets, lambda: np.from_dlpack(source))
    if result is None:
        return
    assert result.dtype == np.dtype(dtype)
    assert result.tolist() == grid.expected(dtype, layout)
    if result.size:
        assert result.ctypes.data == grid.address(source)
        assert grid.element_strides(result) == source.strides


@pytest.mark.parametrize("layout", grid.LAYOUTS)
@pytest.mark.parametrize("dtype", grid.DTYPES)
def test_we_read_old_numpy(dtype: str, layout: str) -> None:
    origin = grid.LAYOUTS[layout].build(grid.NUMPY, np.array(grid.values(dtype), dtype=dtype))
    facets = (f"dtype:{dtype}", f"layout:{layout}")
    result = limits.attempt("numpy", "from", facets, lambda: ra.from_dlpack(origin))
    if result is None:
        return
    grid.check_import(result, dtype, layout, origin.ctypes.data, grid.element_strides(origin))


@pytest.mark.parametrize("layout", grid.LAYOUTS)
@pytest.mark.parametrize("dtype", grid.DTYPES)
def test_buffers_carry_what_old_dlpack_does_not(dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    result = np.asarray(memoryview(source))
    assert result.dtype == np.dtype(dtype)
    assert result.tolist() == grid.expected(dtype, layout)
    assert result.flags.writeable is not source.readonly
    origin = grid.LAYOUTS[layout].build(grid.NUMPY, np.array(grid.values(dtype), dtype=dtype))
    back = ra.from_buffer(origin)
    assert back.tolist() == grid.expected(dtype, layout)
    assert back.readonly is not origin.flags.writeable


@pytest.mark.quirk("numpy-legacy-always-read-only")
def test_imports_of_old_numpy_are_read_only() -> None:
    source = grid.ours("float32")
    result = np.from_dlpack(source)
    assert not result.flags.writeable
    source[0] = 7.0
    assert result[0] == 7.0


def test_read_only_data_is_refused_by_old_numpy() -> None:
    origin = np.arange(3.0)
    origin.flags.writeable = False
    facets = ("flag:readonly",)
    assert limits.attempt("numpy", "from", facets, lambda: ra.from_dlpack(origin)) is None
    result = ra.from_buffer(origin)
    assert result.readonly
    assert grid.info(result)["flags"] & 1


@pytest.mark.quirk("numpy-legacy-keywords")
def test_keywords_that_old_numpy_lacks() -> None:
    origin = np.arange(6.0)
    assert grid.address(ra.from_dlpack(origin, max_version=(1, 3))) == origin.ctypes.data
    assert grid.address(ra.from_dlpack(origin, device="cpu")) == origin.ctypes.data
    grid.assert_independent(origin, ra.from_dlpack(origin, copy=True), "float64")
    with pytest.raises(ra.NoCopyError, match="does not take copy="):
        ra.from_dlpack(origin, copy=False)


def test_writes_and_lifetimes() -> None:
    origin = np.arange(24.0)
    died = weakref.ref(origin)
    result = ra.from_dlpack(origin)
    grid.assert_writes_seen(origin, result, "float64")
    theirs = np.from_dlpack(result)
    del origin, result
    gc.collect()
    assert died() is not None
    assert theirs.tolist()[1:] == grid.values("float64")[1:]
    del theirs
    gc.collect()
    assert died() is None
