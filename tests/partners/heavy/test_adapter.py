"""The conformance kit's adapters of the heavy partners, each in its own environment."""

from __future__ import annotations

import importlib.util

import pytest

from refarray.conformance import Outcome, checks
from refarray.conformance.runner.engine import run_subject

MODULES = {"tensorflow": "tensorflow", "tvm": "tvm", "mxnet": "mxnet", "dgl": "dgl"}
MODULES["dali"] = "nvidia.dali"


def there(module: str) -> bool:
    """Whether an environment has a module, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package above it
        return False


HERE = [name for name, module in MODULES.items() if there(module)]


def test_there_is_a_partner() -> None:
    assert HERE


@pytest.mark.parametrize("name", HERE)
def test_the_adapter_meets_the_real_library(name: str) -> None:
    run = run_subject(name, checks(ids=["ABI-02", "LIFE-06", "TENS-07", "DTYPE-13"]))
    assert not run.broken and run.version
    kept = {found.role for found in run.findings if found.outcome is Outcome.PASS}
    assert {"producer", "consumer"} <= kept
