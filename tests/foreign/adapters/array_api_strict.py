"""array-api-strict's tests of from_dlpack: it consumes refarray's arrays, and refarray its."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_strict
import numpy as np

import refarray
from foreign import exchanges


def consuming(x: Any, /, **keywords: Any) -> Any:
    """from_dlpack, of an array of refarray that has imported `x`."""
    return array_api_strict.from_dlpack(exchanges.from_dlpack(x), **keywords)


def producing(x: Any, /, *arguments: Any, **keywords: Any) -> Any:
    """asarray or from_dlpack of an array of refarray."""
    exchanges.note()
    return refarray.asarray(x, *arguments, **keywords)


def substitute(module: ModuleType, side: str) -> None:
    if side == "consumer":
        module.from_dlpack = consuming
    else:
        module.np = exchanges.Namespace(
            np,
            **{
                name: exchanges.made_by(getattr(np, name))
                for name in ("asarray", "array", "ones", "arange")
            },
        )
