"""A correct producer that records the consumer's calls and can be given its own `__dlpack__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refarray.conformance.harness.consumer import Given
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.native_method import native_method

FIELDS: dict[str, Any] = {"shape": (3,), "data": FLOATS}
PLAIN = "give(shape=(3,))"
"""The producer that repros use in place of a Recorder."""


class Recorder(Given):
    """A correct producer of three floats that records its calls. `answer`, if given, replaces
    `__dlpack__`."""

    def __init__(self, answer: Callable[..., Any] | None = None, **fields: Any) -> None:
        super().__init__({**FIELDS, **fields})
        self.answer = answer
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        self.calls.append(("__dlpack_device__", {}))
        return super().__dlpack_device__()

    @native_method
    def __dlpack__(self, **keywords: Any) -> Any:
        """Records the call with exactly the keywords that were passed."""
        self.calls.append(("__dlpack__", keywords))
        return super().__dlpack__(**keywords) if self.answer is None else self.answer(**keywords)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The keywords of each call of `__dlpack__`."""
        return [keywords for name, keywords in self.calls if name == "__dlpack__"]


def describe_calls(recorder: Recorder) -> str:
    """The recorded calls as text, in order."""
    return (
        "; ".join(
            f"{name}({', '.join(f'{key}={value!r}' for key, value in keywords.items())})"
            for name, keywords in recorder.calls
        )
        or "nothing was called"
    )


def old(known: str) -> Recorder:
    """A producer as before array API 2023.12: its `__dlpack__` accepts only the keywords
    `known`."""
    return Recorder(knows=known)
