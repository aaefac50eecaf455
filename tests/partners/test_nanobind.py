"""nanobind, through an extension: argument constraints, arrays that it owns, read-only data."""

from __future__ import annotations

import gc
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray as ra
from refarray import _native

from . import grid

pytestmark = pytest.mark.nanobind

WRAPPED = run_each("wrap", [lambda x: x, grid.Protocol], ids=["array", "methods only"])
WRITABLE = [name for name, layout in grid.LAYOUTS.items() if not layout.broadcast]
KEYWORDS = ({}, {"max_version": grid.MAX_VERSION}, {"max_version": (0, 8)}, {"copy": False})
ROWS = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@WRAPPED
@run_each("layout", grid.LAYOUTS)
@run_each("dtype", grid.DTYPES)
def test_nanobind_reads_ours(nanobind: ModuleType, dtype: str, layout: str, wrap: Any) -> None:
    source = grid.ours(dtype, layout)
    take = nanobind.take_ro if source.readonly else nanobind.take
    seen = take(wrap(source))
    assert seen["shape"] == source.shape
    assert seen["dtype"] == (source.dtype.code, source.dtype.bits, source.dtype.lanes)
    assert seen["device"] == (1, 0)
    if source.size:
        assert seen["data"] == grid.address(source)
        assert seen["strides"] == source.strides


@run_each("dtype", grid.NARROW)
def test_narrow_dtypes_pass_through(nanobind: ModuleType, dtype: str) -> None:
    grid.check_passes_through(dtype, lambda x: ra.from_dlpack(nanobind.pass_on(x)))


@run_each("layout", WRITABLE)
@run_each("dtype", grid.DTYPES)
def test_we_read_nanobind(nanobind: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    passed = nanobind.pass_on(source)
    assert type(passed).__name__ == "nb_ndarray"
    for keywords in KEYWORDS:
        result = ra.from_dlpack(passed, **keywords)
        grid.check_import(result, dtype, layout, grid.address(source), source.strides)
        assert not result.readonly
    if source.size:
        grid.assert_writes_seen(source, result, dtype)


@run_each("padded", [False, True])
@run_each("shape", [(2, 3), (1, 1), (3, 0), (0, 3)])
def test_arrays_that_nanobind_owns(
    nanobind: ModuleType, shape: tuple[int, int], padded: bool
) -> None:
    numbers = np.arange(float(shape[0] * shape[1])).reshape(shape).tolist()
    for give, readonly in ((nanobind.give, False), (nanobind.give_const, True)):
        before = nanobind.released()
        exported = give(*shape, padded)
        for take in (ra.from_dlpack, ra.from_buffer, ra.asarray):
            result = take(exported)
            assert result.tolist() == numbers
            assert result.readonly is readonly
        view = ra.from_dlpack(exported)[:, 1:]
        del exported, result
        gc.collect()
        assert nanobind.released() == before
        assert view.tolist() == [row[1:] for row in numbers]
        del view
        gc.collect()
        assert nanobind.released() == before + 1


@WRAPPED
def test_writable_arguments_reject_read_only_arrays(nanobind: ModuleType, wrap: Any) -> None:
    source = grid.ours("float32", "window").as_readonly()
    for refuse in (lambda: nanobind.take(wrap(source)), lambda: nanobind.fill(wrap(source), 1.0)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            refuse()
    assert nanobind.take_ro(wrap(source))["data"] == grid.address(source)
    assert nanobind.sum(wrap(source)) == np.sum(grid.expected("float32", "window"))
    passed = nanobind.pass_on_ro(wrap(source))
    result = ra.from_dlpack(passed)
    assert result.readonly
    assert grid.info(result)["flags"] & 1
    assert grid.address(result) == grid.address(source)


@WRAPPED
def test_an_extension_writes_into_our_array(nanobind: ModuleType, wrap: Any) -> None:
    whole = grid.ours("float32")
    window = whole.reshape((4, 6))[::-1, 1::2]
    nanobind.fill(wrap(window), 7.0)
    assert window.tolist() == [[7.0] * 3] * 4
    assert whole.tolist() == [
        7.0 if index % 6 in (1, 3, 5) else float(index) for index in range(24)
    ]
    assert nanobind.sum(wrap(window)) == 84.0


@WRAPPED
def test_dtype_and_shape_are_constraints(nanobind: ModuleType, wrap: Any) -> None:
    assert nanobind.take_cube(wrap(grid.ours("int32", "cube")))["shape"] == (2, 3, 4)
    assert nanobind.take_rows(wrap(ra.zeros((5, 3))))["shape"] == (5, 3)
    assert nanobind.take_rows(wrap(ra.zeros((4, 6))[::2, 1::2]))["strides"] == (12, 2)
    for function, array in (
        (nanobind.take_cube, grid.ours("int64", "cube")),
        (nanobind.take_cube, grid.ours("int32", "permuted")),
        (nanobind.take_cube, grid.ours("int32", "flat")),
        (nanobind.take_cube, ra.zeros((4, 3, 2), dtype="int32")),
        (nanobind.take_rows, ra.zeros((5, 2))),
        (nanobind.take_rows, ra.zeros((5, 3), dtype="float32")),
        (nanobind.sum, grid.ours("float64", "window")),
        (nanobind.sum, grid.ours("float32", "flat")),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            function(wrap(array))


def test_our_data_outlives_our_array_in_nanobind(nanobind: ModuleType) -> None:
    before = nanobind.released()
    held = [nanobind.pass_on(grid.ours("int64"))]
    grid.check_outlives(lambda: ra.from_dlpack(held[0]).tolist())
    assert nanobind.released() == before
    held.clear()
    gc.collect()
    assert nanobind.released() == before + 1


@pytest.mark.quirk("nanobind-keeps-the-capsules-name")
def test_a_consumed_capsule_keeps_its_name(nanobind: ModuleType) -> None:
    """The tensor of this capsule has been consumed: it must not be imported again."""
    capsule = grid.ours("float32").__dlpack__(max_version=(1, 0))

    class Once:
        def __dlpack__(self, **_: Any) -> Any:
            return capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert nanobind.take(Once())["shape"] == (24,)
    assert '"dltensor_versioned"' in repr(capsule)


@pytest.mark.quirk("nanobind-never-copies")
def test_copy_true_is_refused_by_nanobind_itself(nanobind: ModuleType) -> None:
    exported = nanobind.give(2, 3, False)
    with pytest.raises(BufferError, match="copy=True is not supported"):
        ra.from_dlpack(exported, copy=True)
    assert ra.from_dlpack(exported).copy().tolist() == ROWS


@pytest.mark.quirk("nanobind-legacy-loses-read-only")
def test_read_only_data_in_a_legacy_capsule_is_writable(nanobind: ModuleType) -> None:
    assert ra.from_dlpack(nanobind.give_const(2, 3, False)).readonly
    assert not ra.from_dlpack(nanobind.give_const(2, 3, False), max_version=(0, 8)).readonly


@pytest.mark.quirk("nanobind-ignores-streams")
def test_any_stream_is_accepted(nanobind: ModuleType) -> None:
    capsule = nanobind.give(2, 3, False).__dlpack__(stream=5, max_version=grid.MAX_VERSION)
    assert _native._inspect_capsule(capsule)["version"] == (1, 1)


@pytest.mark.quirk("nanobind-hides-refusals")
def test_a_producers_error_is_replaced(nanobind: ModuleType) -> None:
    class Refusing(grid.Protocol):
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("no")

    with pytest.raises(TypeError, match="incompatible function arguments"):
        nanobind.take(Refusing(grid.ours("float32")))
