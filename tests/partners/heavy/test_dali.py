"""NVIDIA DALI's tensors and pipelines on the CPU, as producer and consumer, without a GPU."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import refarray as ra
from refarray import _native

from .. import grid
from .grids import check_alias, check_theirs, numpys, take_ours

pytestmark = pytest.mark.dali

HELD = [name for name in grid.DTYPES if not name.startswith("complex")]


@pytest.fixture(scope="module")
def backend() -> ModuleType:
    return importlib.import_module("nvidia.dali.backend")


@pytest.mark.parametrize("layout", grid.LAYOUTS)
@pytest.mark.parametrize("dtype", [*grid.DTYPES, *grid.NARROW])
def test_dali_reads_our_capsules(backend: ModuleType, dtype: str, layout: str) -> None:
    layout = layout if dtype in grid.DTYPES else "flat"

    def take(source: Any) -> Any:
        return backend.TensorCPU(source.__dlpack__())

    tensor = take_ours("dali", take, np.array, dtype, layout)
    assert tensor is None or tuple(tensor.shape()) == tuple(np.array(tensor).shape)


@pytest.mark.parametrize("layout", ["flat", "one", "cube", "size-1", "eight", "offset"])
@pytest.mark.parametrize("dtype", HELD)
def test_dali_reads_our_buffers(backend: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    tensor = backend.TensorCPU(source)
    assert np.array(tensor).tolist() == grid.expected(dtype, layout)
    assert tensor.data_ptr() == grid.address(source)


@pytest.mark.parametrize("layout", grid.LAYOUTS)
@pytest.mark.parametrize("dtype", HELD)
def test_we_read_dali(backend: ModuleType, dtype: str, layout: str) -> None:
    origin = numpys(dtype, layout)
    tensor = backend.TensorCPU(origin)
    for keywords in ({}, {"max_version": grid.MAX_VERSION}, {"copy": False}, {"device": "cpu"}):
        result = ra.from_dlpack(tensor, **keywords)
        check_theirs(result, dtype, layout, tensor.data_ptr() if result.size else None)
    check_theirs(ra.from_buffer(tensor), dtype, layout)


def test_memory_is_shared_both_ways(backend: ModuleType) -> None:
    source = grid.ours("float32", "cube")
    tensor = backend.TensorCPU(source.__dlpack__())
    check_alias(source, lambda: np.array(tensor))
    grid.assert_writes_seen(source, ra.from_dlpack(tensor), "float32")
    grid.assert_independent(source, ra.from_dlpack(tensor, copy=True), "float32")


@pytest.mark.quirk("dali-legacy-only")
def test_dali_exports_legacy_capsules_without_strides(backend: ModuleType) -> None:
    tensor = backend.TensorCPU(numpys("float32", "cube"))
    found = _native._inspect_capsule(tensor.__dlpack__(max_version=grid.MAX_VERSION))
    assert (found["struct"], found["strides"]) == ("DLManagedTensor", None)
    with pytest.raises(RuntimeError, match="Invalid DLPack tensor capsule"):
        backend.TensorCPU(grid.ours("float32").__dlpack__(max_version=grid.MAX_VERSION))


@pytest.mark.quirk("dali-no-dl-device")
def test_dali_has_no_dl_device(backend: ModuleType) -> None:
    tensor = backend.TensorCPU(numpys("float32"))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        tensor.__dlpack__(dl_device=(1, 0))
    assert ra.from_capsule(tensor.__dlpack__(stream=5)).tolist() == grid.values("float32")


def test_read_only_is_refused_to_dali(backend: ModuleType) -> None:
    with pytest.raises(BufferError, match="read-only"):
        backend.TensorCPU(grid.ours("float32").as_readonly().__dlpack__())


def test_our_arrays_through_a_pipeline(backend: ModuleType) -> None:
    """A CPU pipeline reads refarray's arrays from an external source and returns twice the
    values."""
    dali = importlib.import_module("nvidia.dali")
    fn = importlib.import_module("nvidia.dali.fn")
    layouts = ("cube", "size-1")
    batch = [grid.ours("float32", layout) for layout in layouts]

    @dali.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def twice() -> Any:
        return fn.external_source(source=lambda: batch) * 2.0

    pipeline = twice()
    pipeline.build()
    (result,) = pipeline.run()
    for index, source in enumerate(batch):
        mine = ra.from_dlpack(result[index])
        assert mine.shape == source.shape
        assert mine.tolist() == (np.array(source.tolist()) * 2).tolist()
        assert source.tolist() == grid.expected("float32", layouts[index])


def test_lifetimes(backend: ModuleType) -> None:
    theirs = backend.TensorCPU(grid.ours("float32").__dlpack__())
    shared = backend.TensorCPU(grid.ours("float32"))
    mine = ra.from_dlpack(backend.TensorCPU(numpys("float32")))[2:]
    grid.check_outlives(lambda: np.array(theirs).tolist())
    grid.check_outlives(lambda: np.array(shared).tolist())
    grid.check_outlives(mine.tolist, 2, lambda: numpys("float32") + 1)
