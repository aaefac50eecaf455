"""TensorFlow as producer and consumer: legacy capsules of dense tensors, and read-only buffers."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest

import refarray as ra
from refarray import _native

from ..grid import DTYPES, LAYOUTS, MAX_VERSION, NARROW, address, check_outlives, ours, values
from .grids import check_alias, check_theirs, numpys, take_ours

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def tf() -> ModuleType:
    return importlib.import_module("tensorflow")


def take(tf: ModuleType, source: Any) -> Any:
    return tf.experimental.dlpack.from_dlpack(source.__dlpack__())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensorflow_reads_ours(tf: ModuleType, dtype: str, layout: str) -> None:
    tensor = take_ours("tensorflow", lambda x: take(tf, x), lambda x: x.numpy(), dtype, layout)
    assert tensor is None or tensor.dtype.name == dtype


@pytest.mark.parametrize("dtype", NARROW)
def test_tensorflow_reads_our_narrow_dtypes(tf: ModuleType, dtype: str) -> None:
    tensor = take_ours("tensorflow", lambda x: take(tf, x), lambda x: x.numpy(), dtype)
    assert tensor is None or tensor.dtype.name == dtype


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_we_read_tensorflow(tf: ModuleType, dtype: str, layout: str) -> None:
    tensor = tf.constant(numpys(dtype, layout))
    for keywords in ({}, {"max_version": MAX_VERSION}, {"copy": False}):
        check_theirs(ra.from_dlpack(tensor, **keywords), dtype, layout)
    buffer = ra.from_buffer(tensor)
    check_theirs(buffer, dtype, layout)
    assert buffer.readonly


def test_we_read_tensorflows_bfloat16(tf: ModuleType) -> None:
    result = ra.from_dlpack(tf.cast(tf.constant(values("float32")), tf.bfloat16))
    check_theirs(result, "bfloat16")


def test_memory_is_shared_both_ways(tf: ModuleType) -> None:
    source = ours("float32", "cube")
    tensor = take(tf, source)
    check_alias(source, tensor.numpy)
    back = ra.from_dlpack(tensor)
    assert address(back) == address(source)
    assert address(ra.from_dlpack(tensor)) == address(ra.from_dlpack(tensor, copy=False))


@pytest.mark.quirk("tensorflow-capsules-only")
def test_tensorflow_imports_legacy_capsules_only(tf: ModuleType) -> None:
    source = ours("float32")
    with pytest.raises(TypeError, match="incompatible function arguments"):
        tf.experimental.dlpack.from_dlpack(source)
    capsule = source.__dlpack__(max_version=MAX_VERSION)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dltensor"):
        tf.experimental.dlpack.from_dlpack(capsule)
    assert ra.from_capsule(capsule).tolist() == values("float32"), "the refused capsule is ours"


@pytest.mark.quirk("tensorflow-legacy-only")
def test_tensorflow_exports_immutable_data_in_legacy_capsules(tf: ModuleType) -> None:
    tensor = tf.constant(values("float32"))
    capsule = tensor.__dlpack__(max_version=MAX_VERSION)
    assert _native._inspect_capsule(capsule)["struct"] == "DLManagedTensor"
    assert not ra.from_dlpack(tensor).readonly
    assert ra.from_buffer(tensor).readonly


@pytest.mark.quirk("tensorflow-runtime-errors")
@pytest.mark.parametrize("keywords", [{"copy": True}, {"dl_device": (1, 0)}, {"stream": 1}])
def test_tensorflows_refusals(tf: ModuleType, keywords: dict[str, Any]) -> None:
    tensor = tf.constant(values("float32"))
    with pytest.raises(RuntimeError, match="does not support DLPack export"):
        tensor.__dlpack__(**keywords)
    for ours_ in ({"copy": True}, {"device": "cpu"}):
        with pytest.raises(RuntimeError, match="does not support DLPack export"):
            ra.from_dlpack(tensor, **ours_)


def test_read_only_is_refused_to_tensorflow(tf: ModuleType) -> None:
    with pytest.raises(BufferError, match="read-only"):
        take(tf, ours("float32").as_readonly())


def test_lifetimes(tf: ModuleType) -> None:
    theirs = take(tf, ours("float32"))
    mine = ra.from_dlpack(tf.constant(values("float32")))[2:]
    check_outlives(lambda: theirs.numpy().tolist())
    check_outlives(mine.tolist, 2, lambda: tf.zeros(24))
