"""The code of README.md and of the manual runs, shell commands too, each page in a process."""

from __future__ import annotations

import builtins
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from helpers import pages
from helpers.processes import python

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in (ROOT / "docs").glob("**/*.md") if "_build" not in page.parts),
]
RUNNER = Path(pages.__file__)


def run(page: Path) -> subprocess.CompletedProcess[str]:
    return python("-W", "error", RUNNER, page, seconds=600)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if pages.has_blocks(page)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_code_of_a_page_runs(page: Path) -> None:
    result = run(page)
    assert result.returncode == 0, result.stdout + result.stderr


def test_first_pages_have_code() -> None:
    assert all(map(pages.has_blocks, (ROOT / "README.md", ROOT / "docs" / "quickstart.md")))


def test_steps_of_each_kind_of_user_run() -> None:
    """A section for each; only what would install packages into this environment is left out."""
    text = (ROOT / "docs" / "first-steps.md").read_text(encoding="utf-8")
    _, *sections = text.split("\n## ")
    assert len(sections) == 6
    skipped = re.compile(r"<!-- skip: .*?```sh\n(.*?)```", re.DOTALL)
    installs = skipped.findall(text)
    assert installs and all(each.startswith("pip install ") for each in installs)
    for section in sections:
        assert re.search(r"```(sh|console)\n", skipped.sub("", section)), section


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("```python\n>>> a + b\n6\n```", "Got"),
        ("```python\nassert a == 3\n```", "AssertionError"),
        ("```sh\ntrue\nfalse\n```", "exit status 1"),
        ("```sh\nmake no-such-target\n```", "No rule to make target"),
        ("```console\n$ echo 1; echo 2\n1\n3\n```", "printed"),
        ("```console\n$ python mine.py\n5\n```", "printed"),
    ],
)
def test_page_with_a_wrong_result_fails(tmp_path: Path, wrong: str, message: str) -> None:
    page = tmp_path / "page.md"
    right = [
        "```python\na = 2\n```",
        "```python\n>>> a\n2\n>>> b = 3\n```",
        "```python\n# file: mine.py\nprint(4)\n```",
        "```sh\nmake help  # dry\n\npython -c 'import refarray'\n```",
        "```cpp\n// file: mine.cpp\nint x;\n```\n\n```cpp\nnot written\n```",
        "```console\n$ cat mine.cpp\n// file: mine.cpp\nint x;\n```",
        "```console\n$ python mine.py\n4\n$ echo a; echo b; echo c\na\n...\nc\n```",
        '<!-- skip: next "it ends the machine" -->\n\n```sh\nfalse\n```',
    ]
    page.write_text("\n\n".join(right) + "\n")
    result = run(page)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "skipped: it ends the machine" in result.stdout
    page.write_text("\n\n".join([*right, wrong]) + "\n")
    result = run(page)
    assert result.returncode == 1 and message in result.stdout, result.stdout + result.stderr


@pytest.fixture
def rendered() -> Iterator[ModuleType]:
    """docs/rendered.py, which fills in what pages show of docs/records."""
    before = sys.path[:]
    sys.path.insert(0, str(ROOT / "docs"))
    yield importlib.import_module("rendered")
    sys.path[:] = before
    del sys.modules["rendered"]  # which adds folders to the path


def test_readme_has_the_number_of_findings(rendered: ModuleType, tmp_path: Path) -> None:
    register = rendered.fill((ROOT / "docs" / "findings.md").read_text("utf-8"), tmp_path)
    pattern = r"\*\*(\d+) deviations from a MUST and (\d+) from a SHOULD\*\* in (\d+) libraries"
    found = re.search(pattern, register)
    assert found is not None
    must, should, libraries = found.groups()
    readme = (ROOT / "README.md").read_text()
    assert f"{must} broken MUSTs and {should} SHOULDs in {libraries} released libraries" in readme


def test_names_of_other_manuals_in_docstrings_are_links(rendered: ModuleType) -> None:
    docstrings = importlib.import_module("docstrings")
    shown = docstrings.marked("Raises TypeError as numpy.from_dlpack() does; True and NoCopyError")
    assert ":py:obj:`TypeError <TypeError>`" in shown
    assert ":py:obj:`numpy.from_dlpack() <numpy.from_dlpack>`" in shown
    assert "``True``" in shown and "``NoCopyError``" in shown
    builtin = [name for name in docstrings.EXTERNAL if "." not in name]
    assert len(builtin) >= 10 and all(hasattr(builtins, name) for name in builtin)


def test_gallery_shows_the_notebook(rendered: ModuleType, tmp_path: Path) -> None:
    text = rendered.fill((ROOT / "docs" / "gallery.md").read_text("utf-8"), tmp_path)
    assert text.count('<div class="notebook-output">') == text.count("<div class=") >= 6
    assert text.count("<svg ") == 5 and "ra.inspect(x.T)" in text
    assert "synchronizations" in text and "requirements judged, 0 broken" in text
