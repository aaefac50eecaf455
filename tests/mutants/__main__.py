"""Owns `make zoo`: every animal is caught by its own requirement, and by no other."""

from __future__ import annotations

import sys
from collections import defaultdict
from importlib import import_module

from mutants.base import ANIMALS
from refarray.conformance import Outcome, checks
from refarray.conformance.runner.engine import Run, run_subject

HOMES = {
    "producers": "producer",
    "answers": "producer",
    "edges": "producer",
    "owners": "producer",
    "consumers": "consumer",
    "eaters": "consumer",
    "guests": "consumer",
    "tables": "exchange-api",
    "couples": "pair",
    "devices": "producer",
    "receivers": "consumer",
    "queues": "exchange-api",
}
"""The modules of animals, and the role that they are tried in."""


def load() -> None:
    """Enters every animal."""
    for name in HOMES:
        import_module(f"mutants.{name}")


ON_DEVICES = {"devices", "receivers", "queues"}
"""The modules of animals that go wrong on devices, and are as refarray is elsewhere."""


def tried(animal: str) -> Run:
    """The findings on one animal, in its role; on simulated devices, or without any."""
    home = animal.partition(":")[0].removeprefix("mutants.")
    there = home in ON_DEVICES
    chosen = [c for c in checks(full=True) if c.role == HOMES[home] and c.devices == there]
    return run_subject(animal, chosen, devices="simulated" if there else "none")


def caught(run: Run) -> dict[str, list[str]]:
    """What was found wrong: cases by requirement."""
    out = defaultdict(list)
    for found in run.findings:
        if found.outcome not in {Outcome.PASS, Outcome.NOT_APPLICABLE}:
            out[found.id].append(f"{found.case}: {found.observed}")
    return dict(out)


def main(names: list[str]) -> int:
    """Tries the animals whose names hold one of `names`, all without."""
    load()
    chosen = [a for a in ANIMALS if not names or any(name in a for name in names)]
    killed = 0
    for animal in chosen:
        run = tried(animal)
        found = caught(run)
        right = set(found) == {ANIMALS[animal]}
        killed += right
        print(f"{'caught' if right else 'MISSED'}  {ANIMALS[animal]:<8}  {animal}", flush=True)
        if not right:
            print(f"        found instead: {found or run.broken or 'nothing'}", flush=True)
    print(f"kill rate: {killed}/{len(chosen)}")
    return 0 if killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
