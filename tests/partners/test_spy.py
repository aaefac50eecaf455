"""The live validator between real libraries: calls, capsule and deleter of each pair."""

from __future__ import annotations

import itertools

import pytest

from refarray.conformance import Outcome, trace
from refarray.conformance.tracing import Trace

LIBRARIES = ("numpy", "torch", "jax", "tvm_ffi")
pytestmark = [getattr(pytest.mark, "tvm_ffi" if name == "tvm_ffi" else name) for name in LIBRARIES]
PAIRS = list(itertools.product(LIBRARIES, LIBRARIES))


@pytest.mark.parametrize(("producer", "consumer"), PAIRS)
def test_one_exchange_of_each_pair(producer: str, consumer: str) -> None:
    seen = trace(producer, consumer)
    assert isinstance(seen, Trace) and not (seen.broken or seen.died)
    assert seen.arrival in {"shared", "copied"}
    assert all(seen.versions)
    assert not [found for found in seen.findings if found.outcome.failed]
    kept = {found.id for found in seen.findings if found.outcome is Outcome.PASS}
    assert {"LIFE-03", "LIFE-06", "LIFE-10", "LIFE-20"} <= kept
    texts = [step.text for step in seen.steps if step.who == "consumer"]
    assert any(text.startswith("calls __dlpack__(") for text in texts)
    assert any(text.startswith("renames it used_dltensor") for text in texts)
    assert sum(text.startswith("calls the deleter") for text in texts) == 1


def test_what_each_consumer_asks() -> None:
    asked = {
        name: [s.text for s in trace("refarray", name).steps if s.text.startswith("calls __dl")]
        for name in LIBRARIES
    }
    assert all(calls[-1].startswith("calls __dlpack__(") for calls in asked.values())
    assert asked["torch"][0] == "calls __dlpack_device__()"
