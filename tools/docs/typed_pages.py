#!/usr/bin/env python3
"""Checks the Python code of README.md and of the manual with mypy and pyright.

The blocks of a page become one module, and a block that begins with `# file: NAME` a file beside
it, as tests/helpers/pages.py runs them. Blocks after `<!-- skip: next "REASON" -->` are
left out."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "typed_pages"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SKIPPED = re.compile(r'^<!-- skip: next "[^"\n]*" -->\n+```.*?^```$', re.MULTILINE | re.DOTALL)
FILE = "# file: "


def pages() -> list[Path]:
    manual = (page for page in (ROOT / "docs").glob("**/*.md") if "_build" not in page.parts)
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(manual)]


def code(block: str) -> str:
    """The statements of a block; of a block with prompts, what is typed."""
    if not block.lstrip().startswith(">>>"):
        return block
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block))


def split(text: str) -> tuple[str, dict[str, str]]:
    """The page's module, its lines at the same places as in the page, and its files."""
    lines: list[str] = []
    files: dict[str, str] = {}
    text = SKIPPED.sub(lambda skipped: "\n" * skipped[0].count("\n"), text)
    for found in BLOCK.finditer(text):
        block = found[1]
        if block.startswith(FILE):
            files[block.partition("\n")[0].removeprefix(FILE).strip()] = block
            continue
        lines += [""] * (text.count("\n", 0, found.start(1)) - len(lines))
        lines += code(block).splitlines()
    return "\n".join([*lines, ""]), files


def write(page: Path) -> Path | None:
    """Writes the page's modules into a folder of their own; None if it has no code."""
    module, files = split(page.read_text(encoding="utf-8"))
    if not module.strip() and not files:
        return None
    name = page.relative_to(ROOT).with_suffix("").as_posix().replace("/", "_").replace("-", "_")
    folder = WORK / name.lower()
    folder.mkdir(parents=True)
    (folder / f"page_{name.lower()}.py").write_text(module, encoding="utf-8")
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def is_accepted(folder: Path) -> bool:
    """Runs both checkers in the folder and prints what they find."""
    tools = Path(sys.executable).parent
    modules = sorted(file.name for file in folder.glob("*.py"))
    mypy = ["--config-file=", "--cache-dir", WORK / ".mypy_cache", "--check-untyped-defs"]
    mypy.append("--disable-error-code=import-not-found")  # modules of CPython's own tests
    accepted = True
    for command in (
        [tools / "mypy", "--no-error-summary", *mypy, *modules],
        [tools / "pyright", "--pythonpath", sys.executable, *modules],
    ):
        done = subprocess.run(
            command,
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        )
        if done.returncode != 0:
            accepted = False
            print(f"{folder.name}:\n{done.stdout}{done.stderr}")
    return accepted


def main() -> int:
    shutil.rmtree(WORK, ignore_errors=True)
    folders = [folder for folder in map(write, pages()) if folder is not None]
    refused = [folder for folder in folders if not is_accepted(folder)]
    print(f"{len(folders) - len(refused)} of {len(folders)} pages accepted by mypy and pyright")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
