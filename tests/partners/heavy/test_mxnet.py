"""MXNet as producer and consumer of legacy capsules, with dense arrays only."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.processes import printed

import refarray as ra
from refarray import _native

from ..grid import DTYPES, LAYOUTS, NARROW, address, check_outlives, ours, raw_bytes, values
from .grids import check_alias, check_theirs, numpys, take_ours

pytestmark = [
    pytest.mark.mxnet,
    # MXNet 1.9.1, of 2022, uses functions that NumPy and Python have since deprecated.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

HELD = ("int8", "int32", "int64", "uint8", "float16", "float32", "float64")
WIDE = [name for name in NARROW if name != "bfloat16"]


@pytest.fixture(scope="module")
def nd() -> ModuleType:
    return importlib.import_module("mxnet").nd


def take(nd: ModuleType, source: Any) -> Any:
    array = nd.from_dlpack(source.__dlpack__())
    array.wait_to_read()
    return array


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_mxnet_reads_ours(nd: ModuleType, dtype: str, layout: str) -> None:
    array = take_ours("mxnet", lambda x: take(nd, x), lambda x: x.asnumpy(), dtype, layout)
    assert array is None or array.dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", WIDE)
def test_mxnet_has_no_other_narrow_dtypes(nd: ModuleType, dtype: str) -> None:
    assert take_ours("mxnet", lambda x: take(nd, x), lambda x: x.asnumpy(), dtype) is None


def test_mxnet_reads_our_bfloat16(nd: ModuleType) -> None:
    """NumPy has no bfloat16, so asnumpy() returns the bits; the capsule round-trips unchanged."""
    source = ours("bfloat16")
    array = take(nd, source)
    assert array.asnumpy().tobytes() == raw_bytes(source)
    back = ra.from_capsule(array.to_dlpack_for_read())
    check_theirs(back, "bfloat16")
    assert address(back) == address(source)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "empty-inner"])
@pytest.mark.parametrize("dtype", HELD)
def test_we_read_mxnet(nd: ModuleType, dtype: str, layout: str) -> None:
    numbers = numpys(dtype, layout)
    if layout == "scalar" or not numbers.size:
        array = take(nd, ra.from_dlpack(numbers))  # MXNet's own functions create neither
    else:
        array = nd.array(numbers, dtype=dtype)
    for export in (array.to_dlpack_for_read, array.to_dlpack_for_write):
        check_theirs(ra.from_capsule(export()), dtype, layout)


def test_memory_is_shared_both_ways(nd: ModuleType) -> None:
    source = ours("float32", "cube")
    array = take(nd, source)
    check_alias(source, array.asnumpy)
    mine = ra.from_capsule(array.to_dlpack_for_write())
    assert address(mine) == address(source)
    array[:] = 5
    array.wait_to_read()
    assert mine[0, 0, 0].item() == source[1, 2, 3].item() == 5.0


@pytest.mark.quirk("mxnet-capsules-only")
def test_mxnet_takes_legacy_capsules_only(nd: ModuleType) -> None:
    source = ours("float32")
    with pytest.raises(AssertionError, match="Invalid DLPack Tensor"):
        nd.from_dlpack(source)
    capsule = source.__dlpack__(max_version=(1, 0))
    with pytest.raises(AssertionError, match="Invalid DLPack Tensor"):
        nd.from_dlpack(capsule)
    assert ra.from_capsule(capsule).tolist() == values("float32"), "the refused capsule is ours"
    with pytest.raises(AttributeError):
        ra.from_dlpack(nd.zeros(3))


@pytest.mark.quirk("mxnet-bool-is-one-bit")
def test_mxnets_bool_is_a_one_bit_integer(nd: ModuleType) -> None:
    array = nd.zeros((2, 3), dtype="bool")
    assert _native._inspect_capsule(array.to_dlpack_for_read())["dtype"] == (1, 1, 1)
    capsule = array.to_dlpack_for_read()
    with pytest.raises(BufferError, match="dtype"):
        ra.from_capsule(capsule)


CHILD = """
import warnings; warnings.simplefilter("ignore")
import mxnet, refarray
try:
    refarray.from_capsule(mxnet.nd.zeros(3, dtype="bool").to_dlpack_for_read())
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.quirk("mxnet-capsules-lose-exceptions")
def test_the_destructor_of_mxnets_capsules_loses_our_error() -> None:
    """The interpreter drops the capsule while refarray's BufferError propagates; see the test
    above."""
    assert printed(CHILD).strip() == "SystemError"


@pytest.mark.quirk("mxnet-null-strides")
def test_mxnet_exports_null_strides(nd: ModuleType) -> None:
    capsule = nd.zeros((2, 3)).to_dlpack_for_read()
    assert _native._inspect_capsule(capsule)["strides"] is None
    assert ra.from_capsule(capsule).strides == (3, 1)


def test_read_only_is_refused_to_mxnet(nd: ModuleType) -> None:
    with pytest.raises(BufferError, match="read-only"):
        take(nd, ours("float32").as_readonly())


def test_lifetimes(nd: ModuleType) -> None:
    theirs = take(nd, ours("float32"))
    mine = ra.from_capsule(nd.array(values("float32")).to_dlpack_for_read())[2:]
    check_outlives(lambda: theirs.asnumpy().tolist())
    check_outlives(mine.tolist, 2, lambda: nd.zeros(24))
