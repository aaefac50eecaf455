"""The live validator between real libraries: calls, capsule and deleter of each pair."""

from __future__ import annotations

import pytest
from helpers.cases import run_each

from refarray.conformance import Outcome, trace
from refarray.conformance.live_validator.trace import Trace

LIBRARIES = ("numpy", "torch", "jax", "tvm_ffi")
pytestmark = [getattr(pytest.mark, "tvm_ffi" if name == "tvm_ffi" else name) for name in LIBRARIES]
#: Each library with NumPy, both ways.
PAIRS = sorted({pair for name in LIBRARIES for pair in ((name, "numpy"), ("numpy", name))})


def spied(producer: str, consumer: str, table: bool) -> tuple[set[str], list[str]]:
    """One exchange: the requirements that were kept, and the consumer's calls."""
    seen = trace(producer, consumer, table=table)
    assert isinstance(seen, Trace) and not (seen.broken or seen.died)
    assert seen.arrival in {"shared", "copied"}
    assert all(seen.versions)
    assert not [found for found in seen.findings if found.outcome.failed]
    texts = [step.text for step in seen.steps if step.who == "consumer"]
    assert sum(text.startswith("calls the deleter") for text in texts) == 1
    return {found.id for found in seen.findings if found.outcome is Outcome.PASS}, texts


@run_each(("producer", "consumer"), PAIRS)
def test_one_exchange_with_numpy_each_way(producer: str, consumer: str) -> None:
    kept, texts = spied(producer, consumer, table=False)
    assert {"LIFE-03", "LIFE-06", "LIFE-10", "LIFE-20"} <= kept
    assert any(text.startswith("calls __dlpack__(") for text in texts)
    assert any(text.startswith("renames it used_dltensor") for text in texts)


@pytest.mark.parametrize("consumer", LIBRARIES)
def test_which_consumers_use_the_exchange_table_of_pytorch(consumer: str) -> None:
    kept, texts = spied("torch", consumer, table=True)
    assert {"LIFE-03", "LIFE-20"} <= kept
    way = "calls the table's from_py(" if consumer == "tvm_ffi" else "calls __dlpack__("
    assert any(text.startswith(way) for text in texts), texts


def test_the_keywords_that_each_consumer_passes() -> None:
    asked = {
        name: [
            step.text
            for step in trace("refarray", name, table=False).steps
            if step.text.startswith("calls __dl")
        ]
        for name in LIBRARIES
    }
    assert all(calls[-1].startswith("calls __dlpack__(") for calls in asked.values())
    assert asked["torch"][0] == "calls __dlpack_device__()"
