"""Arrays that go to other processes by multiprocessing, concurrent.futures and pipes."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import shared_workers as workers
from helpers.processes import python

import refarray as ra
import refarray.shared as shared

METHODS = ("fork", "spawn", "forkserver")
MIB = 1 << 20


@pytest.fixture(params=METHODS)
def context(request: pytest.FixtureRequest) -> Any:
    return multiprocessing.get_context(request.param)


@pytest.fixture(autouse=True)
def arena() -> Iterator[Any]:
    """The arena of this process; afterwards nothing is left in it."""
    arena = shared.Arena(limit=256 * MIB)
    shared.use(arena)
    yield arena
    shared.use(None)
    before = shared.limits()
    shared.limits(orphans=0)
    shared.collect()
    shared.limits(orphans=before.orphans)
    assert arena.usage()[3:] == (0, 0, 0, 1), "held, sent, dropped, processes"


def test_queues_arguments_and_answers(context: Any) -> None:
    requests, answers = context.Queue(), context.Queue()
    x = shared.zeros((2, 3))
    process = context.Process(target=workers.answer, args=(requests, answers))
    process.start()
    requests.put(x)
    requests.put(x[:, ::2].as_readonly())
    pid, first, made = answers.get()
    assert pid == process.pid
    assert (x.tolist(), ra.shares_memory(x, first)) == ([[7] * 3] * 2, True)
    assert (made.is_shared(), made.tolist()) == (True, [0, 1, 2, 3, 4])
    _, second, _ = answers.get()
    assert (second.shape, second.strides, second.readonly) == ((2, 2), (3, 2), True)
    requests.put(None)
    process.join()
    assert made.tolist() == [0, 1, 2, 3, 4]


def test_pools(context: Any, arena: Any) -> None:
    x = shared.asarray(ra.arange(1000.0))
    with context.Pool(2, initializer=shared.use, initargs=(arena,)) as pool:
        assert pool.map(workers.total, [x, x[:10]]) == [(499500.0, True), (45.0, True)]
        doubled = pool.map(workers.double, [x, x[::2]])
    assert [each.is_shared() for each in doubled] == [True, True]
    assert shared.arena_of(doubled[0]) == arena
    assert doubled[1].tolist() == [4.0 * i for i in range(500)]  # the workers have ended


def test_concurrent_futures(context: Any) -> None:
    x = shared.asarray(ra.arange(10.0))
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(workers.total, x).result() == (45.0, True)
        assert ra.shares_memory(pool.submit(workers.identity, x).result(), x)
        assert pool.submit(workers.total, ra.arange(3.0)).result() == (3.0, False)  # a copy


def test_joblib(arena: Any) -> None:
    import joblib  # after refarray.shared, which registers with it at the next array

    x = shared.asarray(ra.arange(1000.0))
    try:
        with joblib.Parallel(2) as pool:
            totals = pool(joblib.delayed(workers.total)(each) for each in (x, x[:10]))
            doubled = pool(joblib.delayed(workers.double)(each) for each in (x, x[::2]))
        assert totals == [(499500.0, True), (45.0, True)]
        assert [shared.arena_of(each) for each in doubled] == [arena, arena]
    finally:
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    assert doubled[1].tolist() == [4.0 * i for i in range(500)]  # the workers have ended


def test_managers(context: Any) -> None:
    x = shared.asarray([1, 2, 3])
    with context.Manager() as manager:
        kept = manager.list([x])
        assert ra.shares_memory(kept[0], x)
        kept[0][1] = 5
        queue = manager.Queue()
        queue.put(x)
        assert ra.shares_memory(queue.get(), x)
    assert x.tolist() == [1, 5, 3]


@pytest.mark.parametrize("how", ["return", "_exit", "kill"])
def test_a_worker_ends_before_its_messages_are_read(context: Any, arena: Any, how: str) -> None:
    ours, theirs = context.Pipe()
    target = workers.send_and_end if context.get_start_method() == "fork" else workers.send_in
    arguments = (theirs, 3, how) if target is workers.send_and_end else (arena, theirs, 3, how)
    process = context.Process(target=target, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == (-signal.SIGKILL if how == "kill" else 0)
    first = ours.recv()
    shared.collect()
    rest = [ours.recv(), ours.recv()]
    assert [workers.value_of(x) for x in (first, *rest)] == [0, 1, 2]


def test_orphans_are_bounded(arena: Any) -> None:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=workers.send_and_end, args=(theirs, 5, "kill"))
    process.start()
    process.join()
    before = shared.limits()
    assert shared.limits(orphans=2) == (before.transit, 2)
    try:
        shared.collect()
        for _ in range(3):
            with pytest.raises(BufferError, match=r"given up \(limits\)"):
                ours.recv()
        assert [workers.value_of(ours.recv()) for _ in range(2)] == [3, 4]
    finally:
        shared.limits(orphans=before.orphans)


def test_an_arena_that_ended_with_its_sender_is_named(context: Any) -> None:
    ours, theirs = context.Pipe()
    process = context.Process(target=workers.send_own, args=(theirs,))
    process.start()
    process.join()
    with pytest.raises(
        BufferError, match=r"cannot be opened: the process has ended .*use\(arena\)"
    ):
        ours.recv()


def test_a_child_is_a_holder_of_its_own(arena: Any) -> None:
    x = shared.asarray(ra.arange(1000))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read, 1)
        os._exit(0 if x.tolist() == list(range(1000)) else 1)
    del x
    assert arena.usage().processes == 2
    other = shared.zeros(1000, "int64")  # not in the memory that the child holds
    shared.collect()
    assert arena.usage().dropped == 1
    os.write(write, b"x")
    assert os.waitpid(child, 0)[1] == 0
    shared.collect()
    assert arena.usage().dropped == 0
    for fd in (read, write):
        os.close(fd)
    del other


def test_peers_only_read(context: Any) -> None:
    arena = shared.Arena(peers="read", limit=64 * MIB)
    x = shared.asarray([1, 2, 3], arena=arena)
    assert not x.readonly
    with context.Pool(1) as pool:
        readonly, writable = pool.apply(workers.write_to, (x,))
    is_child = context.get_start_method() == "fork"  # of its maker: it has the writable map
    assert (readonly, writable) == (True, False) if not is_child else True
    x[0] = 5
    assert x.tolist()[0] == 5


def test_100_000_arrays_with_64_descriptors(request: pytest.FixtureRequest) -> None:
    """The soak; 5,000 without --long."""
    count = 100_000 if request.config.getoption("--long") > 1 else 5_000
    script = Path(__file__).parents[1] / "isolated" / "shared_soak.py"
    done = python(script, str(count), seconds=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{count} arrays, 0 wrong, 0 held, 0 sent"


def test_killed_processes_leave_nothing(request: pytest.FixtureRequest) -> None:
    """Writers, readers and their parents are killed at random: 1,000 of them with --long."""
    kills = 1000 if request.config.getoption("--long") > 1 else 30
    script = Path(__file__).parents[1] / "isolated" / "shared_kills.py"
    done = python(script, str(kills), seconds=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong, 0 refused; left: 0 held, 0 sent, 0 processes" in done.stdout
