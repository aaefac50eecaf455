"""Methods in Python that raise as methods in C do: without their frame in the traceback."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from refarray.conformance import _adversary


class NativeMethod:
    """A decorator for the `__dlpack__` of a producer that refuses keywords or forwards a call.

    A consumer may call a producer again that refused its keywords, but not one that had begun
    already. It tells them apart by the traceback: the interpreter, a binding generator and C code
    refuse keywords without an entry in it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__doc__ = function.__doc__
        self.call: Callable[..., Any] = _adversary.native_method(function)

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        return self.call if instance is None else MethodType(self.call, instance)
