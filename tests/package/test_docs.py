"""The Python code of README.md and of the manual runs, each page in its own process."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """(line of the fence, text) of each Python block."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def run(page: Path) -> int:
    """Run the page's blocks in one namespace; blocks with prompts must print the output they
    show."""
    names: dict[str, Any] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    for line, text in blocks(page):
        if text.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
            test.globs = names  # shared, not copied: later blocks use earlier definitions
            runner.run(test, clear_globs=False)
        else:
            exec(compile("\n" * line + text, str(page), "exec"), names)
    return runner.summarize(verbose=False).failed


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(blocks(page))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", __file__, str(page)]
    result = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_readme_and_quickstart_have_code() -> None:
    assert all(any(blocks(page)) for page in (ROOT / "README.md", ROOT / "docs" / "quickstart.md"))


def test_page_with_a_wrong_result_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\na = 2\n```\n\n```python\n>>> a\n2\n>>> b = 3\n```\n")
    assert run(page) == 0
    page.write_text(page.read_text() + "\n```python\n>>> a + b\n6\n```\n")
    assert subprocess.run(
        [sys.executable, __file__, page], check=False, capture_output=True
    ).returncode
    page.write_text("```python\nraise SystemExit(3)\n```\n")
    assert subprocess.run([sys.executable, __file__, page], check=False).returncode == 3


if __name__ == "__main__":
    sys.exit(1 if run(Path(sys.argv[1])) else 0)
