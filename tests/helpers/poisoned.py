"""What the tests of poisoned views share: the namespaces, and short collections of garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import refarray

#: Not strict.
open_: Any = refarray.namespace(poison_views=True)
strict: Any = refarray.namespace(poison_views=True, strict=True)
both = pytest.mark.parametrize("xp", [open_, strict], ids=["open", "strict"])
POISON = "memory that has [0-9]+ owners"


@pytest.fixture(scope="module")
def collections_are_short() -> Iterator[None]:
    """A refused write collects garbage first: not among all that earlier tests have left."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
