"""tvm-ffi as producer and consumer: over our exchange API and over the legacy protocol."""

from __future__ import annotations

import gc
import json
import weakref
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.spies import broken, through

import refarray as ra
from refarray.__main__ import main
from refarray.conformance import spy

from . import grid

pytestmark = pytest.mark.tvm_ffi

COMPLEX = ("complex64", "complex128", "complex32")


def named(tensor: Any) -> str:
    return str(tensor.dtype)


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", grid.DTYPES)
@pytest.mark.quirk("tvm-ffi-complex-unnamed")
def test_tvm_ffi_reads_ours(tvm_ffi: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    tensor = tvm_ffi.from_dlpack(source)
    assert tuple(tensor.shape) == source.shape
    if source.size:
        assert tensor.data_ptr() == grid.address(source)
        assert tuple(tensor.strides) == source.strides
    assert np.from_dlpack(tensor).tolist() == grid.expected(dtype, layout)
    if dtype in COMPLEX:
        with pytest.raises(ValueError, match="type_code"):
            named(tensor)  # tvm-ffi imports complex data but has no name for its dtype
    else:
        assert named(tensor) == dtype


@run_each("dtype", grid.NARROW)
def test_narrow_dtypes_pass_through(tvm_ffi: ModuleType, dtype: str) -> None:
    grid.check_passes_through(dtype, lambda x: ra.from_dlpack(tvm_ffi.from_dlpack(x)))


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", grid.DTYPES)
def test_we_read_tvm_ffi(tvm_ffi: ModuleType, dtype: str, layout: str) -> None:
    origin = np.array(
        grid.LAYOUTS[layout].build(np, np.array(grid.values(dtype), dtype=dtype)), order="K"
    )
    tensor = tvm_ffi.from_dlpack(origin)
    at, strides = tensor.data_ptr(), grid.element_strides(origin)
    grid.check_import(ra.from_dlpack(tensor), dtype, layout, at, strides)
    assert not origin.size or at == origin.ctypes.data


@pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), grid.MAX_VERSION])
@pytest.mark.quirk("tvm-ffi-max-version-0")
def test_every_requested_version(tvm_ffi: ModuleType, max_version: tuple[int, int] | None) -> None:
    """max_version=(0, x) is refused by tvm-ffi itself with an AttributeError, which we pass on."""
    tensor = tvm_ffi.from_dlpack(np.arange(6, dtype="int32"))
    if max_version == (0, 8):
        with pytest.raises(AttributeError):
            tensor.__dlpack__(max_version=max_version)
        with pytest.raises(AttributeError):
            ra.from_dlpack(tensor, max_version=max_version)
    else:
        assert ra.from_dlpack(tensor, max_version=max_version).tolist() == list(range(6))


@run_each("dtype", grid.DTYPES)
def test_writes_are_seen_through_tvm_ffi(tvm_ffi: ModuleType, dtype: str) -> None:
    source = grid.ours(dtype, "window")
    grid.assert_writes_seen(source, np.from_dlpack(tvm_ffi.from_dlpack(source)), dtype)
    origin = np.array(grid.values(dtype), dtype=dtype)
    grid.assert_writes_seen(origin, ra.from_dlpack(tvm_ffi.from_dlpack(origin)), dtype)


@run_each("layout", grid.LAYOUTS)
def test_the_exchange_api_and_the_legacy_protocol_agree(tvm_ffi: ModuleType, layout: str) -> None:
    source = grid.ours("float32", layout)
    if source.readonly:  # broadcast views: refused to a legacy consumer
        source = source.copy()
    fast, slow = tvm_ffi.from_dlpack(source), tvm_ffi.from_dlpack(grid.Protocol(source))
    assert (fast.shape, named(fast), fast.data_ptr()) == (slow.shape, named(slow), slow.data_ptr())
    assert tuple(fast.strides) == tuple(slow.strides) == source.strides
    assert np.from_dlpack(slow).tolist() == grid.expected("float32", layout)


def test_tvm_ffi_uses_our_exchange_api(tvm_ffi: ModuleType) -> None:
    """With a broken method the import succeeds only through the exchange API."""

    class Broken(grid.Protocol):
        def __dlpack__(self, **keywords: Any) -> Any:
            raise BufferError("the Python protocol was used")

    with pytest.raises(BufferError, match="the Python protocol was used"):
        tvm_ffi.from_dlpack(Broken(grid.ours("float32")))
    assert tvm_ffi.from_dlpack(grid.ours("float32")).shape == (24,)
    assert hasattr(ra.Array, "__dlpack_c_exchange_api__")


def test_read_only_is_refused_over_the_legacy_protocol(tvm_ffi: ModuleType) -> None:
    with pytest.raises(BufferError):
        tvm_ffi.from_dlpack(grid.Protocol(grid.ours("float32").as_readonly()))


@pytest.mark.quirk("tvm-ffi-loses-read-only")
def test_tvm_ffi_loses_read_only_over_the_exchange_api(tvm_ffi: ModuleType) -> None:
    """tvm-ffi 0.1.15 ignores READ_ONLY in the exchange API, which refarray cannot detect."""
    source = grid.ours("float32").as_readonly()
    assert grid.info(source)["flags"] & 1 == 1
    tensor = tvm_ffi.from_dlpack(source)
    laundered = np.from_dlpack(tensor)
    assert laundered.flags.writeable
    assert laundered.ctypes.data == grid.address(source)


@pytest.mark.quirk("tvm-ffi-never-copies")
def test_copy_true_is_refused_by_tvm_ffi_itself(tvm_ffi: ModuleType) -> None:
    """tvm-ffi 0.1.15 never copies: refarray propagates its error; use `.copy()` instead."""
    origin = np.arange(6, dtype="int32")
    tensor = tvm_ffi.from_dlpack(origin)
    for refuse in (
        lambda: tensor.__dlpack__(max_version=grid.MAX_VERSION, copy=True),
        lambda: ra.from_dlpack(tensor, copy=True),
    ):
        with pytest.raises(BufferError, match="copy not yet supported"):
            refuse()
    grid.assert_independent(origin, ra.from_dlpack(tensor).copy(), "int32")


def test_copy_false_aliases(tvm_ffi: ModuleType) -> None:
    origin = np.arange(6, dtype="int32")
    grid.assert_writes_seen(
        origin, ra.from_dlpack(tvm_ffi.from_dlpack(origin), copy=False), "int32"
    )


def test_lifetime_through_tvm_ffi(tvm_ffi: ModuleType) -> None:
    origin = np.arange(6, dtype="int64")
    died = weakref.ref(origin)
    last = ra.from_dlpack(tvm_ffi.from_dlpack(ra.from_dlpack(tvm_ffi.from_dlpack(origin))))
    del origin
    gc.collect()
    assert last.tolist() == list(range(6))
    del last
    gc.collect()
    assert died() is None


def test_our_data_outlives_our_array_in_tvm_ffi(tvm_ffi: ModuleType) -> None:
    for wrap in (lambda x: x, grid.Protocol):
        tensor = tvm_ffi.from_dlpack(wrap(grid.ours("int64")))
        grid.check_outlives(np.from_dlpack(tensor).tolist)


# --- inspection


def test_inspect_shows_its_fields(tvm_ffi: ModuleType) -> None:
    x = ra.zeros(3)
    found = ra.inspect(tvm_ffi.from_dlpack(x))
    assert found.version is not None
    assert found.version >= (1, 1)
    assert found.data == ra.inspect(x).data
    assert [answer.error for answer in found.answers] == [None, None]


def test_inspect_of_the_command_line_imports_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--json", "tvm_ffi.from_dlpack(numpy.zeros(2))"]) == 0
    assert json.loads(capsys.readouterr().out)["shape"] == [2]


# --- The spy and the trace of an exchange through the table


def test_a_consumer_that_uses_the_table_is_recorded(tvm_ffi: ModuleType) -> None:
    watched = through(ra.arange(6), tvm_ffi.from_dlpack, table=True)
    assert not broken(watched)
    assert [call.method for call in watched.calls] == ["from_py"]
    texts = [step.text for step in watched.timeline]
    assert texts[0] == "call from_dlpack(x)"
    assert texts[1] == "calls the table's from_py(x)"
    assert texts[2].startswith("returns dltensor_versioned 1.3, int64 shape (6,)")
    assert texts[-2:] == ["drop the array", "calls the deleter, with the GIL"]
    judged = {found.id for found in watched.findings}
    assert {"LIFE-03", "LIFE-19", "TENS-06", "FLAG-01", "CONS-12"} <= judged
    assert not judged & {"CONS-01", "VERS-09", "LIFE-10"}  # these concern methods and capsules


def test_data_imported_through_the_table_is_shared(tvm_ffi: ModuleType) -> None:
    array = ra.zeros(3)
    watched = spy(array)
    taken = ra.from_dlpack(tvm_ffi.from_dlpack(watched))
    taken[0] = 7
    assert array.tolist() == [7, 0, 0]
    assert [call.deletions() for call in watched.calls] == [[]]
    del taken
    assert len(watched.calls[0].deletions()) == 1


def test_trace_of_a_consumer_that_uses_the_table(
    tvm_ffi: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "refarray", "tvm_ffi"]) == 0
    assert "calls the table's from_py(x)" in capsys.readouterr().out
