"""PyArrow as producer and consumer: tensors and immutable arrays by DLPack, and its buffers."""

from __future__ import annotations

import gc
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray as ra
from refarray import _native

from . import grid, limits

pytestmark = pytest.mark.pyarrow

IS_COPIED = 2
# Without bool, which is a bit in Arrow's arrays.
HELD = [name for name in grid.DTYPES if name != "bool" and not name.startswith("complex")]
FLAT = ("flat", "one", "offset")
KEYWORDS = ({}, {"max_version": grid.MAX_VERSION}, {"copy": False}, {"device": "cpu"})


def arrow_facets(dtype: str, layout: str) -> tuple[str, ...]:
    """The facet that Tensor.from_numpy() checks first: negative strides come before the dtype."""
    return (f"layout:{layout}",) if grid.LAYOUTS[layout].negative else (f"dtype:{dtype}",)


def theirs(pyarrow: ModuleType, dtype: str, layout: str = "flat") -> tuple[Any, Any]:
    """A NumPy array of the grid, and the Arrow tensor that shares its memory."""
    origin = grid.LAYOUTS[layout].build(grid.NUMPY, np.array(grid.values(dtype), dtype=dtype))
    return origin, pyarrow.Tensor.from_numpy(origin)


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", grid.DTYPES)
def test_arrows_tensor_reads_ours(pyarrow: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    facets = (f"dtype:{dtype}", f"layout:{layout}")
    tensor = limits.attempt("pyarrow", "to", facets, lambda: pyarrow.Tensor.from_dlpack(source))
    if tensor is None:
        return
    assert tensor.shape == source.shape
    assert tensor.to_numpy().dtype == np.dtype(dtype)
    assert tensor.to_numpy().tolist() == grid.expected(dtype, layout)
    if source.size:
        assert tensor.to_numpy().ctypes.data == grid.address(source)
        assert tensor.is_mutable is not source.readonly
        assert tensor.strides == tuple(stride * source.itemsize for stride in source.strides)


@run_each("dtype", grid.NARROW)
def test_arrow_has_no_narrow_dtypes(pyarrow: ModuleType, dtype: str) -> None:
    source = grid.ours(dtype)
    for kind in (pyarrow.Tensor, pyarrow.Array):
        take = kind.from_dlpack
        assert limits.attempt("pyarrow", "to", (f"dtype:{dtype}",), lambda: take(source)) is None  # noqa: B023


@run_each("layout", FLAT)
@run_each("dtype", grid.DTYPES)
def test_arrows_array_reads_ours(pyarrow: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    facets = (f"dtype:{dtype}",)
    array = limits.attempt("pyarrow", "to", facets, lambda: pyarrow.Array.from_dlpack(source))
    if array is not None:
        assert array.to_pylist() == grid.expected(dtype, layout)
        assert array.buffers()[1].address == grid.address(source)


@pytest.mark.quirk("pyarrow-array-is-1-d")
@run_each("layout", [name for name in grid.LAYOUTS if name not in FLAT])
def test_arrows_array_imports_flat_data_only(pyarrow: ModuleType, layout: str) -> None:
    with pytest.raises(pyarrow.ArrowInvalid, match="one dimensional"):
        pyarrow.Array.from_dlpack(grid.ours("float32", layout))


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", [name for name in grid.DTYPES if name != "bool"])
def test_we_read_arrows_tensor(pyarrow: ModuleType, dtype: str, layout: str) -> None:
    facets = arrow_facets(dtype, layout)
    made = limits.attempt("pyarrow", "from", facets, lambda: theirs(pyarrow, dtype, layout))
    if made is None:
        return
    origin, tensor = made
    for keywords in KEYWORDS:
        result = ra.from_dlpack(tensor, **keywords)
        grid.check_import(result, dtype, layout, origin.ctypes.data)
        assert not origin.size or result.readonly is not origin.flags.writeable


@pytest.mark.quirk("pyarrow-bool-tensor-uint8")
def test_a_tensor_of_bool_arrives_as_bytes(pyarrow: ModuleType) -> None:
    result = ra.from_dlpack(theirs(pyarrow, "bool")[1])
    assert str(result.dtype) == "uint8"
    assert result.tolist() == grid.values("bool")


@run_each("dtype", HELD)
def test_we_read_arrows_array_read_only(pyarrow: ModuleType, dtype: str) -> None:
    origin = pyarrow.array(np.array(grid.values(dtype), dtype=dtype))
    for source, numbers in ((origin, grid.values(dtype)), (origin[5:11], grid.values(dtype)[5:11])):
        result = ra.from_dlpack(source)
        assert str(result.dtype) == dtype
        assert result.tolist() == numbers
        assert result.readonly
        start = source.offset * result.itemsize
        assert grid.address(result) == source.buffers()[1].address + start
        with pytest.raises(ValueError, match="read-only"):
            grid.put(result, grid.marks(dtype)[0])
        with pytest.raises(BufferError):
            result.__dlpack__()


# ArrowTypeError is a TypeError, so refarray retries without max_version, which warns.
@pytest.mark.filterwarnings("ignore:Exporting an unversioned:DeprecationWarning")
@pytest.mark.quirk("pyarrow-bool-refused")
@pytest.mark.parametrize("items", [[True, False], [1, None], ["a"]], ids=["bool", "null", "text"])
def test_errors_of_arrows_export_are_passed_on(pyarrow: ModuleType, items: Any) -> None:
    with pytest.raises(pyarrow.ArrowTypeError):
        ra.from_dlpack(pyarrow.array(items))


def test_a_subclass_says_its_device(pyarrow: ModuleType) -> None:
    """PyArrow's own __dlpack_device__ is not called; that of a subclass is."""
    asked = []

    class Moved(pyarrow.FloatArray):  # type: ignore[misc, name-defined]
        def __dlpack_device__(self) -> tuple[int, int]:
            asked.append(self)
            return 1, 0

        def __dlpack__(self, **keywords: Any) -> Any:
            return pyarrow.array([1.0, 2.0]).__dlpack__(**keywords)

    assert ra.from_dlpack(pyarrow.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert not asked
    assert ra.from_dlpack(Moved.__new__(Moved)).tolist() == [1.0, 2.0]
    assert len(asked) == 1


@run_each("dtype", HELD)
def test_writes_are_seen_on_both_sides(pyarrow: ModuleType, dtype: str) -> None:
    source = grid.ours(dtype, "window")
    grid.assert_writes_seen(source, pyarrow.Tensor.from_dlpack(source).to_numpy(), dtype)
    origin, tensor = theirs(pyarrow, dtype, "window")
    grid.assert_writes_seen(origin, ra.from_dlpack(tensor), dtype)


def test_read_only_round_trips(pyarrow: ModuleType) -> None:
    source = grid.ours("float32").as_readonly()
    tensor = pyarrow.Tensor.from_dlpack(source)
    assert not tensor.is_mutable
    assert not tensor.to_numpy().flags.writeable
    assert ra.from_dlpack(tensor).readonly
    assert not pyarrow.Array.from_dlpack(source).buffers()[1].is_mutable
    origin = np.arange(3.0)
    origin.flags.writeable = False
    result = ra.from_dlpack(pyarrow.Tensor.from_numpy(origin))
    assert result.readonly
    assert grid.info(result)["flags"] & 1


def test_copies_are_flagged_and_writable(pyarrow: ModuleType) -> None:
    origin, tensor = theirs(pyarrow, "float64")
    for source in (tensor, pyarrow.array(origin)):
        capsule = source.__dlpack__(max_version=grid.MAX_VERSION, copy=True)
        assert _native._inspect_capsule(capsule)["flags"] == IS_COPIED
        copy = ra.from_dlpack(source, copy=True)
        assert not copy.readonly
        grid.put(copy, 7.0)
        assert origin[0] == 0.0
    ours_ = grid.ours("float64")
    for kind in (pyarrow.Tensor, pyarrow.Array):
        copied = ra.from_dlpack(kind.from_dlpack(ours_, copy=True))
        assert grid.address(copied) != grid.address(ours_)
        assert copied.tolist() == grid.values("float64")
        assert grid.address(ra.from_dlpack(kind.from_dlpack(ours_, copy=False))) == grid.address(
            ours_
        )


@pytest.mark.quirk("pyarrow-device-names")
def test_arrow_accepts_devices_as_pairs(pyarrow: ModuleType) -> None:
    source = grid.ours("float32")
    assert pyarrow.Tensor.from_dlpack(source, device=(1, 0)).to_numpy().ctypes.data == grid.address(
        source
    )
    with pytest.raises(TypeError, match="dl_device must be a tuple of two ints, not 'cpu'"):
        pyarrow.Tensor.from_dlpack(source, device="cpu")


@pytest.mark.quirk("pyarrow-legacy-array-writable")
def test_a_legacy_capsule_of_an_array_arrives_writable(pyarrow: ModuleType) -> None:
    origin = pyarrow.array([1, 2, 3])
    with pytest.warns(DeprecationWarning, match="unversioned"):
        result = ra.from_dlpack(origin, max_version=(0, 8))
    assert not result.readonly
    assert grid.address(result) == origin.buffers()[1].address


@pytest.mark.quirk("pyarrow-legacy-copy")
@pytest.mark.parametrize("copy", [True, False])
def test_arrow_refuses_copy_to_legacy_consumers(pyarrow: ModuleType, copy: bool) -> None:
    with pytest.raises(BufferError, match="copy"):
        pyarrow.array([1, 2]).__dlpack__(copy=copy)


def test_only_the_methods_are_needed(pyarrow: ModuleType) -> None:
    source = grid.ours("int32", "cube")
    tensor = pyarrow.Tensor.from_dlpack(grid.Protocol(source))
    assert tensor.to_numpy().ctypes.data == grid.address(source)


@run_each("dtype", grid.DTYPES)
def test_arrow_reads_our_buffer(pyarrow: ModuleType, dtype: str) -> None:
    source = grid.ours(dtype, "offset")
    for array in (source, source.as_readonly()):
        buffer = pyarrow.py_buffer(array)
        assert buffer.address == grid.address(source)
        assert buffer.size == source.nbytes
        assert buffer.is_mutable is not array.readonly


@run_each("dtype", grid.DTYPES)
def test_we_read_arrows_buffer(pyarrow: ModuleType, dtype: str) -> None:
    origin = np.array(grid.values(dtype), dtype=dtype)
    result = ra.from_buffer(pyarrow.py_buffer(origin.tobytes()), dtype=dtype)
    assert result.readonly
    assert result.tolist() == grid.values(dtype)
    shared = ra.from_buffer(pyarrow.py_buffer(origin), dtype=dtype)
    assert grid.address(shared) == origin.ctypes.data
    grid.assert_writes_seen(origin, shared, dtype)


def test_our_data_outlives_our_array_in_arrow(pyarrow: ModuleType) -> None:
    tensor = pyarrow.Tensor.from_dlpack(grid.ours("int64"))
    array = pyarrow.Array.from_dlpack(grid.ours("int64"))[2:]
    buffer = pyarrow.py_buffer(grid.ours("int64"))
    grid.check_outlives(lambda: tensor.to_numpy().tolist())
    grid.check_outlives(array.to_pylist, 2)
    grid.check_outlives(lambda: np.frombuffer(buffer, dtype="int64").tolist())


def test_arrows_data_outlives_its_arrays(pyarrow: ModuleType) -> None:
    views = [
        ra.from_dlpack(pyarrow.array(grid.values("int64")))[2:],
        ra.from_dlpack(theirs(pyarrow, "int64")[1])[2:],
        ra.from_buffer(pyarrow.array(grid.values("int64")).buffers()[1], dtype="int64")[2:24],
    ]
    for view in views:
        grid.check_outlives(view.tolist, 2, lambda: pyarrow.array(range(24)))


# --- __arrow_c_array__


@run_each("dtype", [*HELD, "bool"])
def test_arrow_takes_one_dimensional_arrays(pyarrow: ModuleType, dtype: str) -> None:
    source = ra.asarray(grid.values(dtype), dtype=dtype)
    array = pyarrow.array(source)
    array.validate(full=True)
    assert str(array.type) == {"float16": "halffloat", "float32": "float", "float64": "double"}.get(
        dtype, dtype
    )
    assert array.to_pylist() == source.tolist() and array.null_count == 0
    shared = array.buffers()[1].address == grid.address(source)
    assert shared is (dtype != "bool")
    assert pyarrow.array(ra.flip(source)).to_pylist() == source.tolist()[::-1]
    assert pyarrow.array(source[:0]).to_pylist() == []


def test_arrow_keeps_our_memory_alive(pyarrow: ModuleType) -> None:
    array = pyarrow.array(ra.arange(1000, dtype="int64"))
    gc.collect()
    assert array.to_pylist() == list(range(1000))
    table = pyarrow.table({"x": pyarrow.array(ra.asarray([1.5, 2.5]))})
    assert table.column("x").to_pylist() == [1.5, 2.5]


def test_arrow_asks_for_a_type(pyarrow: ModuleType) -> None:
    source = ra.asarray([1, 2, 3], dtype="int32")
    for wanted in (pyarrow.int64(), pyarrow.float64()):
        array = pyarrow.array(source, type=wanted)
        assert array.type == wanted and array.to_pylist() == [1, 2, 3]
    with pytest.raises(ValueError, match="requested_schema has the format 'u'"):
        pyarrow.array(source, type=pyarrow.string())


def test_nan_is_not_a_missing_value(pyarrow: ModuleType) -> None:
    array = pyarrow.array(ra.asarray([float("nan"), 1.0]))
    assert array.null_count == 0 and str(array[0]) == "nan"
