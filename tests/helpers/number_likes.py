"""Objects that are numbers only by a method, or that are subclasses of int."""

from __future__ import annotations

import enum
from typing import Any


class IntLike:
    """An int only through __index__, which raises the value where that is an exception."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> Any:
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


class Raises:
    """Every conversion to a number raises."""

    def __index__(self) -> int:
        raise KeyError("index")

    def __float__(self) -> float:
        raise KeyError("float")


class OneEnum(enum.IntEnum):
    ONE = 1
