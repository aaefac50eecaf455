"""The namespaces that the tests of poisoned views share."""

from __future__ import annotations

from typing import Any

import pytest

import refarray

#: Not strict.
open_: Any = refarray.namespace(poison_views=True)
strict: Any = refarray.namespace(poison_views=True, strict=True)
both = pytest.mark.parametrize("xp", [open_, strict], ids=["open", "strict"])
POISON = "memory that has [0-9]+ owners"
