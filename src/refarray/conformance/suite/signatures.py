"""Reading the signatures of `__dlpack__` and from_dlpack."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from refarray.conformance.cases import subject_code

KEYWORDS = ("stream", "max_version", "dl_device", "copy")
"""The keywords of `__dlpack__`."""


def read_signature(function: Callable[..., Any]) -> tuple[inspect.Signature, str]:
    """A signature and its text. TypeError or ValueError if there is none that can be read."""
    with subject_code():
        signature = inspect.signature(function)
        return signature, str(signature)


def has_neutral_default(parameter: inspect.Parameter) -> bool:
    """Whether the default means "not given": None, or an object of a private type."""
    default = parameter.default
    return default is not parameter.empty and not isinstance(default, str | int | tuple)
