"""Summaries of what needs partners, hours or a machine, as TOML (docs/records, docs/gates), and
their raw results: files on the branch `records`, each named by the hash in its summary (`raw`).

`git cat-file blob RAW` prints one, after `git fetch origin records`. `records.py NAME FILE` keeps a
file that was made on another machine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SUMMARIES = ROOT / "docs" / "records"
BRANCH = "records"
WIDTH = 100  # characters; a longer list of texts has a line for each


def value(given: Any) -> str:
    """A value as TOML, on one line."""
    if isinstance(given, Mapping):
        return f"{{ {', '.join(f'{key(name)} = {value(each)}' for name, each in given.items())} }}"
    if isinstance(given, list | tuple):
        return f"[{', '.join(map(value, given))}]"
    if isinstance(given, bool | str):
        return json.dumps(given, ensure_ascii=False)
    return f"{given:.5g}" if isinstance(given, float) else str(given)


def key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else value(name)


def text(about: str, summary: Mapping[str, Any]) -> str:
    """A summary as TOML: a sentence, single values, then a section for each mapping."""
    lines, sections = [], []
    for name, given in summary.items():
        if isinstance(given, Mapping):
            sections += ["", f"[{key(name)}]"]
            sections += [f"{key(each)} = {value(found)}" for each, found in given.items()]
        elif isinstance(given, list) and len(value(given)) > WIDTH:
            lines += [f"{key(name)} = [", *(f"  {value(each)}," for each in given), "]"]
        else:
            lines.append(f"{key(name)} = {value(given)}")
    return "\n".join([f"# {about}", *lines, *sections]) + "\n"


def write(path: Path, about: str, summary: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(about, summary), encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def git(*arguments: str, content: bytes | None = None, **variables: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=ROOT,
        input=content,
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, **variables},
    )
    return done.stdout.decode().strip()


def blob(content: bytes) -> str:
    """The hash that git gives a file, where there is no git."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def keep(name: str, content: bytes) -> str:
    """Commits a raw result to the branch of this repository; returns the hash of its blob."""
    blob = git("hash-object", "-w", "--stdin", content=content)
    parent = git("for-each-ref", "--format=%(objectname)", f"refs/heads/{BRANCH}")
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        if parent:
            git("read-tree", parent, **index)
        git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", **index)
        tree = git("write-tree", **index)
    after = ["-p", parent] if parent else []
    commit = git("commit-tree", tree, "-m", f"Record {name}", *after)
    git("update-ref", f"refs/heads/{BRANCH}", commit)
    return blob


if __name__ == "__main__":
    print(keep(sys.argv[1], Path(sys.argv[2]).read_bytes()))
