"""Canaries: every planted bug applies to the sources, and the runner tells a gate that catches it
from one that passes or fails for another reason."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_canary() -> ModuleType:
    spec = importlib.util.spec_from_file_location("canary", ROOT / "tools" / "gates" / "canary.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["canary"] = module
    spec.loader.exec_module(module)
    return module


canary = load_canary()


@pytest.mark.parametrize("path", canary.canaries(), ids=lambda path: path.stem)
def test_every_canary_patch_applies(path: Path) -> None:
    planted = canary.read(path)
    assert planted.bug and planted.expect.pattern
    assert planted.expect.search("") is None, "Expect matches any output"
    canary.plant(planted, ROOT, only_check=True)


# A gate that fails if the sum is wrong.
MAKEFILE = """\
gate:
\t@test -z "$(CANARY)" || { echo "CANARY is set in the copy"; exit 1; }
\t@echo "environment $(VENV)"
\t@grep -q 'one and one is two' sum.txt || { echo 'the sum is wrong: '; cat sum.txt; exit 1; }
"""
DIFF = """\
--- a/sum.txt
+++ b/sum.txt
@@ -1 +1 @@
-one and one is two
+one and one is {sum}
"""


def patch(sum: str = "three", expect: str = "the sum is wrong", bug: str = "Bug: a sum") -> str:
    return f"{bug}\nExpect: {expect}\n\n{DIFF.format(sum=sum)}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one gate, `gate`."""
    root = tmp_path / "repository"
    (root / "tests" / "gates" / "canary").mkdir(parents=True)
    (root / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    (root / "sum.txt").write_text("one and one is two\n", encoding="utf-8")
    (root / ".gitignore").write_text("/build/\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    return root


def run_canary(tree: Path, text: str | None) -> int:
    if text is not None:
        (tree / "tests" / "gates" / "canary" / "gate.patch").write_text(text, encoding="utf-8")
    result = canary.run_canaries_of("gate", tree)
    assert (tree / "sum.txt").read_text(encoding="utf-8") == "one and one is two\n"
    assert isinstance(result, int)
    return result


def test_gate_that_reports_the_bug_has_caught_it(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", "1")
    monkeypatch.setenv("MAKEFLAGS", " -- CANARY=1")
    assert run_canary(tree, patch(expect=r"^one and one is thr")) == 1
    assert "caught by `make gate`: one and one is thr" in capsys.readouterr().out
    log = (tree / "build" / "canary" / "gate.log").read_text(encoding="utf-8")
    assert f"environment {sys.prefix}" in log


def test_every_bug_of_a_gate_must_be_caught(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tree / "tests" / "gates" / "canary"
    (folder / "gate-four.patch").write_text(patch(sum="four"), encoding="utf-8")
    assert run_canary(tree, patch()) == 1
    assert capsys.readouterr().out.count("caught by `make gate`") == 2
    (folder / "gate-two.patch").write_text(patch(sum="two, nearly three"), encoding="utf-8")
    assert run_canary(tree, patch()) == 0
    assert canary.gate_of(folder / "gate-two.patch") == "gate"
    (folder / "gate.patch").unlink()
    assert run_canary(tree, None) == 2


def test_gate_that_passes_has_not_caught_the_bug(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_canary(tree, patch(sum="two, nearly three")) == 0
    assert "NOT CAUGHT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no gate.patch"),
        (patch(bug="what is planted"), "no line `Bug:`"),
        (patch(expect=""), "no line `Expect:`"),
        (patch(expect="("), "not a regular expression"),
        (patch().replace("-one and one is two", "-one and one is ten"), "does not apply"),
        (patch(expect="out of memory"), "failed (exit status 2) without the report"),
    ],
)
def test_other_failures_prove_nothing(
    text: str | None, message: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_canary(tree, text) == 2
    assert message in capsys.readouterr().out


def test_copy_has_the_files_git_would_add_and_nothing_else(tree: Path) -> None:
    (tree / "build").mkdir()
    (tree / "build" / "ignored").write_text("old\n", encoding="utf-8")
    copy = tree / "build" / "canary" / "gate"
    (copy / "build").mkdir(parents=True)
    canary.copy_sources(tree, copy)
    assert sorted(path.name for path in copy.rglob("*") if path.is_file()) == [
        ".gitignore",
        "Makefile",
        "sum.txt",
    ]
    assert (copy / "sum.txt").stat().st_mtime_ns == (tree / "sum.txt").stat().st_mtime_ns
