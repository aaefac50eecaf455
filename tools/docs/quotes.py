#!/usr/bin/env python3
"""Checks that the quotes of requirements.toml stand at the lines that their links name.

`quotes.py --header DLPACK.H` reads a header; `--repository OWNER/NAME=FOLDER` reads a clone, whose
files are taken at the commit of each link. What is not given is not checked; the last line counts.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from refarray.conformance.requirements import Quote, requirements

LINK = re.compile(
    r"https://github\.com/(?P<repository>[\w.-]+/[\w.-]+)/blob/(?P<commit>[0-9a-f]{40})/"
    r"(?P<path>[\w./-]+)#L(?P<first>\d+)(?:-L(?P<last>\d+))?"
)
"""A link to lines of a file at a commit, which cannot change."""
MARKUP = re.compile(
    r":(?:[a-z]+:)+`~?|<https?://[^>]*>`?_{0,2}|[`*\\]|\bbrief\b|^\s*//", re.MULTILINE
)
"""What a quote leaves out: roles, emphasis and code marks, addresses, comment signs."""
ROLE_TARGET = re.compile(r"(?:~|\barray_api\.(?:array\.)?)(?=[\w.]+)")


def normal(text: str) -> str:
    """The words of a text, without markup and with single spaces."""
    return " ".join(ROLE_TARGET.sub("", MARKUP.sub(" ", text)).split())


def compact(text: str) -> str:
    """A text for comparison: also without the spaces, which depend on the markup."""
    return normal(text).replace(" ", "")


def stands_in(quote: str, lines: str) -> bool:
    """Whether the parts of a quote, which `[…]` or other words in brackets separate, stand in these
    lines, in their order."""
    place, text = 0, compact(lines)
    for part in re.split(r"\[[^\]]*…\]|\[The producer must\]", quote):
        words = compact(part)
        found = text.find(words, place)
        if found < 0:
            return False
        place = found + len(words)
    return True


def lines_of(link: re.Match[str], text: str) -> str:
    """The lines of a file that a link names."""
    first = int(link["first"])
    return "\n".join(text.splitlines()[first - 1 : int(link["last"] or first)])


def wrong(
    quotes: list[tuple[str, Quote]], read: Callable[[re.Match[str]], str | None]
) -> tuple[list[str], int]:
    """(the mistakes, the number of compared quotes); `read` gives the file of a link, or None."""
    out, compared = [], 0
    for name, quote in quotes:
        link = LINK.fullmatch(quote.link)
        if link is None:
            out.append(f"{name}: {quote.link} names no lines at a commit")
        elif (text := read(link)) is not None:
            compared += 1
            if not stands_in(quote.text, lines_of(link, text)):
                out.append(f"{name}: not at {quote.link}: {quote.text}")
    return out, compared


def all_quotes() -> list[tuple[str, Quote]]:
    """(id, quote) of every requirement."""
    return [(each.id, quote) for each in requirements().values() for quote in each.quotes]


def reader(header: Path | None, clones: dict[str, str]) -> Callable[[re.Match[str]], str | None]:
    """Reads dlpack.h from `header` and other files from clones."""

    def read(link: re.Match[str]) -> str | None:
        if link["path"].endswith("dlpack.h") and header is not None:
            return header.read_text(encoding="utf-8")
        if (folder := clones.get(link["repository"])) is None:
            return None
        command = ["git", "-C", folder, "show", f"{link['commit']}:{link['path']}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None

    return read


def main(arguments: list[str]) -> int:
    """Prints the mistakes. Returns 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", type=Path, help="dlpack.h")
    parser.add_argument(
        "--repository", action="append", default=[], metavar="OWNER/NAME=FOLDER", help="a clone"
    )
    chosen = parser.parse_args(arguments)
    clones = dict(each.split("=", 1) for each in chosen.repository)
    quotes = all_quotes()
    mistakes, compared = wrong(quotes, reader(chosen.header, clones))
    print("\n".join([*mistakes, f"{compared} of {len(quotes)} quotes compared"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
