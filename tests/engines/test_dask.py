"""Dask distributed: arrays go over TCP between worker processes, uncopied on the sending side."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import dask
import pytest
from dask.base import tokenize
from dask.sizeof import sizeof
from distributed import Client, KilledWorker, LocalCluster, wait
from distributed.protocol import deserialize, serialize
from helpers.cases import run_each
from helpers.processes import python_path
from partners.grid import address

import refarray as ra

from .samples import DTYPES, NBYTES, assert_same, facts, sample

TESTS = Path(__file__).resolve().parents[1]
#: What Dask adds to the bytes of an array in a message: the pickle, keys and headers.
OVERHEAD = 4096


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A scheduler in this process and two workers in processes of their own, over TCP."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", python_path(TESTS))
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 0}),
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                protocol="tcp://",
                host="127.0.0.1",
                dashboard_address=None,
                memory_limit=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


def workers(client: Client) -> tuple[str, str]:
    sender, receiver = sorted(client.scheduler_info()["workers"])
    return sender, receiver


def to_receiver(client: Client, x: Any, call: Any = facts) -> Any:
    """Puts x on one worker, from which Dask sends it to the other one for the call."""
    sender, receiver = workers(client)
    (future,) = client.scatter([x], workers=[sender], hash=False)
    return client.submit(call, future, workers=[receiver], pure=False).result(timeout=60)


def part_with(frames: list[Any], at: int) -> memoryview:
    """The frame whose first byte has this address."""
    views = [memoryview(frame) for frame in frames]
    (found,) = (view for view in views if view.nbytes and address(ra.from_buffer(view)) == at)
    return found


@run_each("dtype", DTYPES)
def test_frames_of_every_dtype_are_the_memory_of_the_array(dtype: str) -> None:
    x = sample(dtype)
    with ra.ledger(forbid=["copy", "allocation"]):
        header, frames = serialize(x)
        assert header["serializer"] == "pickle"
        assert part_with(frames, address(x)).nbytes == NBYTES == x.nbytes
        y = deserialize(header, frames)
    assert address(y) == address(x) and not y.readonly
    assert_same(facts(y), x)


@run_each("dtype", DTYPES)
def test_every_dtype_goes_from_worker_to_worker(client: Client, dtype: str) -> None:
    x = sample(dtype)
    seen = to_receiver(client, x)
    assert_same(seen, x)
    assert not seen.readonly
    assert to_receiver(client, x.as_readonly()).readonly


def open_ledger(dask_worker: Any) -> None:
    """Counts what the thread of the worker's messages copies."""
    dask_worker.open_ledger = ra.ledger()
    dask_worker.open_ledger.__enter__()


def close_ledger(dask_worker: Any) -> tuple[int, int]:
    dask_worker.open_ledger.__exit__(None, None, None)
    return dask_worker.open_ledger.copies, dask_worker.open_ledger.copied_bytes


def sent(dask_worker: Any) -> tuple[int, int]:
    """Messages and bytes that the worker has sent to others, in Dask's own count."""
    log = dask_worker.transfer_outgoing_log
    return len(log), sum(message["compressed"] for message in log)


def count(client: Client, make: Any, x: ra.Array) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Sends make(x) from one worker to the other: copies and copied bytes on either side, and the
    bytes that Dask has sent."""
    both = list(workers(client))
    given = client.scatter(x, workers=both[:1], hash=False)
    future = client.submit(make, given, workers=both[:1], pure=False)
    wait(future, timeout=60)
    (_, before), _ = client.run(sent, workers=both).values()
    client.run(open_ledger, workers=both)
    seen = client.submit(facts, future, workers=both[1:], pure=False).result(timeout=60)
    ledgers = client.run(close_ledger, workers=both)
    (_, after), _ = client.run(sent, workers=both).values()
    assert_same(seen, make(x))
    return ledgers[both[0]], ledgers[both[1]], after - before


VIEWS = {
    "whole": lambda x: x,
    "strided": lambda x: x[:, ::2],
    "reversed": lambda x: x[:, ::-1],
    "transposed": lambda x: x.T,
}


@run_each("view", VIEWS)
def test_only_views_that_are_not_contiguous_are_copied_once(client: Client, view: str) -> None:
    x = sample("bfloat16")
    nbytes = VIEWS[view](x).nbytes
    sender, receiver, in_message = count(client, VIEWS[view], x)
    assert sender == ((0, 0) if view == "whole" else (1, nbytes))
    assert receiver == (0, 0)
    assert nbytes <= in_message < nbytes + OVERHEAD


def restart_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def now_and_peak() -> tuple[int, int]:
    """The memory of this process and the most that it had since restart_peak(), in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    rows = dict(line.split(":", maxsplit=1) for line in status.splitlines())
    now, peak = (int(rows[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, peak


def test_a_large_array_takes_its_memory_once_on_either_side(client: Client) -> None:
    """Counts Dask's own copies too. The message has two parts, of at most 64 MiB each."""
    both = list(workers(client))
    nbytes = 96 << 20
    future = client.submit(ra.ones, (nbytes // 2,), dtype="bfloat16", workers=both[:1])
    wait(future, timeout=60)
    client.run(restart_peak, workers=both)
    before = client.run(now_and_peak, workers=both)
    seen = client.submit(str, future, workers=both[1:], pure=False)
    wait(seen, timeout=60)
    after = client.run(now_and_peak, workers=both)
    sender, receiver = (after[each][1] - before[each][0] for each in both)
    assert sender < nbytes // 8
    assert nbytes * 7 // 8 < receiver < nbytes + nbytes // 8


@run_each("shape", [(0,), (0, 3), (2, 0, 3), ()])
def test_empty_arrays_and_scalars_arrive(client: Client, shape: tuple[int, ...]) -> None:
    for dtype in ("float32", "bfloat16", "float4_e2m1fn"):
        x = ra.ones(shape, dtype=dtype)
        assert_same(to_receiver(client, x), x)


def test_arrays_of_a_device_are_copied_to_it_again(client: Client) -> None:
    gpu = ra.VirtualDevice("gpu")
    xp = ra.namespace(devices=[gpu])
    x = xp.reshape(xp.arange(6, device=gpu), (2, 3))
    seen = to_receiver(client, x)
    assert_same(seen, x)
    assert seen.device == str(x.device) and not seen.readonly


def at_odd_address(frame: Any) -> memoryview:
    """The bytes of a frame where Dask, which packs a message without gaps, may put them."""
    memory = bytearray(memoryview(frame).nbytes + 2)
    start = 1 + address(ra.from_buffer(memory)) % 2
    place = memoryview(memory)[start : start + len(memory) - 2]
    place[:] = memoryview(frame).cast("B")
    return place


@run_each("dtype", DTYPES)
def test_an_array_at_an_odd_address_has_its_values_and_copies_to_an_aligned_one(dtype: str) -> None:
    x = sample(dtype)
    header, frames = serialize(x)
    places = [frames[0], *map(at_odd_address, frames[1:])]
    with ra.ledger(forbid=["copy", "allocation"]):
        y = deserialize(header, places)
    assert address(y) % 2 == 1
    assert_same(facts(y), x)
    assert address(y.copy()) % 64 == 0
    with pytest.raises(BufferError):
        places[-1].obj.extend(b"the message lives as long as the array")


def test_dask_must_be_told_how_large_an_array_is() -> None:
    """Unless told, it takes sys.getsizeof(), which knows nothing of elements."""
    x = sample("bfloat16")
    assert sizeof(x) < 1024
    sizeof.register(ra.Array)(lambda array: array.nbytes)
    assert sizeof(x) == NBYTES


def test_equal_arrays_have_equal_tokens() -> None:
    x = sample("bfloat16")
    assert tokenize(x) == tokenize(x.copy()) != tokenize(x[:, 1:])


def die(x: ra.Array) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_leaves_the_array_of_the_other_one(client: Client) -> None:
    x = sample("bfloat16")
    sender, receiver = workers(client)
    future = client.scatter(x, workers=[sender], hash=False)
    with pytest.raises(KilledWorker):
        client.submit(die, future, workers=[receiver], pure=False).result(timeout=60)
    assert_same(client.submit(facts, future, workers=[sender]).result(timeout=60), x)
    client.wait_for_workers(2, timeout=60)


def test_the_only_copy_of_a_worker_that_dies_is_lost_with_an_error(client: Client) -> None:
    sender, receiver = workers(client)
    future = client.scatter(sample("bfloat16"), workers=[sender], hash=False)
    with pytest.raises(KilledWorker):
        client.submit(die, future, workers=[sender], pure=False).result(timeout=60)
    with pytest.raises(CancelledError, match="lost"):
        client.submit(facts, future, workers=[receiver]).result(timeout=60)
    client.wait_for_workers(2, timeout=60)
