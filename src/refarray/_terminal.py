"""The terminal: whether to use colours, how wide it is, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
import os
import shutil
import textwrap
from collections.abc import Iterable
from typing import TextIO


def colours(stream: TextIO) -> bool:
    """Whether to write ANSI colours to a stream. NO_COLOR and FORCE_COLOR decide if they are not
    empty, NO_COLOR first; otherwise a terminal has colours unless TERM is "dumb"."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """The number of columns: COLUMNS, the terminal's, or 80."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def height() -> int:
    """The number of lines: LINES, the terminal's, or 24."""
    return shutil.get_terminal_size((80, 24)).lines


def wrap_hanging(first: str, text: str, indent: int, columns: int) -> list[str]:
    """`first` and the text in lines of at most `columns`; further lines are indented. Long words,
    such as links, are not broken."""
    return textwrap.wrap(
        text,
        max(columns, indent + 20),
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def suggestion(names: Iterable[str], known: Iterable[str]) -> str:
    """ "; did you mean numpy?" for the known names closest to the given ones, or an empty text."""
    by_lower = {each.lower(): each for each in known}
    close = [
        by_lower[found]
        for name in names
        for found in difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    ]
    return f"; did you mean {', '.join(dict.fromkeys(close))}?" if close else ""
