"""The registry of the live validator's rules, and queries on a spy's records that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from refarray.conformance.live_validator.calls import Call, ImportCall, Record

Verdicts = Iterator[tuple[bool, str]]
"""(whether the requirement held, observation) of each instance; empty if it did not apply."""
RULES: list[tuple[str, str, str, Callable[[Record], Verdicts]]] = []
"""(requirement, role, expectation, function)."""


def rule(name: str, role: str, expected: str) -> Callable[[Callable[[Record], Verdicts]], Any]:
    """Registers the decorated function as a rule."""

    def register(judge: Callable[[Record], Verdicts]) -> Callable[[Record], Verdicts]:
        RULES.append((name, role, expected, judge))
        return judge

    return register


def exports(spy: Record) -> list[Call]:
    """The calls of `__dlpack__`."""
    return [call for call in spy.calls if call.method == "__dlpack__"]


def tensor_calls(spy: Record) -> list[Call]:
    """The calls of `__dlpack__` and of the exchange table's from_py."""
    return [call for call in spy.calls if call.method in {"__dlpack__", "from_py"}]


def list_exports(spy: Record) -> list[tuple[Call, Any]]:
    """The calls that returned a tensor of a supported version, with its fields."""
    return [(c, c.held) for c in tensor_calls(spy) if c.held is not None and c.held.get("dtype")]


def find_device(spy: Record) -> tuple[int, int] | None:
    """The last result of `__dlpack_device__`; None if it is no pair of ints."""
    for call in reversed(spy.calls):
        if call.method == "__dlpack_device__" and call.error is None:
            pair = call.answer
            if not isinstance(pair, tuple) or len(pair) != 2:
                return None
            try:  # members of enumerations are allowed
                return int(pair[0]), int(pair[1])
            except (TypeError, ValueError):
                return None
    return None


def is_shared_alone(spy: Record, call: Call) -> bool:
    """Whether an import with this tensor alone made an array that shares memory."""
    return any(
        imported.arrival in {"shared", "writable"} and calls_during(spy, imported) == [call]
        for imported in spy.imports
    )


def calls_during(spy: Record, imported: ImportCall) -> list[Call]:
    """The calls during one import that returned a tensor."""
    return [c for c, _ in list_exports(spy) if imported.started <= c.started <= imported.ended]
