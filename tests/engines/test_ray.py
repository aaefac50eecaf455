"""Ray: arrays in its object store are read in place by every process of the machine."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from helpers.cases import run_each
from helpers.processes import python_path
from partners.grid import address

import refarray as ra

from .samples import DTYPES, NBYTES, Facts, assert_same, facts, sample

TESTS = Path(__file__).resolve().parents[1]
MIB = 1 << 20
#: What Ray adds to the bytes of an array that it stores: the pickle, sizes and padding.
OVERHEAD = 2048


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """One Ray for this file: two worker processes and a store."""
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="ray") as folder,  # short, for names of sockets
    ):
        patch.setenv("PYTHONPATH", python_path(TESTS))
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else it writes one into ~/.ray
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            num_cpus=2,
            object_store_memory=160 * MIB,
            include_dashboard=False,
            log_to_driver=False,
            _temp_dir=folder,
        )
        yield
        ray.shutdown()


def is_in_store(at: int) -> bool:
    """Whether an address of this process lies in the mapping of Ray's object store."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        start, stop = (int(each, 16) for each in line.split()[0].split("-"))
        if start <= at < stop:
            return "plasma" in line
    return False


def store() -> tuple[int, int]:
    """MiB used and objects in the store, as `ray memory` tells them."""
    ray_program = Path(sys.executable).parent / "ray"
    done = subprocess.run(
        [ray_program, "memory", "--stats-only", "--address", ray.get_runtime_context().gcs_address],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"Plasma memory usage (\d+) MiB, (\d+) objects", done.stdout)
    assert found is not None, done.stdout
    return int(found[1]), int(found[2])


def assert_store_becomes(mib: int, objects: int) -> None:
    """Objects are freed some time after their last reference."""
    deadline = time.monotonic() + 60
    while (found := store()) != (mib, objects) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert found == (mib, objects)


@ray.remote
def read_twice(refs: list[Any]) -> tuple[Facts, bool, int, int, str]:
    """What a worker sees: the array, whether it lies in the store, the address of a second read,
    the bytes that refarray copied, and the error of a write."""
    with ra.ledger() as ledger:
        one, two = ray.get(refs[0]), ray.get(refs[0])
    try:
        one[...] = two
    except ValueError as error:
        refusal = str(error)
    return facts(one), is_in_store(address(one)), address(two), ledger.copied_bytes, refusal


@run_each("dtype", DTYPES)
def test_every_dtype_is_read_in_place_and_read_only(dtype: str) -> None:
    x = sample(dtype)
    with ra.ledger(forbid=["copy", "allocation"]):
        ref = ray.put(x)
    seen, in_store, again, copied, refusal = ray.get(read_twice.remote([ref]))
    assert_same(seen, x)
    assert in_store and again == seen.address and copied == 0
    assert seen.address % 64 == 0
    assert seen.readonly and "read-only" in refusal
    here = ray.get(ref)
    assert is_in_store(address(here)) and here.readonly
    assert here.copy().readonly is False
    size = ray.experimental.get_object_locations([ref])[ref]["object_size"]
    assert NBYTES <= size < NBYTES + OVERHEAD


@ray.remote
def make(dtype: str, nbytes: int) -> tuple[ra.Array, int]:
    return sample(dtype, nbytes), os.getpid()


@run_each("dtype", ["bfloat16", "float4_e2m1fn", "int64"])
@run_each("nbytes", [384, NBYTES])
def test_results_of_tasks_are_read_only(dtype: str, nbytes: int) -> None:
    """Small ones are outside of the store."""
    got, pid = ray.get(make.remote(dtype, nbytes))
    assert pid != os.getpid()
    assert_same(facts(got), sample(dtype, nbytes))
    assert got.readonly and is_in_store(address(got)) == (nbytes == NBYTES)


@run_each("view", ["strided", "reversed", "transposed"])
def test_views_that_are_not_contiguous_are_copied_once_on_the_way_in(view: str) -> None:
    x = sample("float32")
    y = {"strided": x[:, ::2], "reversed": x[:, ::-1], "transposed": x.T}[view]
    with ra.ledger() as ledger:
        ref = ray.put(y)
    assert (ledger.copies, ledger.copied_bytes) == (1, y.nbytes)
    seen, in_store, again, copied, _ = ray.get(read_twice.remote([ref]))
    assert_same(seen, y)
    assert in_store and again == seen.address and copied == 0


@ray.remote
def see(x: ra.Array) -> Facts:
    return facts(x)


@run_each("shape", [(0,), (0, 3), (2, 0, 3), ()])
def test_empty_arrays_and_scalars_arrive(shape: tuple[int, ...]) -> None:
    for dtype in ("float32", "bfloat16", "float4_e2m1fn"):
        x = ra.ones(shape, dtype=dtype)
        assert_same(ray.get(see.remote(ray.put(x))), x)


def test_arrays_of_a_device_are_copied_to_it_again() -> None:
    gpu = ra.VirtualDevice("gpu")
    xp = ra.namespace(devices=[gpu])
    x = xp.reshape(xp.arange(6, device=gpu), (2, 3))
    with ra.ledger() as ledger:
        ref = ray.put(x)
    assert (ledger.transfers, ledger.transferred_bytes) == (1, 48)
    seen = ray.get(see.remote(ref))
    assert_same(seen, x)
    assert seen.device == str(x.device) and not seen.readonly


def test_the_store_has_each_array_once_until_its_last_view_is_gone() -> None:
    assert_store_becomes(0, 0)
    refs = [ray.put(ra.full((4 * MIB,), number, dtype="bfloat16")) for number in range(3)]
    assert_store_becomes(24, 3)
    ray.get([read_twice.remote([ref]) for ref in refs for _ in range(2)])
    assert_store_becomes(24, 3)  # reading made no more of them
    view = ray.get(refs[1])[5:7]
    del refs
    assert_store_becomes(8, 1)
    assert view.tolist() == [1.0, 1.0]
    del view
    assert_store_becomes(0, 0)


@ray.remote(max_retries=0)
def die(x: ra.Array) -> None:
    assert is_in_store(address(x))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_leaves_the_array_and_then_nothing() -> None:
    ref = ray.put(ra.ones((8 * MIB,), dtype="uint8"))
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(die.remote(ref))
    seen = ray.get(see.remote(ref))
    assert seen.values == bytes([1]) * (8 * MIB)
    del ref, seen
    assert_store_becomes(0, 0)
