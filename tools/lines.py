#!/usr/bin/env python3
"""Counts the repository's lines and characters by part: written by hand, generated and recorded.

usage: python tools/lines.py [COMMIT]

Exits 1 if more than `MOST` lines are by hand; docs/adr/0033-how-large-the-repository-is.md says
when to raise it.

Generated files are those that a test compares with their source. Recorded ones hold results of
machines, other libraries or hours. Corpora, device images and licences do not count. Without
COMMIT the tracked files of the work tree are counted.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COUNTED = HAND, GENERATED, RECORDED = "by hand", "generated", "recorded"
NOT_COUNTED = ""
MOST = 217_000

#: The first pattern that fits decides; `*` also fits `/`. Everything else is written by hand.
KINDS = {
    "src/runtime/kernels/images/*": NOT_COUNTED,
    "tests/fuzz/corpus/*": NOT_COUNTED,
    "LICENSE*": NOT_COUNTED,
    "tools/locks/*": GENERATED,
    "docs/foreign.md": GENERATED,
    "docs/functions.md": GENERATED,
    "docs/gpu-scenarios.md": GENERATED,
    "docs/partners.md": GENERATED,
    "docs/images/memory.svg": GENERATED,
    "fakegpu/src/cuda/functions.txt": GENERATED,
    "src/refarray/fft.pyi": GENERATED,
    "src/refarray/linalg.pyi": GENERATED,
    "benchmarks/budget.json": RECORDED,
    "docs/gates/*": RECORDED,
    "docs/records/*": RECORDED,
    "tests/compute/official_suite.toml": RECORDED,
    "tests/consumers/results.json": RECORDED,
    "tests/foreign/results.json": RECORDED,
    "tests/gates/same_bits.json": RECORDED,
    "tests/package/array_api_signatures.toml": RECORDED,
    "tools/gates/mutants/rates.toml": RECORDED,
    "tools/gates/mutants/survivors.toml": RECORDED,
}

#: Generated parts of files that are written by hand otherwise: their first line and the next one.
PARTS = {
    "docs/gpu.md": ("| | CUDA | 50 streams |", "\n## Without a device"),
    "src/refarray/_native.pyi": (
        "# Functions of the array API standard, written by",
        "# Other functions.",
    ),
    "src/refarray/typing.py": (
        "# Written by tools/rows from the rows of the functions",
        "# The namespaces of refarray.",
    ),
}

#: Folders whose own folders are counted one by one.
SPLIT = ("src", "tests", "src/refarray", "src/core", "src/extension")


def kind(path: str) -> str:
    return next((kind for pattern, kind in KINDS.items() if fnmatchcase(path, pattern)), HAND)


def folder(path: str) -> str:
    """The folder that a file counts for."""
    names = path.split("/")[:-1]
    found = ""
    for name in names:
        found = f"{found}/{name}" if found else name
        if found not in SPLIT:
            break
    return found or "(top)"


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def files(commit: str) -> Iterator[tuple[str, bytes]]:
    """Every tracked regular file with its content."""
    if not commit:
        for name in git("ls-files", "-z").decode().split("\0")[:-1]:
            if (path := ROOT / name).is_file():
                yield name, path.read_bytes()
        return
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
        for member in archive:
            if member.isfile() and (content := archive.extractfile(member)) is not None:
                yield member.name, content.read()


def main(arguments: list[str]) -> None:
    if len(arguments) > 1 or arguments[:1] == ["--help"]:
        sys.exit(__doc__)
    lines: Counter[tuple[str, str]] = Counter()
    characters: Counter[str] = Counter()
    for name, content in files(*arguments or [""]):
        if b"\0" in content or not (of := kind(name)):
            continue
        text = content.decode()
        if name in PARTS:
            begin, end = map(text.index, PARTS[name])
            lines[folder(name), GENERATED] += text.count("\n", begin, end)
            characters[GENERATED] += end - begin
            text = text[:begin] + text[end:]
        lines[folder(name), of] += text.count("\n")
        characters[of] += len(text)
    print(f"{'lines':34}" + "".join(f"{each:>12}" for each in COUNTED))
    for each in sorted({name for name, _ in lines}):
        print(f"{each:34}" + "".join(f"{lines[each, of]:12,}" for of in COUNTED))
    sums = {of: sum(n for (_, one), n in lines.items() if one == of) for of in COUNTED}
    print(f"{'all':34}" + "".join(f"{sums[of]:12,}" for of in COUNTED))
    print(f"{'characters':34}" + "".join(f"{characters[of]:12,}" for of in COUNTED))
    if sums[HAND] > MOST:
        sys.exit(f"{sums[HAND]:,} lines are by hand, the limit is {MOST:,}")


if __name__ == "__main__":
    main(sys.argv[1:])
