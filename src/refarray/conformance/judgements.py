"""Judgements on single calls, shared by the checks (suite/) and the live validator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from refarray.conformance.dlpack import IS_COPIED, KNOWN_FLAGS, READ_ONLY

OPTIONAL = ("copy", "dl_device")
"""Keywords of `__dlpack__` that older producers do not know."""


def device_is_asked_first(methods: Sequence[str]) -> bool:
    """CONS-01, of the producer's methods in the order of their calls."""
    return methods[:1] == ["__dlpack_device__"]


def asks_for_versioned(max_version: Any) -> bool:
    """VERS-09, of the max_version of the first call."""
    if not isinstance(max_version, tuple | list):
        return False
    return all(isinstance(part, int) for part in max_version) and tuple(max_version) >= (1, 0)


def leaves_out_defaults(keywords: Mapping[str, Any]) -> bool:
    """CONS-09, of the first call's keywords: none of OPTIONAL is passed explicitly as None."""
    return not any(keywords[name] is None for name in OPTIONAL if name in keywords)


def sets_only_known_flags(flags: int) -> bool:
    """FLAG-01, of the flags of an export."""
    return flags & ~KNOWN_FLAGS == 0


def marks_copy(flags: int) -> bool:
    """FLAG-03, of the flags of an export with copy=True."""
    return bool(flags & IS_COPIED)


def is_read_only(flags: int) -> bool:
    """FLAG-02 and FLAG-10, of the flags of an export."""
    return bool(flags & READ_ONLY)
