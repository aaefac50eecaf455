"""Writes a generated page of the manual, or tells whether it is up to date."""

from __future__ import annotations

from pathlib import Path


def write_or_check(page: Path, text: str, arguments: list[str]) -> int:
    """The exit status; `--check` writes nothing, and returns 1 if the page is out of date."""
    if arguments == ["--check"]:
        return int(page.read_text(encoding="utf-8") != text)
    page.write_text(text, encoding="utf-8")
    print(f"wrote {page}")
    return 0


def cells(*values: str) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(value.replace('|', chr(92) + '|') for value in values)} |\n"
