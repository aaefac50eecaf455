"""Exchanges of refarray arrays between two MPI ranks; test_mpi4py.py runs it with mpiexec."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pytest
from mpi4py import MPI

import refarray as ra
from partners.grid import DTYPES, Protocol, address, ours, values

WORLD = MPI.COMM_WORLD
RANK = WORLD.Get_rank()
INTEGERS = [name for name in DTYPES if "int" in name]


def send_and_receive() -> int:
    """Sends every dtype from rank 0 to rank 1, once as a buffer and once by DLPack only."""
    for dtype in DTYPES:
        for wrap in (lambda x: x, Protocol):
            if RANK == 0:
                WORLD.Send(wrap(ours(dtype)), dest=1)
            else:
                target = ra.zeros((24,), dtype=dtype)
                before = address(target)
                WORLD.Recv(wrap(target), source=0)
                assert target.tolist() == values(dtype), dtype
                assert address(target) == before
    return 2 * len(DTYPES)


def sum_in_place() -> int:
    for dtype in (*INTEGERS, "float32", "float64", "complex64", "complex128"):
        total = ra.full((2, 3), RANK + 1, dtype=dtype)
        view = total.reshape((3, 2))
        before = address(total)
        WORLD.Allreduce(MPI.IN_PLACE, total)
        assert total.tolist() == [[3] * 3] * 2, dtype
        assert view.tolist() == [[3] * 2] * 3
        assert address(total) == before
    return len(INTEGERS) + 4


def refuse_read_only() -> int:
    """Read-only targets raise before a message is sent, so that no rank waits for it."""
    locked = ra.ones(3).as_readonly()
    for wrap in (lambda x: x, Protocol):
        for call in (
            lambda: WORLD.Recv(wrap(locked), source=1 - RANK),  # noqa: B023
            lambda: WORLD.Allreduce(MPI.IN_PLACE, wrap(locked)),  # noqa: B023
        ):
            with pytest.raises(BufferError, match="not writable"):
                call()
    assert locked.tolist() == [1.0] * 3
    received = ra.zeros(3)
    WORLD.Sendrecv(locked, dest=1 - RANK, recvbuf=received, source=1 - RANK)
    assert received.tolist() == [1.0] * 3
    return 5


if __name__ == "__main__":
    assert WORLD.Get_size() == 2
    done = send_and_receive() + sum_in_place() + refuse_read_only()
    print(f"rank {RANK}: {done} exchanges\n", end="", flush=True)
