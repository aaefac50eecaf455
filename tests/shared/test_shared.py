"""refarray.shared in one process: arenas, arrays in them, handles, limits and errors."""

from __future__ import annotations

import gc
import multiprocessing.reduction as reduction
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.processes import python

import refarray as ra
import refarray.shared as shared

MIB = 1 << 20


@pytest.fixture
def arena() -> Any:
    return shared.Arena(limit=64 * MIB)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def through(x: Any) -> Any:
    """As a queue of multiprocessing sends it."""
    return pickle.loads(reduction.ForkingPickler.dumps(x))


DTYPES = ["bool", "int8", "uint64", "float16", "bfloat16", "complex128", "float8_e4m3fn"]
PACKED = ["float4_e2m1fn", "float6_e3m2fn", "float4_e2m1fn_padded", "float32x4"]


@pytest.mark.parametrize("dtype", [*DTYPES, *PACKED])
def test_every_dtype(arena: Any, dtype: str) -> None:
    x = shared.zeros((3, 5), dtype, arena=arena)
    assert (x.shape, x.dtype, str(x.device), x.is_shared()) == (
        (3, 5),
        ra.DType(dtype),
        "cpu",
        True,
    )
    x[1] = ra.ones(5, dtype=dtype)
    y = through(x)
    assert y.tolist() == x.tolist()
    assert y.tobytes() == x.tobytes()
    assert ra.shares_memory(x, y)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1:, ::2],
        lambda x: x[::-1, ::-3],
        lambda x: ra.permute_dims(x, (1, 0)),
        lambda x: ra.broadcast_to(x[0], (4, 6)),
        lambda x: x[2, 3],
        lambda x: x[:0],
        lambda x: x.as_readonly(),
    ],
)
def test_every_layout(arena: Any, view: Any) -> None:
    x = shared.asarray(ra.reshape(ra.arange(24), (4, 6)), arena=arena)
    sent = view(x)
    y = through(sent)
    assert (y.tolist(), y.shape, y.strides, y.readonly) == (
        *(sent.tolist(), sent.shape, sent.strides),
        sent.readonly,
    )
    assert y.is_shared()


def test_shared_arrays_are_ordinary_arrays(arena: Any) -> None:
    x = shared.asarray([[1.0, 2.0], [3.0, 4.0]], arena=arena)
    n = np.from_dlpack(x)
    n[0, 0] = 9
    assert x.tolist() == [[9, 2], [3, 4]]
    assert np.shares_memory(n, np.asarray(memoryview(x)))
    assert ra.from_dlpack(x).is_shared()
    assert ra.add(x, x).tolist() == [[18, 4], [6, 8]]
    assert not ra.add(x, x).is_shared()
    assert not pickle.loads(pickle.dumps(x)).is_shared()
    assert x.__array_interface__["data"][0] % 256 == 0
    assert sys.getsizeof(x) < 200  # the arena has the elements


def test_asarray_copies_what_is_not_there(arena: Any) -> None:
    x = ra.arange(3)
    y = shared.asarray(x, arena=arena)
    assert y.is_shared() and not ra.shares_memory(x, y) and not x.is_shared()
    assert shared.asarray(y) is y
    assert shared.asarray(y, readonly=True).readonly
    other = shared.Arena(limit=MIB)
    z = shared.asarray(y, arena=other)
    assert shared.arena_of(z) == other and shared.arena_of(y) == arena != other
    assert shared.asarray(2.5, arena=arena).tolist() == 2.5
    assert shared.arena_of(x) is None


def test_asarray_finds_shared_memory_in_what_others_made(arena: Any) -> None:
    x = shared.asarray(ra.reshape(ra.arange(24), (4, 6)), arena=arena)
    for made in (np.from_dlpack(x)[::2, ::-1], np.asarray(memoryview(x))[1:]):
        assert not ra.asarray(made).is_shared()  # the memory is that of `made`
        y = shared.asarray(made)
        assert shared.arena_of(y) == arena and y.tolist() == made.tolist()
        assert ra.shares_memory(x, y)
    readonly = shared.asarray(np.from_dlpack(x.as_readonly()))
    assert readonly.is_shared() and readonly.readonly
    n = np.from_dlpack(x)
    del x, y, readonly
    z = shared.asarray(n)
    del n, made
    assert through(z).tolist()[3][5] == 23
    del z
    shared.collect()
    assert arena.usage()[3:6] == (0, 0, 0)


def test_shares_memory_is_exact(arena: Any) -> None:
    x = shared.zeros((4, 6), arena=arena)
    assert ra.shares_memory(x[:, ::2], x[:, 2])
    assert not ra.shares_memory(x[:, ::2], x[:, 1::2])
    assert not ra.shares_memory(x[:0], x)
    for bad in (3, [1.0], np.ones(2)):
        with pytest.raises(TypeError):
            ra.shares_memory(x, bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes 2 positional arguments"):
        ra.shares_memory(x)  # type: ignore[call-arg]


def test_memory_is_given_back(arena: Any) -> None:
    for _ in range(20):
        x = shared.zeros(40 * MIB, "uint8", arena=arena)
        x[-1] = 1
        del x
    assert shared.collect() >= 40 * MIB
    assert arena.usage()[3:6] == (0, 0, 0)
    assert os.fstat(shared_file(arena)).st_blocks < 16


def shared_file(arena: Any) -> int:
    """The descriptor of the elements."""
    fds = shared.zeros(1, arena=arena).shared_handle().fds()
    inode = os.fstat(fds[1]).st_ino
    for fd in fds:
        os.close(fd)
    shared.collect()
    return next(fd for fd in range(200) if is_inode(fd, inode))


def is_inode(fd: int, inode: int) -> bool:
    try:
        return os.fstat(fd).st_ino == inode
    except OSError:
        return False


def test_an_arena_costs_two_descriptors() -> None:
    shared.collect()
    before = descriptors()
    arena = shared.Arena(limit=64 * MIB)
    kept = [shared.zeros(i, arena=arena) for i in range(500)]
    messages = [x.shared_handle().to_bytes() for x in kept]
    more = [shared.attach(each) for each in messages]
    assert descriptors() == before + 2
    del kept, more
    shared.collect()
    del arena
    gc.collect()
    assert descriptors() == before


def test_limit_of_an_arena() -> None:
    arena = shared.Arena(limit=8 * MIB)
    x = shared.zeros(5 * MIB, "uint8", arena=arena)
    with pytest.raises(MemoryError, match=r"the limit of the arena is 8388608, and 5242880 are"):
        shared.zeros(5 * MIB, "uint8", arena=arena)
    with pytest.raises(MemoryError, match="cannot allocate 9000000 bytes"):
        shared.zeros(9_000_000, "uint8", arena=arena)
    del x
    shared.zeros(5 * MIB, "uint8", arena=arena)
    with pytest.raises(MemoryError, match="the machine has [0-9]+ left"):
        shared.empty(1 << 38, "uint8", arena=shared.Arena(limit=1 << 39))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"limit": 0}, ValueError, "limit is 0; it must be 1 or more"),
        ({"limit": 1 << 41}, ValueError, "limit is 2199023255552; it must be 1 to 1099511627776"),
        ({"limit": 1.5}, TypeError, "integer|float"),
        ({"peers": "all"}, ValueError, "peers is 'all'; it must be 'write' or 'read'"),
    ],
)
def test_arguments_of_arenas(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        shared.Arena(**arguments)


def test_other_errors(arena: Any) -> None:
    with pytest.raises(BufferError, match=r"shared.asarray\(x\) copies it there"):
        ra.ones(2).shared_handle()
    with pytest.raises(BufferError, match=r"shared.asarray\(x\) copies it there"):
        ra.namespace(devices=[gpu := ra.VirtualDevice("gpu")]).ones(2, device=gpu).shared_handle()
    x = shared.zeros(2, arena=arena)
    for thing in (arena, x.shared_handle()):
        with pytest.raises(TypeError, match="by multiprocessing only, not by pickle"):
            pickle.dumps(thing)
    with pytest.raises(TypeError, match="handle must be bytes, not str"):
        shared.attach("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="arena must be a refarray.shared.Arena or None, not int"):
        shared.use(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="float8_e8m0fnu has no zero"):
        shared.zeros(2, "float8_e8m0fnu", arena=arena)
    with pytest.raises(ValueError, match="transit is 65537; the limit is 65536"):
        shared.limits(transit=65537)


def test_bytes_of_others_are_refused(arena: Any) -> None:
    good = shared.zeros((2, 3), arena=arena)[1:].shared_handle().to_bytes()
    for size in range(len(good)):
        with pytest.raises(BufferError, match=f"the handle has {size} bytes"):
            shared.attach(good[:size])
    for at in range(len(good)):
        for value in (0, 1, 127, 255):
            wrong = good[:at] + bytes([value]) + good[at + 1 :]
            try:
                y = shared.attach(wrong)
            except BufferError:
                continue
            assert y.is_shared()
            y.tolist()


def test_a_handle_that_comes_late_is_refused(arena: Any) -> None:
    x = shared.zeros(100, arena=arena)
    message = x.shared_handle().to_bytes()
    y = shared.attach(message)
    shared.collect()
    z = shared.attach(message)  # again, while somebody holds it
    del x, y, z
    with pytest.raises(BufferError, match="the shared array was released: its handle was used"):
        shared.attach(message)
    again = shared.zeros(100, arena=arena)
    with pytest.raises(BufferError, match="was released"):
        shared.attach(message)
    message = again.shared_handle().to_bytes()
    del again
    assert shared.attach(message).tolist() == [0.0] * 100  # held on its way


def test_limit_of_handles_on_their_way(arena: Any) -> None:
    before = shared.limits()
    assert shared.limits(transit=3) == (3, before.orphans)
    try:
        sent = [shared.zeros(i + 1, arena=arena).shared_handle().to_bytes() for i in range(5)]
        assert arena.usage().sent == 3
        for message in sent[:2]:
            with pytest.raises(BufferError, match=r"given up \(limits\)"):
                shared.attach(message)
        assert [len(shared.attach(message)) for message in sent[2:]] == [3, 4, 5]
    finally:
        assert shared.limits(transit=before.transit) == before


def test_memory_of_unread_handles_counts_in_the_limit() -> None:
    arena = shared.Arena(limit=8 * MIB)
    message = shared.zeros(5 * MIB, "uint8", arena=arena).shared_handle().to_bytes()
    with pytest.raises(MemoryError, match="the limit of the arena is 8388608, and 5242880 are"):
        shared.zeros(5 * MIB, "uint8", arena=arena)
    assert shared.attach(message).shape == (5 * MIB,)  # was not given up
    shared.zeros(5 * MIB, "uint8", arena=arena)


def test_ledgers_count_no_copy(arena: Any) -> None:
    x = shared.zeros(1000, arena=arena)
    with ra.ledger(forbid=["allocation", "copy"]) as ledger:
        y = through(x)
    assert ledger.copied_bytes == 0
    del y
    with ra.ledger() as ledger:
        shared.zeros(1000, arena=arena)
    assert ledger.allocated_bytes == 8000


def test_descriptors_over_a_socket() -> None:
    """The receiver, which has not opened the arena, gets its descriptors."""
    script = """
import array, socket, sys
import refarray.shared as shared
way = socket.socket(fileno=int(sys.argv[1]))
message, fds, *_ = socket.recv_fds(way, 4096, 2)
way.recv(1)  # the sender has lost the name of its process
x = shared.attach(message, fds=tuple(fds))
x[0] = 5
print(x.tolist())
"""
    arena = shared.Arena(limit=MIB)
    x = shared.asarray([1, 2, 3], arena=arena)
    handle = x.shared_handle()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    fds = handle.fds()
    socket.send_fds(ours, [handle.to_bytes()], list(fds))
    ours.send(b"x")
    os.set_inheritable(theirs.fileno(), True)
    done = subprocess.run(
        [sys.executable, "-c", script, str(theirs.fileno())],
        capture_output=True,
        text=True,
        pass_fds=[theirs.fileno()],
        check=False,
    )
    assert done.stdout == "[5, 2, 3]\n", done.stderr
    assert x.tolist() == [5, 2, 3]
    for fd in fds:
        os.close(fd)
    with pytest.raises(BufferError, match="control: the descriptor is not of a file|not sealed"):
        shared.attach(handle.to_bytes(), fds=(ours.fileno(), ours.fileno()))
    ours.close()
    theirs.close()


def test_files_that_are_not_sealed_are_never_mapped(arena: Any, tmp_path: Any) -> None:
    handle = shared.zeros(3, arena=arena).shared_handle()
    with (tmp_path / "plain").open("w+b") as plain:
        plain.truncate(1 << 20)
        with pytest.raises(BufferError, match="the file is not sealed"):
            shared.attach(handle.to_bytes(), fds=(plain.fileno(), plain.fileno()))


def test_subinterpreters_share_the_arenas_of_the_process() -> None:
    """Each has a module and a default arena of its own."""
    done = python(Path(__file__).parents[1] / "isolated" / "shared_interpreters.py")
    assert done.stdout == "[2.0, 0.0, 0.0, 0.0] 3\n(1, 0, 0, 1)\n", done.stderr


def test_the_end_of_the_interpreter_while_arrays_live() -> None:
    done = python(
        "-c",
        "import refarray.shared as s, numpy, sys\n"
        "x = s.zeros(1000); sys.kept = numpy.from_dlpack(x); y = x.shared_handle().to_bytes()\n",
    )
    assert (done.returncode, done.stderr) == (0, "")
