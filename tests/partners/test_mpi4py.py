"""mpi4py as a consumer: refarray's arrays as message buffers, in one process and in two."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import refarray as ra

from . import limits
from .grid import DTYPES, LAYOUTS, NARROW, Protocol, address, expected, ours, values

pytestmark = pytest.mark.mpi4py

HERE = Path(__file__).resolve().parent
PACKED = ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
WRAPPED = pytest.mark.parametrize("wrap", [lambda x: x, Protocol], ids=["array", "methods only"])


@pytest.fixture(scope="module")
def mpi() -> ModuleType:
    """MPI in this process; messages to itself need no mpiexec."""
    return importlib.import_module("mpi4py.MPI")


def to_self(mpi: ModuleType, source: Any, target: Any) -> Any:
    """Sends a message from this process to itself and returns its status."""
    status = mpi.Status()
    mpi.COMM_SELF.Sendrecv(source, dest=0, recvbuf=target, source=0, status=status)
    return status


def dense(layout: str) -> Any:
    """The layout's values in memory order, in which a column-major array is sent."""
    rows = expected("float32", layout)
    return [list(row) for row in zip(*rows, strict=True)] if layout == "transposed" else rows


@WRAPPED
@pytest.mark.parametrize("dtype", [name for name in (*DTYPES, *NARROW) if name not in PACKED])
def test_every_dtype_is_sent(mpi: ModuleType, dtype: str, wrap: Any) -> None:
    source, target = ours(dtype), ra.empty((24,), dtype=dtype)
    facets = (f"dtype:{dtype}",)
    status = limits.attempt(
        "mpi4py", "to", facets, lambda: to_self(mpi, wrap(source), wrap(target))
    )
    if status is not None:
        assert status.Get_count(mpi.BYTE) == source.nbytes
        assert target.tolist() == source.tolist()


@WRAPPED
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "empty-inner"])
def test_dense_layouts_are_sent_and_received(mpi: ModuleType, layout: str, wrap: Any) -> None:
    source = ours("float32", layout)
    target = ra.zeros(dense_shape(source, layout), dtype="float32")
    facets = (f"layout:{layout}",)
    status = limits.attempt(
        "mpi4py", "to", facets, lambda: to_self(mpi, wrap(source), wrap(target))
    )
    if status is None:
        return
    assert status.Get_count(mpi.FLOAT) == source.size
    assert target.tolist() == dense(layout)
    if source.size:
        place = source.copy() if source.readonly else source
        to_self(mpi, ra.full(source.shape, 7, dtype="float32"), wrap(place))
        assert set(flat(place)) == {7.0}


@pytest.mark.quirk("mpi4py-empty-strides")
def test_an_empty_inner_axis_counts_as_strided(mpi: ModuleType) -> None:
    """mpi4py rejects the row-major strides of shape (2, 0, 3), as refarray and NumPy export them by
    DLPack, but accepts the buffer."""
    source = ours("float32", "empty-inner")
    assert source.is_contiguous()
    with pytest.raises(BufferError, match="not contiguous"):
        to_self(mpi, Protocol(source), ra.zeros(0))
    assert to_self(mpi, source, ra.zeros(0)).Get_count(mpi.BYTE) == 0


def dense_shape(source: Any, layout: str) -> tuple[int, ...]:
    return source.shape[::-1] if layout == "transposed" else source.shape


def flat(array: Any) -> list[Any]:
    return array.reshape((array.size,)).tolist()


@WRAPPED
def test_read_only_arrays_are_sent_but_not_received_into(mpi: ModuleType, wrap: Any) -> None:
    source, target = ours("float32").as_readonly(), ra.zeros((24,), dtype="float32")
    to_self(mpi, wrap(source), target)
    assert target.tolist() == values("float32")
    for refuse in (
        lambda: to_self(mpi, target, wrap(source)),
        lambda: mpi.COMM_SELF.Allreduce(mpi.IN_PLACE, wrap(source)),
    ):
        with pytest.raises(BufferError, match="not writable"):
            refuse()


@pytest.mark.quirk("mpi4py-counts-packed-elements-as-bytes")
@pytest.mark.parametrize("dtype", PACKED)
def test_packed_elements_are_counted_as_bytes(mpi: ModuleType, dtype: str) -> None:
    """Sends the start of a larger packed array, so that the bytes past its end are readable."""
    whole = ra.zeros((96,), dtype=dtype)
    whole[:24] = ours(dtype)
    part, target = whole[:24], ra.zeros((24,), dtype="uint8")
    status = to_self(mpi, Protocol(part), target)
    assert status.Get_count(mpi.BYTE) == 24 > part.nbytes


def test_a_request_keeps_our_memory_alive(mpi: ModuleType) -> None:
    source, target = ours("int64"), ra.zeros((24,), dtype="int64")
    receive = mpi.COMM_SELF.Irecv(target, source=0)
    send = mpi.COMM_SELF.Isend(Protocol(source), dest=0)
    del source
    mpi.Request.Waitall([receive, send])
    assert target.tolist() == values("int64")


def test_our_memory_is_an_mpi_buffer(mpi: ModuleType) -> None:
    source = ours("float64", "offset")
    memory = mpi.memory(source)
    assert memory.address == address(source)
    assert memory.nbytes == source.nbytes
    assert not memory.readonly
    assert mpi.memory(source.as_readonly()).readonly


def test_two_ranks_exchange_in_place() -> None:
    """Uses the mpiexec of the wheel `mpich`, which is installed next to the interpreter."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    assert mpiexec is not None, "the wheel mpich is not installed"
    command = [mpiexec, "-n", "2", sys.executable, "-W", "error", str(HERE / "mpi_ranks.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank}: 45 exchanges" for rank in (0, 1)]
