"""docs/architecture.md against the tree: the page is right, and each kind of mistake is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.gate_loading import load_tool

pytestmark = pytest.mark.repository

ROOT = Path(__file__).resolve().parents[2]
PAGE = """# Architecture

```text
src/core/   arrays
```

[`f`](../src/core/a.cpp) is called first.
"""


architecture = load_tool("docs/architecture")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in (("src/core/a.cpp", "int f();\n"), ("docs/architecture.md", PAGE)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_page_describes_this_tree() -> None:
    assert architecture.problems(ROOT) == []


def test_a_correct_page_passes(tree: Path) -> None:
    assert architecture.problems(tree) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("`f`", "`g`", "../src/core/a.cpp has no g"),
        ("a.cpp)", "b.cpp)", "../src/core/b.cpp does not exist"),
        ("src/core/ ", "src/cora/ ", "the folder src/cora/ of the map does not exist"),
        ("src/core/ ", "src/core/copy/ ", "the map lacks the folder src/core/"),
    ],
)
def test_a_mistake_is_found(tree: Path, old: str, new: str, problem: str) -> None:
    page = tree / "docs" / "architecture.md"
    page.write_text(PAGE.replace(old, new), encoding="utf-8")
    assert problem in architecture.problems(tree)


def test_the_command_fails_on_a_mistake(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert architecture.main([str(tree)]) == 0
    (tree / "src/core/a.cpp").unlink()
    assert architecture.main([str(tree)]) == 1
    assert "does not exist" in capsys.readouterr().out
