"""ledger(): copies that NumPy makes for refarray, and exchanges with it that make none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each

import refarray

X = refarray.asarray([[1.0, 2.0], [3.0, 4.0]])

FREE: dict[str, Callable[[], Any]] = {
    "numpy()": lambda: X.numpy(),
    "asarray of NumPy": lambda: np.asarray(X),
    "from_dlpack of NumPy": lambda: np.from_dlpack(X),
    "from_dlpack": lambda: refarray.from_dlpack(np.ones(3)),
    "asarray": lambda: refarray.asarray(np.ones((2, 2)).T),
    "from_numpy": lambda: refarray.from_numpy(np.ones(3)),
    "from_buffer": lambda: refarray.from_buffer(np.ones(3)),
}
COPIES: dict[str, tuple[Callable[[], Any], int]] = {
    "__array__ that converts": (lambda: X.__array__("float32"), 16),
    "__array__ that copies": (lambda: X.__array__(copy=True), 32),
    "from_dlpack of NumPy": (lambda: np.from_dlpack(X, copy=True), 32),
    "from_dlpack": (lambda: refarray.from_dlpack(np.ones(3), copy=True), 24),
    "asarray": (lambda: refarray.asarray(np.ones(3), copy=True), 24),
    "asarray that converts": (lambda: refarray.asarray(np.ones(3), dtype="int32"), 12),
    "a list of arrays": (lambda: refarray.concat([refarray.asarray(np.ones(2)), X[0]]), 32),
    "assignment": (lambda: refarray.zeros(3).__setitem__(..., np.ones(3)), 24),
}


@run_each("name", FREE)
def test_exchanges_share(name: str) -> None:
    with refarray.ledger(forbid=("copy", "allocation")) as ledger:
        FREE[name]()
    assert (ledger.copies, ledger.allocations) == (0, 0)


@run_each("name", COPIES)
def test_copies_count_once(name: str) -> None:
    call, nbytes = COPIES[name]
    with refarray.ledger() as ledger:
        call()
    assert (ledger.copies, ledger.copied_bytes) == (1, nbytes)
    with refarray.ledger(forbid="copy") as strict, pytest.raises(refarray.LedgerError):
        call()
    assert (strict.copies, strict.refused) == (0, 1)
