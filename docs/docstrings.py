"""Turns the package's docstrings, written for help(), into Google sections that napoleon renders.

A paragraph of lines `name: text` becomes "Args:"; calls, keywords and exceptions become literals.
"""

from __future__ import annotations

import re
import tomllib
from itertools import groupby
from pathlib import Path

PARAMETER = re.compile(r"[a-z_]\w*(, [a-z_]\w*)*: ")
WORD = r"[A-Za-z_][\w.]*"
CODE = re.compile(
    rf"`[^`]+`"  # marked as code already
    rf"|'[^'\s]*'"
    rf"|{WORD}\(\)|{WORD}=[\w.]+|[\w.]*__\w+__|\bnumpy\.ndarray\b|\b(?:True|False|None)\b|\b\w+Error\b"
    rf"|[*\\|]+|\b\w+_(?!\w)"
)


INVENTORIES = Path(__file__).parent / "inventories"
EXTERNAL = {
    line.split()[0]
    for path in INVENTORIES.glob("*.txt")
    for line in path.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
}
"""Names of other manuals, which become links."""


EXAMPLES_FILE = Path(__file__).parent / "examples.toml"
EXAMPLES: dict[str, dict[str, str]] = tomllib.loads(EXAMPLES_FILE.read_text(encoding="utf-8"))


def literal(match: re.Match[str]) -> str:
    text = match[0].strip("`")
    name = text.removesuffix("()")
    return f":py:obj:`{text} <{name}>`" if name in EXTERNAL else f"``{text}``"


def marked(line: str) -> str:
    """The line with its code as literals."""
    return CODE.sub(literal, line)


def is_parameters(lines: list[str]) -> bool:
    """Whether a paragraph describes parameters."""
    return bool(PARAMETER.match(lines[0]))


def converted(lines: list[str]) -> list[str]:
    """The docstring's lines as reStructuredText with Google sections."""
    grouped = groupby(lines, key=lambda line: bool(line.strip()))
    paragraphs = [list(group) for filled, group in grouped if filled]
    out: list[str] = []
    in_code = False
    for paragraph in paragraphs:
        in_code = in_code and all(line.startswith(" ") for line in paragraph)
        if in_code:
            out += [*paragraph, ""]
        elif is_parameters(paragraph):
            out += ["Args:", *(f"    {marked(line)}" for line in paragraph), ""]
        elif paragraph == ["::"]:
            out += ["::", ""]
            in_code = True
        else:
            out += [*map(marked, paragraph), ""]
    return out


def example(name: str) -> list[str]:
    """The lines of the section with the example of `refarray.add`, say; none if it has none."""
    owner, _, short = name.rpartition(".")
    text = EXAMPLES.get(owner, {}).get(short)
    return ["Example:", *(f"    {line}" for line in text.splitlines()), ""] if text else []
