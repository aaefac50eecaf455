"""Runs the code blocks of a Markdown page with sybil: `python pages.py PAGE...`, in this process.

All blocks of a page share names and a working directory, which has a copy of `examples`.

- ```python: runs; blocks with prompts must print the output that they show. A block whose first
  line is `# file: NAME` is written to that file instead.
- ```cpp and ```cmake: a block whose first line names a file is written; others are only shown.
- ```sh: each command must succeed. `make` runs as a dry run in the repository. `refarray check` and
  `refarray matrix` may also exit with 1, which reports deviations.
- ```console: each line `$ COMMAND` must print the lines below it, in which `...` stands for
  anything. Its exit status is not checked.

`<!-- skip: next "REASON" -->` leaves out the next block.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from unittest import SkipTest

from hypothesis import settings
from sybil import Document, Example
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.markdown import CodeBlockParser, SkipParser

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FILES = ("cpp", "cmake")
LANGUAGES = ("python", "sh", "console")
FIRST_LINE = re.compile(r"(?:#|//) file: (\S+)\n")
SECONDS = 300


class PythonBlocks(CodeBlockParser):
    """Blocks of Python, with or without prompts; files are written."""

    language = "python"

    def __init__(self) -> None:
        super().__init__()
        self.doctests = DocTestStringParser(DocTestEvaluator(OPTIONS))
        self.python = PythonEvaluator()

    def __call__(self, document: Document):  # type: ignore[no-untyped-def]
        for region in super().__call__(document):
            if region.parsed.lstrip().startswith(">>>"):
                for each in self.doctests(region.parsed, document.path):
                    each.adjust(region, region.parsed)
                    yield each
            else:
                yield region

    def evaluate(self, example: Example) -> None:
        if not is_written(example):
            self.python(example)


def is_written(example: Example) -> bool:
    """Writes the block into a file if its first line names one."""
    text = str(example.parsed)
    named = FIRST_LINE.match(text)
    if named:
        Path(named[1]).write_text(text, encoding="utf-8")
    return named is not None


def show(example: Example) -> None:
    is_written(example)


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with this interpreter's `python`, `pytest` and `refarray` first in PATH."""
    words = shlex.split(command, comments=True)
    cwd = None
    if words[:1] == ["make"]:
        command, cwd = shlex.join(["make", "--dry-run", *words[1:]]), ROOT
    return subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        cwd=cwd,
        check=False,
    )


def commands(text: str) -> list[str]:
    """The commands of a block: a line each, without comment lines, `\\` continues."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if shlex.split(line, comments=True)]


def run_sh(example: Example) -> str | None:
    """Runs a block of commands, each of which must succeed."""
    for command in commands(example.parsed):
        done = shell(command)
        reports = re.match(r"(cd \S+ && )?refarray (check|matrix) ", command)
        allowed = {0, 1} if reports else {0}
        if done.returncode not in allowed:
            return f"{command}: exit status {done.returncode}\n{done.stdout}"
    return None


def run_console(example: Example) -> str | None:
    """Runs the commands after `$ ` and compares what each prints."""
    for part in f"\n{example.parsed}".split("\n$ ")[1:]:
        command, _, expected = part.partition("\n")
        printed = shell(command).stdout
        if not doctest.OutputChecker().check_output(expected, printed, OPTIONS):
            return f"{command}\nexpected:\n{expected}\nprinted:\n{printed}"
    return None


def parsed(page: Path) -> Document:
    """The page with its blocks."""
    return Document.parse(
        str(page),
        SkipParser(),
        PythonBlocks(),
        *(CodeBlockParser(language, show) for language in FILES),
        CodeBlockParser("sh", run_sh),
        CodeBlockParser("console", run_console),
    )


def has_blocks(page: Path) -> bool:
    """Whether the page has a block that can be run."""
    text = page.read_text(encoding="utf-8")
    return any(f"\n```{language}\n" in text for language in LANGUAGES)


def run(page: Path) -> int:
    """Runs the page's blocks, prints failures and skips, and returns the number of failures."""
    document = parsed(page)
    document.namespace["__name__"] = "__main__"
    failed = 0
    for example in document.examples():
        try:
            example.evaluate()
        except SkipTest as reason:
            print(f"{page.name}:{example.line}: skipped: {reason}")
        except Exception as error:
            failed += 1
            print(f"{page}:{example.line}: {type(error).__name__}: {error}")
    return failed


def use_environment(tools: Path) -> None:
    """What a page's commands find as if it were installed: `refarray`, `pytest` and this Python in
    PATH and by CMake, and the package of the simulated drivers with its plugin."""
    for name, module in (("refarray", "refarray"), ("pytest", "pytest"), ("python", "")):
        start = f"exec {shlex.quote(sys.executable)}{f' -m {module}' if module else ''}"
        (tools / name).write_text(f'#!/bin/sh\n{start} "$@"\n')
        (tools / name).chmod(0o755)
    here = Path(sys.executable).parent  # cmake and ninja
    os.environ["PATH"] = os.pathsep.join([str(tools), os.environ["PATH"], str(here)])
    os.environ["VIRTUAL_ENV"] = sys.prefix
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*path, str(ROOT / "fakegpu")]))
    if not entry_points(group="pytest11", name="fakegpu"):
        os.environ["PYTEST_PLUGINS"] = "fakegpu.pytest_plugin"
    # Where CI sets these, pytest does not cut its summary to the width of a terminal.
    for name in ("CI", "BUILD_NUMBER"):
        os.environ.pop(name, None)


def main(pages: list[str]) -> int:
    """Runs pages in a new folder, with `refarray` in PATH even if only PYTHONPATH finds it."""
    settings.load_profile("ci")  # draws the same examples each time and stores none
    paths = [Path(page).resolve() for page in pages]
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder, "bin")
        tools.mkdir()
        use_environment(tools)
        work = Path(folder, "work")
        shutil.copytree(ROOT / "examples", work / "examples")
        os.chdir(work)
        failed = sum(run(page) for page in paths)
        os.chdir(ROOT)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
