"""JAX as producer and consumer: compact layouts, in legacy capsules before 0.11 (from it) and
0.12 (to it), and immutable data."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from helpers.cases import run_each

import refarray as ra
from refarray import _native

from . import grid, limits

pytestmark = pytest.mark.jax

# JAX exports float4 although it does not import it; XLA has none of the others.
MISSING = ("complex32", "float6_e2m3fn", "float6_e3m2fn")
HELD = [name for name in (*grid.DTYPES, *grid.NARROW) if name not in MISSING]
ALIGNMENT = 64
#: Legacy capsules have no read-only flag: refarray refuses read-only data to who asks for one.
ASKS_FOR_LEGACY = limits.concerns("jax", "<0.12")


def theirs(jax: ModuleType, dtype: str, layout: str = "flat") -> Any:
    """JAX arrays are always compact: each layout is a new array of the same values."""
    return grid.LAYOUTS[layout].build(jax.numpy, jax.numpy.asarray(grid.values(dtype), dtype=dtype))


@run_each("layout", grid.LAYOUTS)
@run_each("dtype", grid.DTYPES)
def test_jax_reads_ours(jax: ModuleType, dtype: str, layout: str) -> None:
    source = grid.ours(dtype, layout)
    if grid.LAYOUTS[layout].broadcast and ASKS_FOR_LEGACY:
        with pytest.raises(BufferError, match="read-only"):
            jax.dlpack.from_dlpack(source)
        return
    facets = (f"layout:{layout}",)
    result = limits.attempt("jax", "to", facets, lambda: jax.dlpack.from_dlpack(source))
    if result is None:
        return
    assert str(result.dtype) == dtype
    assert result.shape == source.shape
    assert result.tolist() == grid.expected(dtype, layout)
    if source.size and grid.LAYOUTS[layout].compact:
        assert grid.address(source) % ALIGNMENT == 0
        assert result.unsafe_buffer_pointer() == grid.address(source)


@run_each("dtype", grid.NARROW)
def test_jax_reads_our_narrow_dtypes(jax: ModuleType, dtype: str) -> None:
    source = grid.ours(dtype)
    facets = (f"dtype:{dtype}",)
    result = limits.attempt("jax", "to", facets, lambda: jax.dlpack.from_dlpack(source))
    if result is not None:
        assert str(result.dtype) == dtype
        assert result.astype("float64").tolist() == grid.expected(dtype)


@run_each(
    ("dtype", "layout"),
    [(each, "flat") for each in HELD] + [("float32", each) for each in grid.LAYOUTS],
)
def test_we_read_jax(jax: ModuleType, dtype: str, layout: str) -> None:
    origin = theirs(jax, dtype, layout)
    for keywords in ({}, {"max_version": grid.MAX_VERSION}, {"copy": False}):
        result = ra.from_dlpack(origin, **keywords)
        grid.check_import(
            result, dtype, layout, origin.unsafe_buffer_pointer() if origin.size else None
        )


@pytest.mark.quirk("jax-legacy-only")
def test_jax_exports_a_legacy_capsule_for_any_version(jax: ModuleType) -> None:
    capsule = theirs(jax, "float32").__dlpack__(max_version=grid.MAX_VERSION)
    assert _native._inspect_capsule(capsule)["struct"] == "DLManagedTensor"


def test_a_copy_of_jaxs_data_may_be_written(jax: ModuleType) -> None:
    origin = theirs(jax, "float32")
    copy = ra.from_dlpack(origin, copy=True)
    grid.put(copy, grid.marks("float32")[0])
    assert grid.first(copy) == grid.marks("float32")[0]
    assert origin.tolist() == grid.values("float32")


@pytest.mark.quirk("jax-immutable-arrives-writable")
def test_jaxs_immutable_data_arrives_writable(jax: ModuleType) -> None:
    """JAX 0.10.2 exports immutable data in legacy capsules, which have no read-only flag.

    The alias is therefore writable, as in PyTorch; `as_readonly()` protects it.
    """
    origin = theirs(jax, "float32")
    alias = ra.from_dlpack(origin)
    assert grid.address(alias) == origin.unsafe_buffer_pointer()
    assert not alias.readonly
    guarded = alias.as_readonly()
    with pytest.raises(ValueError, match="read-only"):
        grid.put(guarded, grid.marks("float32")[0])
    assert origin.tolist() == grid.values("float32")


def test_jax_shares_read_only_data_unless_it_asks_for_legacy_capsules(jax: ModuleType) -> None:
    source = grid.ours("float32").as_readonly()
    if ASKS_FOR_LEGACY:
        with pytest.raises(BufferError, match="read-only"):
            jax.dlpack.from_dlpack(source)
        return
    result = jax.dlpack.from_dlpack(source)
    assert result.unsafe_buffer_pointer() == grid.address(source)
    shared = ra.from_dlpack(result)
    assert shared.readonly and grid.address(shared) == grid.address(source)


def test_jax_sees_what_we_write_into_what_it_aliases(jax: ModuleType) -> None:
    source = grid.ours("float32")
    result = jax.dlpack.from_dlpack(source, copy=False)
    grid.put(source, 7.0)
    assert result.unsafe_buffer_pointer() == grid.address(source)
    assert result.tolist()[0] == 7.0


@pytest.mark.quirk("jax-copy-true-aliases")
def test_jax_does_not_copy_under_copy_true(jax: ModuleType) -> None:
    """JAX 0.10.2 neither passes copy to the producer nor copies aligned data."""
    source = grid.ours("float32")
    assert jax.dlpack.from_dlpack(source, copy=True).unsafe_buffer_pointer() == grid.address(source)


@pytest.mark.quirk("jax-copies-unaligned")
def test_jax_copies_unaligned_data(jax: ModuleType) -> None:
    source = grid.ours("float32", "offset")
    assert grid.address(source) % ALIGNMENT != 0
    result = jax.dlpack.from_dlpack(source)
    assert result.unsafe_buffer_pointer() != grid.address(source)
    assert result.tolist() == grid.expected("float32", "offset")
    with pytest.raises(ValueError, match="aligned"):
        jax.dlpack.from_dlpack(source, copy=False)


@pytest.mark.quirk("jax-narrows")
def test_jax_narrows_64_bit_types_by_default(jax: ModuleType) -> None:
    """Without jax_enable_x64 JAX converts to 32 bits, even with copy=False."""
    jax.config.update("jax_enable_x64", False)
    try:
        for dtype, narrow in (
            ("int64", "int32"),
            ("float64", "float32"),
            ("complex128", "complex64"),
        ):
            source = grid.ours(dtype)
            for copy in (None, False):
                result = jax.dlpack.from_dlpack(source, copy=copy)
                assert str(result.dtype) == narrow
                assert result.unsafe_buffer_pointer() != grid.address(source)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_our_data_outlives_our_array_in_jax(jax: ModuleType) -> None:
    grid.check_outlives(jax.dlpack.from_dlpack(grid.ours("int64")).tolist)


def test_jaxs_data_outlives_its_array(jax: ModuleType) -> None:
    view = ra.from_dlpack(theirs(jax, "int64"))[2:]
    grid.check_outlives(view.tolist, 2, lambda: jax.numpy.zeros(24))


def test_a_round_trip_keeps_the_address(jax: ModuleType) -> None:
    source = grid.ours("float32", "cube")
    back = ra.from_dlpack(jax.dlpack.from_dlpack(source))
    assert grid.address(back) == grid.address(source)
    assert grid.info(back)["shape"] == (2, 3, 4)


@pytest.mark.parametrize("name", ["int4", "uint4", "int2"])
def test_jax_refuses_its_own_sub_byte_integers(jax: ModuleType, name: str) -> None:
    """XLA's own error, passed on unchanged."""
    origin = jax.numpy.zeros(4, dtype=name)
    with pytest.raises(jax.errors.JaxRuntimeError):
        ra.from_dlpack(origin)
