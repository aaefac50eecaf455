"""Owns a well-behaved producer that writes down how it is asked, and answers as it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.consumer import Consumer, Given, Import
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.harness.producer import raised

FIELDS: dict[str, Any] = {"shape": (3,), "data": FLOATS}
PLAIN = "give(shape=(3,))"
"""What a repro gives instead."""


class Recorder(Given):
    """A well-behaved producer that answers through a function of ours."""

    def __init__(self, answer: Callable[..., Any] | None = None, **fields: Any) -> None:
        super().__init__({**FIELDS, **fields})
        self.answer = answer
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        """Noted."""
        self.calls.append(("__dlpack_device__", {}))
        return super().__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        """Noted, with the keywords that were given and no others."""
        self.calls.append(("__dlpack__", keywords))
        return super().__dlpack__(**keywords) if self.answer is None else self.answer(**keywords)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The keywords of each call of `__dlpack__`."""
        return [keywords for name, keywords in self.calls if name == "__dlpack__"]


def asked(recorder: Recorder) -> str:
    """The calls that were seen, in their order."""
    return (
        "; ".join(
            f"{name}({', '.join(f'{key}={value!r}' for key, value in keywords.items())})"
            for name, keywords in recorder.calls
        )
        or "nothing was called"
    )


def old(known: str) -> Recorder:
    """A producer of before 2023.12, whose __dlpack__ knows these keywords only."""
    return Recorder(knows=known)


def imported(consumer: Consumer, recorder: Recorder, **keywords: Any) -> Import:
    """An import, or NotApplicable with the reason that there is none."""
    found = consumer.take(recorder, **keywords)
    if found.error is not None:
        raise NotApplicable(f"it refuses: {raised(found.error)}")
    return found
