#!/usr/bin/env python3
"""Installs the named dependency groups of pyproject.toml into the environment of this Python:
`requirements.py --install GROUP...`, as the lock of its minor version says.

Without `--install` it prints the groups' requirements, with `--pins` those of the lock. `--changes`
prints where the environment differs from the lock.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / "pyproject.toml"
MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
LOCK = ROOT / "tools" / "locks" / f"{MINOR}.txt"


def requirements(project: dict[str, Any], name: str) -> Iterator[str]:
    """Yields the requirements of a group; "build" stands for the build requirements, "locked" for
    all but those that a machine may provide."""
    groups = project["dependency-groups"]
    if name == "build":
        yield from project["build-system"]["requires"]
        yield from ("cmake>=3.26", "ninja")  # with isolation scikit-build-core adds these itself
    elif name == "locked":
        wanted = [entry for group in ("build", *groups) for entry in requirements(project, group)]
        yield from (entry for entry in wanted if entry not in groups["provided"])
    else:
        for entry in groups[name]:
            if isinstance(entry, dict):
                yield from requirements(project, entry["include-group"])
            else:
                yield entry


def package(requirement: str) -> str:
    """The name of a requirement's package, as locks spell it."""
    name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock() -> dict[str, str]:
    """The entries of the lock by the name of the package; none without a lock.

    An entry is a version, its hashes, and a comment that names the packages that need it.
    """
    text = LOCK.read_text(encoding="utf-8") if LOCK.exists() else ""
    return {package(entry): entry for entry in re.split(r"\n(?=[a-z])", text)[1:]}


def needed(entries: dict[str, str], wanted: list[str]) -> dict[str, str]:
    """The entries for these requirements and for all that they need."""
    users = {
        name: set(re.findall(r"[\w.-]+", entry.rpartition("# via")[2]))
        for name, entry in entries.items()
    }
    chosen = set(map(package, wanted)) & entries.keys()
    while more := {name for name in entries.keys() - chosen if users[name] & chosen}:
        chosen |= more
    return {name: entries[name] for name in sorted(chosen)}


def version(entry: str) -> str:
    """What an entry begins with: name==version."""
    return entry.split()[0]


def pip(*arguments: str | Path) -> str:
    """Runs pip's install and returns what it prints; exits if it fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    command.append("--no-compile")  # most modules are never imported; Python compiles the others
    done = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}exit status {done.returncode}: pip install {arguments}")
    return done.stdout


def install(wanted: list[str], provided: set[str]) -> None:
    """Installs what the lock says, with hashes; then what a machine may provide, by version, and
    says which file that was. Without a lock, or with NEWEST=1, the newest releases."""
    entries = read_lock()
    if os.environ.get("NEWEST") or not entries:
        if not entries:
            print(f"== no lock for Python {MINOR}: the newest releases that pyproject.toml allows")
        pip("--upgrade", *wanted)
        return
    if lacking := {package(each) for each in wanted if each not in provided} - entries.keys():
        sys.exit(f"{LOCK} lacks {', '.join(sorted(lacking))}: run `make lock`")
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as chosen:
        chosen.write("\n".join(needed(entries, wanted).values()))
        chosen.flush()
        pip("--require-hashes", "-r", chosen.name)
    for requirement in sorted(provided & set(wanted)):
        for taken in json.loads(pip("--report", "-", requirement))["install"]:
            print(f"== took {taken['download_info']['url']}")
        print(f"== {package(requirement)} is {importlib.metadata.version(package(requirement))}")


def print_changes() -> None:
    """Prints the packages of this environment that the lock has in another version or lacks."""
    known = {name: version(entry) for name, entry in read_lock().items()}
    for each in sorted(importlib.metadata.distributions(), key=lambda each: package(each.name)):
        pinned = known.get(package(each.name), "nothing")
        if pinned != (found := f"{package(each.name)}=={each.version}"):
            print(f"{found}; the lock has {pinned}")


def main(arguments: list[str]) -> None:
    options = {each for each in arguments if each.startswith("--")}
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    names = [each for each in arguments if each not in options]
    wanted = list(dict.fromkeys(each for name in names for each in requirements(project, name)))
    if options == {"--changes"}:
        print_changes()
    elif options == {"--install"}:
        install(wanted, set(project["dependency-groups"]["provided"]))
    elif options == {"--pins"}:
        print("\n".join(map(version, needed(read_lock(), wanted).values())))
    else:
        print("\n".join(wanted))


if __name__ == "__main__":
    main(sys.argv[1:])
