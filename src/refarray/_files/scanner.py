"""The text of a header, read token by token: no header is nested, evaluated, or read twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import NoReturn

#: The greatest extent, and number of bytes.
GREATEST = 2**63 - 1
MOST_AXES = 64
SHOWN = 40  # characters of a header in a message
SPACES = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"(0|[1-9][0-9]*)")


class Scanner:
    """A position in a text. What is not as expected raises ValueError, with the position."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def has(self, token: str) -> bool:
        """Step over a token behind spaces, if it is there."""
        self.at = SPACES.match(self.text, self.at).end()  # type: ignore[union-attr]
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def take(self, token: str) -> None:
        """Step over a token behind spaces."""
        if not self.has(token):
            self.fail(repr(token))

    def match(self, pattern: re.Pattern[str], what: str) -> str:
        """Step over what matches a pattern behind spaces; return its first group."""
        self.has("")
        found = pattern.match(self.text, self.at)
        if found is None:
            self.fail(what)
        self.at = found.end()
        return found[1]

    def items(self, opening: str, closing: str, *, comma_at_end: bool = False) -> Iterator[None]:
        """Step through brackets with commas between the items; the caller takes each item."""
        self.take(opening)
        if self.has(closing):
            return
        while True:
            yield
            if self.has(closing):
                return
            self.take(",")
            if comma_at_end and self.has(closing):
                return

    def count(self, what: str, pattern: re.Pattern[str] = NUMBER) -> int:
        """Step over a number of 0 to 2**63 - 1."""
        digits = self.match(pattern, f"{what}, a number of 0 or more")
        if len(digits) > 19 or (value := int(digits)) > GREATEST:  # int() of many digits is slow
            raise ValueError(f"{what} is {digits[:SHOWN]}; the limit is 2**63 - 1")
        return value

    def end(self) -> None:
        """Require that only spaces follow."""
        self.has("")
        if self.at != len(self.text):
            self.fail("the end of the header")

    def fail(self, expected: str) -> NoReturn:
        """Raise ValueError with what is at the position."""
        found = self.text[self.at : self.at + SHOWN]
        raise ValueError(f"header: expected {expected} at character {self.at}, not {found!r}")


def count_bits(shape: tuple[int, ...], bits: int) -> int:
    """Return the bits of all elements.

    Raises ValueError for too many axes, and where the extents other than 0 make too many bytes:
    an array of such a shape has no strides.
    """
    if len(shape) > MOST_AXES:
        raise ValueError(f"shape has {len(shape)} axes; the limit is {MOST_AXES}")
    if prod(extent or 1 for extent in shape) * bits > 8 * GREATEST:
        raise ValueError(f"shape is {shape}, more than 2**63 - 1 bytes of {bits} bits each")
    return prod(shape) * bits
