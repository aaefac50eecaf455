"""DGL's own tensors as producer and consumer, by legacy capsules, under the MXNet backend."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.processes import printed, python

import refarray as ra

from .. import grid
from .grids import check_alias, check_theirs, numpys, take_ours

pytestmark = [
    pytest.mark.dgl,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # MXNet 1.9.1
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

HELD = [name for name in grid.DTYPES if name != "bool" and not name.startswith("complex")]
COMPACT = [
    name
    for name, layout in grid.LAYOUTS.items()
    if layout.compact and name not in ("transposed", "permuted")
]


def load() -> ModuleType:
    """dgl.ndarray without DGL 2.1's __init__, which imports PyTorch for every backend."""
    package = ModuleType("dgl")
    package.__spec__ = importlib.util.find_spec("dgl")
    package.__path__ = list(package.__spec__.submodule_search_locations)
    sys.modules["dgl"] = package
    importlib.import_module("dgl.backend")
    return importlib.import_module("dgl.ndarray")


@pytest.fixture(scope="module")
def nd() -> ModuleType:
    return load()


def take(nd: ModuleType, source: Any) -> Any:
    return nd.from_dlpack(source.__dlpack__())


@pytest.mark.parametrize("layout", [*COMPACT, "offset"])
@pytest.mark.parametrize("dtype", [*grid.DTYPES, *grid.NARROW])
def test_dgl_reads_ours(nd: ModuleType, dtype: str, layout: str) -> None:
    layout = layout if dtype in grid.DTYPES else "flat"
    take_ours("dgl", lambda x: take(nd, x), lambda x: x.asnumpy(), dtype, layout)


@pytest.mark.parametrize("dtype", grid.NARROW)
def test_narrow_dtypes_pass_through(nd: ModuleType, dtype: str) -> None:
    grid.check_passes_through(dtype, lambda x: ra.from_capsule(take(nd, x).to_dlpack()))


@pytest.mark.parametrize("layout", COMPACT)
@pytest.mark.parametrize("dtype", HELD)
def test_we_read_dgl(nd: ModuleType, dtype: str, layout: str) -> None:
    check_theirs(ra.from_capsule(nd.array(numpys(dtype, layout)).to_dlpack()), dtype, layout)


def test_memory_is_shared_both_ways(nd: ModuleType) -> None:
    source = grid.ours("float32", "cube")
    array = take(nd, source)
    check_alias(source, array.asnumpy)
    assert grid.address(ra.from_capsule(array.to_dlpack())) == grid.address(source)


def test_arrays_of_the_backend_round_trip(nd: ModuleType) -> None:
    backend = sys.modules["dgl.backend"]
    assert backend.backend_name == "mxnet"
    source = grid.ours("float32", "cube")
    array = backend.zerocopy_from_dgl_ndarray(take(nd, source))
    assert type(array).__module__.startswith("mxnet.")
    check_alias(source, array.asnumpy)


CHILD = """
import warnings; warnings.simplefilter("ignore")
from partners.heavy.test_dgl import load, take
from partners.grid import ours
print(take(load(), ours("float32", {layout!r})).asnumpy().ravel().tolist())
"""


@pytest.mark.quirk("dgl-ignores-strides")
@pytest.mark.parametrize("layout", ["transposed", "stepped", "column", "window"])
def test_dgl_ignores_strides(layout: str) -> None:
    """Runs in a separate process, on layouts whose out-of-bounds reads stay inside the
    allocation."""
    source = grid.ours("float32", layout)
    output = printed(CHILD.format(layout=layout), cwd="tests")
    first = source[(0,) * source.ndim].item()
    as_if_dense = [first + index for index in range(source.size)]
    assert output.strip() == str(as_if_dense)
    assert np.array(source.tolist()).ravel().tolist() != as_if_dense


@pytest.mark.quirk("dgl-needs-pytorch")
def test_importing_dgl_itself_needs_pytorch() -> None:
    done = python("-W", "ignore", "-c", "import dgl")
    assert "No module named 'torch'" in done.stderr


def test_read_only_is_refused_to_dgl(nd: ModuleType) -> None:
    with pytest.raises(BufferError, match="read-only"):
        take(nd, grid.ours("float32").as_readonly())


def test_lifetimes(nd: ModuleType) -> None:
    theirs = take(nd, grid.ours("float32"))
    mine = ra.from_capsule(nd.array(numpys("float32")).to_dlpack())[2:]
    grid.check_outlives(lambda: theirs.asnumpy().tolist())
    grid.check_outlives(mine.tolist, 2, lambda: nd.array(numpys("float32")))
