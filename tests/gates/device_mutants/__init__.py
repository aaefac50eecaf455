"""Mutants of the GPU layer, as data: the files *.toml of this folder.

A file lists rows `[name, kind, text, replacement, source]`; without `source` its `file` is meant.
The text occurs exactly once in the source. `first` names the files of tests/devices/simulated that
are likely to notice the mutants. The table `noticed` names, for a mutant that the first stage of
the gate does not notice, the stage and the test file that do. The table `equivalent` proves of each
mutant named there that no test can notice it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


@dataclass(frozen=True)
class Mutant:
    name: str  # list:name
    kind: str
    text: str
    replacement: str
    source: str  # relative to the root of the repository
    first: tuple[str, ...]
    stage: str = ""  # the one that notices the mutant, if it is not the first
    equivalent: str = ""  # the proof

    def apply(self, root: Path = ROOT) -> str:
        """The source with the bug in it."""
        before = (root / self.source).read_text(encoding="utf-8")
        if (count := before.count(self.text)) != 1:
            raise ValueError(f"{self.name}: its text occurs {count} times in {self.source}")
        return before.replace(self.text, self.replacement)


def read(path: Path) -> list[Mutant]:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    proofs: dict[str, str] = data.get("equivalent", {})
    noticed: dict[str, list[str]] = data.get("noticed", {})
    found = []
    for name, kind, text, replacement, *source in data["mutants"]:
        of = source[0] if source else data["file"]
        stage, *files = noticed.get(name, [""])
        first = (*files, *data["first"])
        full = f"{path.stem}:{name}"
        proof = proofs.get(name, "")
        found.append(Mutant(full, kind, text, replacement, of, first, stage, proof))
    named = {mutant.name.partition(":")[2] for mutant in found}
    if unknown := (proofs.keys() | noticed.keys()) - named:
        raise ValueError(f"{path.name}: no mutants {sorted(unknown)}, which its tables name")
    return found


def load() -> list[Mutant]:
    found = [mutant for path in sorted(HERE.glob("*.toml")) for mutant in read(path)]
    names = [mutant.name for mutant in found]
    if len(set(names)) != len(names):
        raise ValueError(f"two mutants have one name: {sorted(names)}")
    return found
