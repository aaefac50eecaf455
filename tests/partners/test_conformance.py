"""The kit's adapters on the partners: device checks on PyTorch without devices and with simulated
ones, and refarray as the consumer of every library's arrays in every state that the kit knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.processes import python

from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import run_subject
from refarray.conformance.subjects.lookup import subject

pytestmark = pytest.mark.not_sanitized("runs the library in processes of its own")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("devices", "why"),
    [
        ("auto", "torch finds no device here"),
        ("simulated", "torch does not run on simulated drivers"),
    ],
)
def test_a_library_that_has_no_device(devices: str, why: str) -> None:
    run = run_subject("torch", engine.select(ids=["STRM-06"]), devices=devices)
    assert [each.observed for each in run.findings] == [why]


@pytest.mark.cuda_core
def test_a_library_that_lends_memory_of_others() -> None:
    """Its allocator refuses everything, it imports every dtype, and it has no current stream: what
    presumes the opposite accuses it of nothing."""
    judged = ["CAPI-20", "CAPI-21", "CAPI-22", "CAPI-23", "DTYPE-07", "DTYPE-08", "STRM-02"]
    drivers = Path(__file__).parents[2] / "fakegpu"
    run = run_subject("cuda_core", engine.select(ids=judged), devices=f"simulated:{drivers}")
    found = {each.name: each.outcome.value for each in run.findings}
    assert set(found.values()) == {"pass", "not-applicable", "info"}
    assert found["CAPI-21[exchange-api-dtype]"] == "pass"
    assert found["CAPI-22[exchange-api-thread]"] == "not-applicable"
    assert found["STRM-02[producer-cuda-handle]"] == "info"


NUMPY, TORCH, JAX = pytest.mark.numpy, pytest.mark.torch, pytest.mark.jax
#: The states whose memory cannot be shared.
REFUSED = {
    "numpy": ["unexportable", "object", "text", "time", "records", "long-double", "masked"],
    "torch": [
        *("unexportable", "sparse", "meta", "fake", "functional", "wrapper", "zeros", "freed"),
        *("gradient", "quantized", "nested", "sparse-rows", "no storage", "lazy parameter"),
        *("conjugate", "under vmap"),
    ],
    "jax": ["traced", "freed", "deleted integers", "donated", "key", "shape only"],
}
LIBRARIES = [
    pytest.param("numpy", marks=NUMPY),
    pytest.param("torch", marks=TORCH),
    pytest.param("jax", marks=JAX),
    pytest.param("jax_two_devices", marks=JAX),
    pytest.param("tvm_ffi", marks=[pytest.mark.tvm_ffi, NUMPY]),
    pytest.param("pyarrow", marks=[pytest.mark.pyarrow, NUMPY]),
    pytest.param("pyarrow_tensor", marks=[pytest.mark.pyarrow, NUMPY]),
    pytest.param("array_api_strict", marks=[pytest.mark.array_api_strict, NUMPY]),
]


@pytest.mark.parametrize("name", LIBRARIES)
def test_no_state_of_an_array_ends_the_process(name: str) -> None:
    """Deleted, donated, fake, traced, sparse …: an array without memory may end a process."""
    command = ["-X", "faulthandler", "-m", "helpers.library_states", name]
    done = python(*command, seconds=300, cwd=Path(__file__).resolve().parents[1])
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    *lines, last = done.stdout.splitlines()
    assert last == "done"
    found = {kind: rest for kind, _, rest in (line.partition(": ") for line in lines)}
    assert set(subject(name).arrays) <= set(found)
    for kind in REFUSED.get(name, []):
        if not found[kind].startswith("not made"):
            refusals = re.findall(r"(?:from_dlpack|asarray|item): (\w*)", found[kind])
            assert all(each.endswith("Error") for each in refusals), (kind, found[kind])
    plain = "(6,) float32 [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]"
    assert found["plain"].startswith(f"from_dlpack: {plain}; asarray: {plain}; ")
