"""Methods in Python that raise as methods in C do: without their frame in the traceback."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from refarray.conformance import _adversary


def native_method(function: Callable[..., Any]) -> Any:
    """A decorator for the `__dlpack__` of a producer that refuses keywords or forwards a call.

    A consumer may call a producer again that refused its keywords, but not one that had begun
    already. It tells them apart by the traceback: the interpreter, a binding generator and C code
    refuse keywords without an entry in it. Some consumers call what they find in the class with
    the producer as the first argument, so that can be called, too.
    """
    call: Callable[..., Any] = _adversary.native_method(function)

    class NativeMethod:
        __doc__ = function.__doc__
        __call__ = call  # a builtin is not bound, and leaves no frame

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            return self if instance is None else MethodType(call, instance)

    return NativeMethod()
