"""Arrays of every library in every state that the kit knows: deleted, fake, traced, sparse … as
refarray imports them. In processes of their own: an array without memory may end one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from refarray.conformance.subjects.lookup import subject

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
def test_no_state_of_an_array_ends_the_process(isolated: Any, name: str) -> None:
    *lines, last = isolated("library_states.py", name).splitlines()
    assert last == "done"
    found = {kind: rest for kind, _, rest in (line.partition(": ") for line in lines)}
    assert set(subject(name).arrays) <= set(found)
    for kind in REFUSED.get(name, []):
        if not found[kind].startswith("not made"):
            refusals = re.findall(r"(?:from_dlpack|asarray|item): (\w*)", found[kind])
            assert all(each.endswith("Error") for each in refusals), (kind, found[kind])
    plain = "(6,) float32 [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]"
    assert found["plain"].startswith(f"from_dlpack: {plain}; asarray: {plain}; ")
