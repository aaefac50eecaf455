"""Owns what a spy can tell of an array that a consumer made: the same memory, a copy, or wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.consumer import Import, described
from refarray.conformance.harness.producer import Export
from refarray.conformance.matrix.exchange import Arrival, compare

if TYPE_CHECKING:
    from refarray.conformance.live_validator.calls import Call


def arrived(calls: list[Call], array: Any) -> tuple[str, str, bool | None]:
    """(in words, an Arrival or "", whether it must not be written)."""
    words = described(array)
    left = next((call for call in reversed(calls) if call.held and call.held.get("dtype")), None)
    if left is None or left.held is None:
        return words, "", None
    try:
        held = Import(array).held()
    except NotApplicable as reason:
        return f"{words}; {reason}", str(Arrival.UNKNOWN), None
    export = Export(left.request, held=left.held)
    read_only = bool((left.held["flags"] or 0) & 1)
    arrival, observed = compare(export, held, read_only)
    flags = held.get("flags")
    return (
        f"{words}; {arrival}: {observed}",
        str(arrival),
        None if flags is None else bool(flags & 1),
    )
