"""MPI: messages received in place, and one array that all ranks of a machine see.

`mpiexec -n 2 python -m mpi4py mpi_window.py`; with `-m mpi4py` a rank that fails ends the others.
"""

from mpi4py import MPI

import refarray as ra

world = MPI.COMM_WORLD
rank = world.Get_rank()

# MPI knows no bfloat16: send and receive the bytes, which are the memory of the array.
x = ra.full((1024, 1024), rank, dtype="bfloat16")
with ra.ledger(forbid=["copy", "allocation"]):
    if rank == 0:
        world.Send(ra.from_buffer(x, dtype="uint8"), dest=1)
    elif rank == 1:
        world.Recv(ra.from_buffer(x, dtype="uint8"), source=0)
assert float(x[0, 0]) == 0 or rank > 1

# A window: memory of rank 0 in which all ranks of this machine have the same array.
node = world.Split_type(MPI.COMM_TYPE_SHARED)
shape = (1024, 1024)
window = MPI.Win.Allocate_shared(2 * 1024 * 1024 if node.Get_rank() == 0 else 0, 1, comm=node)
memory, _ = window.Shared_query(0)
y = ra.from_buffer(memory, dtype="bfloat16").reshape(shape)
window.Fence()
if node.Get_rank() == 0:
    y[0, 0] = 7
window.Fence()
assert float(y[0, 0]) == 7
del y  # before the memory goes: the array does not keep it
window.Free()
