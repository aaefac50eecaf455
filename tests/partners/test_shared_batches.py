"""The example of shared arrays: Parquet, worker processes of PyArrow, tensors in the parent."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.processes import python

pytestmark = [pytest.mark.torch, pytest.mark.pyarrow]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "shared_batches.py"


def test_batches_are_not_copied_after_decoding() -> None:
    done = python(EXAMPLE, "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "4 batches of 8 x 50000, mean 0.500",
        "bytes copied by refarray: 0",
        "left in the arena: 0 arrays, 0 handles",
    ]
