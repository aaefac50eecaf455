"""Arrays between two MPI ranks; test_mpi.py runs it with mpiexec, for one of the names of `PARTS`.

Rank 0 prints a line of JSON: the exchanges of each function. A rank that fails ends both, by
`python -m mpi4py`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.dtype_names import INTEGERS
from mpi4py import MPI
from mpi4py.util import pkl5
from partners.grid import address

import refarray as ra
from engines.samples import DTYPES, NBYTES, assert_same, bytes_of, facts, sample

WORLD = MPI.COMM_WORLD
RANK = WORLD.Get_rank()
OTHER = 1 - RANK
#: The dtypes with a datatype of MPI.
NAMED = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128")


def send(message: Any, target: Any) -> MPI.Status:
    """Sends from rank 0 to rank 1, in whose place it is received; the status on rank 1."""
    status = MPI.Status()
    with ra.ledger(forbid=["copy", "allocation"]):
        if RANK == 0:
            WORLD.Send(message, dest=1)
        else:
            WORLD.Recv(target, source=0, status=status)
    return status


def every_dtype_travels_as_bytes() -> int:
    for dtype in DTYPES:
        x, y = sample(dtype), ra.empty(sample(dtype).shape, dtype=dtype)
        before = address(y)
        status = send(bytes_of(x), bytes_of(y))
        if RANK == 1:
            assert status.Get_count(MPI.BYTE) == NBYTES
            assert_same(facts(y), x)
            assert address(y) == before
    return len(DTYPES)


def dtypes_of_mpi_are_sent_as_they_are() -> int:
    for dtype in NAMED:
        x, y = sample(dtype), ra.empty(sample(dtype).shape, dtype=dtype)
        status = send(x, y)
        if RANK == 1:
            assert status.Get_count(MPI.BYTE) == NBYTES
            assert_same(facts(y), x)
    return len(NAMED)


def sums_are_made_in_place() -> int:
    for dtype in (*INTEGERS, "float32", "float64", "complex64", "complex128"):
        total = ra.full((2, 3), RANK + 1, dtype=dtype)
        with ra.ledger(forbid=["copy", "allocation"]):
            WORLD.Allreduce(MPI.IN_PLACE, total)
        assert total.tolist() == [[3] * 3] * 2
    return len(INTEGERS) + 4


def bytes_of_other_dtypes_are_not_added() -> int:
    """MPI has no sum of raw bytes, so a bfloat16 array raises instead of a wrong sum."""
    x = ra.ones((4,), dtype="bfloat16")
    with pytest.raises(MPI.Exception):
        WORLD.Allreduce(MPI.IN_PLACE, x)
    assert x.tolist() == [1.0] * 4
    return 1


def pickled_arrays_keep_dtype_and_shape() -> int:
    """The buffers of pickle 5 are messages of their own: not copied on either side. Without pkl5
    they are in the pickle."""
    comm = pkl5.Intracomm(WORLD)
    for dtype in DTYPES:
        x = sample(dtype)
        assert len(MPI.pickle.dumps(x)) > NBYTES
        with ra.ledger(forbid=["copy", "allocation"]):
            if RANK == 0:
                comm.send(x, dest=1)
            else:
                y = comm.recv(source=0)
        if RANK == 1:
            assert_same(facts(y), x)
            assert not y.readonly
    return len(DTYPES)


def windows_are_arrays() -> int:
    """Rank 0 has the memory of the node; both see one array, of every dtype."""
    node = WORLD.Split_type(MPI.COMM_TYPE_SHARED)
    window = MPI.Win.Allocate_shared(NBYTES if RANK == 0 else 0, 1, comm=node)
    memory, _ = window.Shared_query(0)
    for dtype in DTYPES:
        x = sample(dtype)
        with ra.ledger(forbid=["copy", "allocation"]):
            y = ra.from_buffer(memory, dtype=dtype).reshape(x.shape)
        assert address(y) == memory.address and not y.readonly
        window.Fence()
        if RANK == 0:
            bytes_of(y)[...] = bytes_of(x)
        window.Fence()
        assert_same(facts(y), x)
        window.Fence()
        if RANK == 1:
            bytes_of(y)[...] = ra.zeros((NBYTES,), dtype="uint8")
        window.Fence()
        assert y.tobytes() == bytes(NBYTES)
    del y
    window.Fence()
    window.Free()
    return len(DTYPES)


def views_that_are_not_dense_raise() -> int:
    """mpi4py asks for dense memory before it sends, so that no rank waits for the message."""
    x = ra.ones((4, 6), dtype="float32")
    for view in (x[:, ::2], x[::-1], x[:, ::-1], ra.broadcast_to(x[:1], (4, 6))):
        for call in (WORLD.Send, WORLD.Recv):
            with pytest.raises(BufferError, match="not contiguous|strides item is negative"):
                call(view, OTHER)
        with pytest.raises(BufferError, match="contiguous"):
            bytes_of(view)
        status = send(bytes_of(view.copy()), bytes_of(ra.empty(view.shape, dtype="float32")))
        assert RANK == 0 or status.Get_count(MPI.FLOAT) == view.size
    return 4


def transposed_arrays_are_sent_in_the_order_of_memory() -> int:
    """mpi4py takes column-major memory too, and sends it as it lies; bytes_of() does not."""
    x, y = ra.asarray([[1, 2, 3], [4, 5, 6]], dtype="float32"), ra.zeros((6,), dtype="float32")
    send(x.T, y)
    assert RANK == 0 or y.tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(BufferError, match="C-contiguous"):
        bytes_of(x.T)
    return 1


def read_only_arrays_are_not_received_into() -> int:
    x = sample("bfloat16").as_readonly()
    for target in (x, bytes_of(x)):
        with pytest.raises(BufferError, match="not writable"):
            WORLD.Recv(target, source=OTHER)
    assert x.tobytes() == sample("bfloat16").tobytes()
    y = ra.empty(x.shape, dtype="bfloat16")
    send(bytes_of(x), bytes_of(y))
    assert RANK == 0 or y.tobytes() == x.tobytes()
    return 2


def empty_arrays_are_sent() -> int:
    for shape in ((0,), (0, 3), (2, 0, 3)):
        x = ra.empty(shape, dtype="bfloat16")
        assert send(bytes_of(x), bytes_of(x.copy())).Get_count(MPI.BYTE) == 0
    return 3


def arrays_that_are_too_small_raise() -> int:
    x, y = sample("bfloat16"), ra.zeros((8,), dtype="bfloat16")
    if RANK == 0:
        WORLD.Send(bytes_of(x), dest=1)
    else:
        with pytest.raises(MPI.Exception) as caught:
            WORLD.Recv(bytes_of(y), source=0)
        assert caught.value.Get_error_class() == MPI.ERR_TRUNCATE
    return 1


def arrays_of_a_device_raise() -> int:
    gpu = ra.VirtualDevice("gpu")
    x = ra.namespace(devices=[gpu]).ones(3, device=gpu)
    for call in (lambda: WORLD.Send(x, dest=OTHER), lambda: bytes_of(x)):
        with pytest.raises(BufferError, match="host memory|device"):
            call()
    return 2


def all_exchanges() -> dict[str, int]:
    done = {}
    for function in FUNCTIONS:
        done[function.__name__] = function()
        WORLD.Barrier()
    return done


def shared_files() -> dict[str, range]:
    """The files of /dev/shm that this process has mapped, and where."""
    found = {}
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if "/dev/shm/" in line:
            start, stop = (int(each, 16) for each in line.split()[0].split("-"))
            found[line.split(maxsplit=5)[-1]] = range(start, stop)
    return found


def die() -> dict[str, int]:
    """Rank 1 is killed while rank 0 waits for the elements, with a window open."""
    window = MPI.Win.Allocate_shared(NBYTES, 1, comm=WORLD)
    y = ra.from_buffer(window.Shared_query(0)[0], dtype="bfloat16")
    if RANK == 0:
        files = {name: address(y) in place for name, place in shared_files().items()}
        print(json.dumps(files), flush=True)
    WORLD.Barrier()
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    WORLD.Recv(bytes_of(y), source=1)
    return {}


FUNCTIONS: tuple[Callable[[], int], ...] = (
    every_dtype_travels_as_bytes,
    dtypes_of_mpi_are_sent_as_they_are,
    sums_are_made_in_place,
    bytes_of_other_dtypes_are_not_added,
    pickled_arrays_keep_dtype_and_shape,
    windows_are_arrays,
    views_that_are_not_dense_raise,
    transposed_arrays_are_sent_in_the_order_of_memory,
    read_only_arrays_are_not_received_into,
    empty_arrays_are_sent,
    arrays_that_are_too_small_raise,
    arrays_of_a_device_raise,
)
PARTS = {"all": all_exchanges, "die": die}

if __name__ == "__main__":
    assert WORLD.Get_size() == 2
    found = PARTS[sys.argv[1]]()
    if RANK == 0:
        print(json.dumps(found))
