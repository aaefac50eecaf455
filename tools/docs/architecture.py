#!/usr/bin/env python3
"""Checks docs/architecture.md against the tree: the folders, files and functions it names exist.

In the page a function is a link whose text is its name and whose target is the file that defines
it: [`usable_table`](../src/dlpack/exchange_api.cpp). The map of folders is a code block whose lines
begin with a folder's path. Every folder of sources must be in the map.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path("docs") / "architecture.md"
LINK = re.compile(r"\[`?([^\]`]+)`?\]\(([^)#\s]+)\)")
MAP = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
FOLDER = re.compile(r"^([\w./]+/)(?:\s|$)", re.MULTILINE)
#: Folders whose subfolders each have a line in the map.
MAPPED = ("src", "include/refarray", "fakegpu", "tests", "tools")
SOURCES = {".cpp", ".hpp", ".cu", ".py", ".toml", ".patch"}
FUNCTION = re.compile(r"[\w:]+(?:\(\))?")


def links(root: Path, text: str) -> Iterator[str]:
    """Yields what is wrong with the links of the page."""
    for name, target in LINK.findall(text):
        if "://" in target:
            continue
        path = (root / PAGE).parent / target
        if not path.exists():
            yield f"{target} does not exist"
        elif path.is_file() and path.suffix in SOURCES and FUNCTION.fullmatch(name):
            function = name.removesuffix("()").rpartition("::")[2]
            if not re.search(rf"\b{re.escape(function)}\b", path.read_text(encoding="utf-8")):
                yield f"{target} has no {name}"


def folders_of(root: Path) -> set[str]:
    """Every folder below MAPPED that holds sources."""
    found = set()
    for base in MAPPED:
        for path in (root / base).rglob("*"):
            if path.suffix in SOURCES and "build" not in path.parts:
                found.add(f"{path.parent.relative_to(root).as_posix()}/")
    return found


def folder_map(root: Path, text: str) -> Iterator[str]:
    """Yields folders of the map that do not exist, and folders of the tree that it lacks."""
    mapped = {line for block in MAP.findall(text) for line in FOLDER.findall(block)}
    for folder in sorted(mapped):
        if not (root / folder).is_dir():
            yield f"the folder {folder} of the map does not exist"
    for folder in sorted(folders_of(root)):
        if not any(folder == each or folder.startswith(f"{each.rstrip('/')}/") for each in mapped):
            yield f"the map lacks the folder {folder}"


def problems(root: Path) -> list[str]:
    text = (root / PAGE).read_text(encoding="utf-8")
    return [*links(root, text), *folder_map(root, text)]


def main(arguments: list[str]) -> int:
    found = problems(Path(arguments[0]) if arguments else ROOT)
    for problem in found:
        print(f"{PAGE}: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
