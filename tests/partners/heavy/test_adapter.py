"""The conformance kit's adapters of the heavy partners, each in its own environment."""

from __future__ import annotations

import importlib.util

import pytest

from refarray.conformance import Outcome, checks
from refarray.conformance.runner.engine import run_subject

MODULES = {"tensorflow": "tensorflow", "tvm": "tvm", "mxnet": "mxnet", "dgl": "dgl"}
MODULES["dali"] = "nvidia.dali"


def is_installed(module: str) -> bool:
    """Whether an environment has a module, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


INSTALLED = [name for name, module in MODULES.items() if is_installed(module)]


def test_a_partner_is_installed() -> None:
    assert INSTALLED


@pytest.mark.parametrize("name", INSTALLED)
def test_the_adapter_works_with_the_library(name: str) -> None:
    run = run_subject(name, checks(ids=["ABI-02", "LIFE-06", "TENS-07", "DTYPE-13"]))
    assert not run.broken and run.version
    passed = {found.role for found in run.findings if found.outcome is Outcome.PASS}
    assert {"producer", "consumer"} <= passed
