"""poison_views=True with NumPy: its arrays over the memory are owners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import run_each
from helpers.poisoned import POISON, both

EXPORTS: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "from_dlpack": np.from_dlpack,
    "frombuffer": np.frombuffer,
}


@both
@run_each("export", EXPORTS)
def test_arrays_of_numpy_are_owners(xp: Any, export: str) -> None:
    x = xp.ones(3)
    theirs = EXPORTS[export](x)
    with pytest.raises(ValueError, match=POISON):
        x[0] = 2.0
    with pytest.raises(ValueError, match=POISON):
        x += 1.0
    assert theirs.tolist() == [1, 1, 1]
    view = theirs[1:]
    del theirs
    with pytest.raises(ValueError, match=POISON):
        x[2] = 2.0
    del view
    x[2] = 2.0


@both
@pytest.mark.parametrize("function", ["asarray", "from_dlpack"])
def test_memory_of_numpy(xp: Any, function: str) -> None:
    source = np.ones(3)
    x = getattr(xp, function)(source)
    with pytest.raises(ValueError, match="the exporter of the imported memory"):
        x[0] = 2.0
    own = getattr(xp, function)(source, copy=True)
    own[0] = 2.0
    own += 1.0
    assert source.tolist() == [1, 1, 1] and float(own[0]) == 3.0
