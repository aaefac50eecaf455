"""What each partner cannot do, as data; both directions are strict: a limit that has gone fails.

`to` is refarray -> partner, `from` is partner -> refarray. A facet is one axis of the grid:
`dtype:…`, `layout:…` or `flag:…`. A limit names what the partner raises, never what we raise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .grid import DTYPES, LAYOUTS, NARROW

FLAGS = ("readonly",)


@dataclass(frozen=True)
class Limit:
    """One thing a released partner does not offer, with the exception it raises instead."""

    partner: str
    version: str
    direction: str
    facet: str
    exception: str
    reason: str


def _each(
    partner: str, version: str, direction: str, facets: list[str], exception: str, reason: str
) -> tuple[Limit, ...]:
    return tuple(Limit(partner, version, direction, facet, exception, reason) for facet in facets)


def _dtypes(*names: str) -> list[str]:
    return [f"dtype:{name}" for name in names]


# Broadcast views of ours are read-only, so a consumer of legacy capsules is refused before.
_STRIDED = [
    f"layout:{name}"
    for name, layout in LAYOUTS.items()
    if not (layout.compact or layout.broadcast or name == "offset")
]

LIMITS: tuple[Limit, ...] = (
    *_each(
        "numpy",
        "2.5.5",
        "to",
        _dtypes(*NARROW),
        "BufferError" if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else "RuntimeError",
        "NumPy has no such dtype",
    ),
    *_each(
        "torch",
        "2.13.0",
        "to",
        _dtypes("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
        "BufferError",
        "PyTorch has no such dtype",
    ),
    *_each(
        "torch",
        "2.13.0",
        "to",
        _dtypes("float6_e2m3fn", "float6_e3m2fn"),
        "BufferError",
        "PyTorch has no such dtype",
    ),
    Limit(
        "torch",
        "2.13.0",
        "to",
        "dtype:float4_e2m1fn",
        "BufferError",
        "PyTorch takes two packed elements as one (lanes 2), never one lane",
    ),
    *_each(
        "jax",
        "0.10.2",
        "to",
        _STRIDED,
        "JaxRuntimeError",
        "XLA takes compact layouts only, also under copy=True",
    ),
    *_each(
        "jax",
        "0.10.2",
        "to",
        _dtypes("complex32", "float6_e2m3fn", "float6_e3m2fn"),
        "JaxRuntimeError",
        "XLA has no such DLPack dtype",
    ),
    Limit(
        "jax",
        "0.10.2",
        "to",
        "dtype:float4_e2m1fn",
        "JaxRuntimeError",
        "XLA exports packed float4 but cannot take it back on the CPU",
    ),
)


def find(partner: str, direction: str, *facets: str) -> Limit | None:
    for limit in LIMITS:
        if (limit.partner, limit.direction) == (partner, direction) and limit.facet in facets:
            return limit
    return None


def attempt(
    partner: str, direction: str, facets: tuple[str, ...], action: Callable[[], Any]
) -> Any | None:
    """The result of the exchange, or None where the recorded limit was met exactly."""
    limit = find(partner, direction, *facets)
    if limit is None:
        return action()
    try:
        result = action()
    except Exception as error:
        if type(error).__name__ != limit.exception:
            raise
        return None
    raise AssertionError(
        f"{partner} gave {type(result).__name__}: it now offers {limit.facet} ({direction}), "
        f"which {limit.version} did not; remove {limit}"
    )


def known_facets() -> set[str]:
    return {
        *_dtypes(*DTYPES, *NARROW),
        *(f"layout:{name}" for name in LAYOUTS),
        *(f"flag:{name}" for name in FLAGS),
    }
