"""TVM's tensors, built on tvm-ffi's, as producer and consumer over our exchange API."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

import refarray as ra

from .. import grid, limits
from .grids import check_theirs, numpys

pytestmark = pytest.mark.tvm

COMPLEX = ("complex64", "complex128")
KEYWORDS = ({}, {"max_version": grid.MAX_VERSION}, {"copy": False}, {"device": "cpu"})


@pytest.fixture(scope="module")
def runtime() -> ModuleType:
    return importlib.import_module("tvm").runtime


@pytest.mark.parametrize("layout", grid.LAYOUTS)
@pytest.mark.parametrize("dtype", grid.DTYPES)
def test_tvm_reads_ours(runtime: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    if grid.LAYOUTS[layout].broadcast:  # not dense: tvm-ffi retries with a legacy capsule
        with pytest.raises(BufferError, match="read-only"):
            runtime.from_dlpack(source)
        return
    facets = (f"layout:{layout}",)
    tensor = limits.attempt("tvm", "to", facets, lambda: runtime.from_dlpack(source))
    if tensor is None:
        return
    assert isinstance(tensor, runtime.Tensor)
    assert tuple(tensor.shape) == source.shape
    assert np.from_dlpack(tensor).tolist() == grid.expected(dtype, layout)
    if source.size:
        assert tensor.data_ptr() == grid.address(source)


@pytest.mark.parametrize("dtype", grid.NARROW)
def test_narrow_dtypes_pass_through(runtime: ModuleType, dtype: str) -> None:
    grid.check_passes_through(dtype, lambda x: ra.from_dlpack(runtime.from_dlpack(x)))


@pytest.mark.parametrize("layout", grid.LAYOUTS)
@pytest.mark.parametrize("dtype", [name for name in grid.DTYPES if name not in COMPLEX])
def test_we_read_tvm(runtime: ModuleType, dtype: str, layout: str) -> None:
    tensor = runtime.tensor(numpys(dtype, layout))
    for keywords in KEYWORDS:
        result = ra.from_dlpack(tensor, **keywords)
        at = tensor.data_ptr() if result.size else None
        check_theirs(result, dtype, layout, at)


@pytest.mark.quirk("tvm-complex-unnamed")
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_dtypes_have_no_name(runtime: ModuleType, dtype: str) -> None:
    tensor = runtime.from_dlpack(grid.ours(dtype))
    with pytest.raises(ValueError, match="type_code"):
        str(tensor.dtype)
    assert ra.from_dlpack(tensor).tolist() == grid.values(dtype)


def test_writes_are_seen_through_tvm(runtime: ModuleType) -> None:
    source = grid.ours("float32", "cube")
    tensor = runtime.from_dlpack(source)
    grid.assert_writes_seen(source, np.from_dlpack(tensor), "float32")
    grid.assert_writes_seen(source, ra.from_dlpack(tensor), "float32")


@pytest.mark.quirk("tvm-loses-read-only")
def test_read_only_is_lost(runtime: ModuleType) -> None:
    source = grid.ours("float32").as_readonly()
    laundered = ra.from_dlpack(runtime.from_dlpack(source))
    assert grid.address(laundered) == grid.address(source)
    assert not laundered.readonly


@pytest.mark.quirk("tvm-never-copies")
def test_copy_true_is_refused_by_tvm(runtime: ModuleType) -> None:
    with pytest.raises(BufferError, match="copy not yet supported"):
        ra.from_dlpack(runtime.tensor(numpys("float32")), copy=True)


@pytest.mark.quirk("tvm-max-version-0")
def test_max_version_0_raises_an_attribute_error(runtime: ModuleType) -> None:
    with pytest.raises(AttributeError):
        ra.from_dlpack(runtime.tensor(numpys("float32")), max_version=(0, 8))


def test_lifetimes(runtime: ModuleType) -> None:
    theirs = runtime.from_dlpack(grid.ours("float32"))
    mine = ra.from_dlpack(runtime.tensor(numpys("float32")))[2:]
    grid.check_outlives(lambda: theirs.numpy().tolist())
    grid.check_outlives(mine.tolist, 2, lambda: runtime.tensor(numpys("float32")))
