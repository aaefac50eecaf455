"""Compares the array that a consumer made with the exported tensor: shared, copied or wrong."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.consumer import Import, describe
from refarray.conformance.harness.exchange import Arrival, compare
from refarray.conformance.harness.producer import Export
from refarray.conformance.judgements import is_read_only
from refarray.conformance.live_validator.calls import Call


def compare_import(calls: list[Call], array: Any) -> tuple[str, str, bool | None]:
    """(description, an Arrival or "" if unknown, whether the array is read-only or None if
    unknown)."""
    description = describe(array)
    last = next((call for call in reversed(calls) if call.held and call.held.get("dtype")), None)
    if last is None or last.held is None:
        return description, "", None
    try:
        held = Import(array).read_fields()
    except NotApplicable as reason:
        return f"{description}; {reason}", str(Arrival.UNKNOWN), None
    export = Export(last.request, held=last.held)
    read_only = is_read_only(last.held["flags"] or 0)
    arrival, observed = compare(export, held, read_only)
    flags = held.get("flags")
    return (
        f"{description}; {arrival}: {observed}",
        str(arrival),
        None if flags is None else is_read_only(flags),
    )
