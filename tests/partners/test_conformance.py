"""The kit's device checks on PyTorch without devices and with simulated ones."""

import pytest

from refarray.conformance.runner import engine
from refarray.conformance.runner.engine import run_subject

pytestmark = [
    pytest.mark.torch,
    pytest.mark.not_sanitized("runs the library in processes of its own"),
]


@pytest.mark.parametrize(
    ("devices", "why"),
    [
        ("auto", "torch finds no device here"),
        ("simulated", "torch does not run on simulated drivers"),
    ],
)
def test_a_library_that_has_no_device(devices: str, why: str) -> None:
    run = run_subject("torch", engine.selected(ids=["STRM-06"]), devices=devices)
    assert [each.observed for each in run.findings] == [why]
