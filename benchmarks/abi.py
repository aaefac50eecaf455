"""A14: the stable-ABI build against the full-API build of one commit, on one interpreter.

Both are built by plain CMake. Their timings alternate, process by process, so that the machine's
state meets both alike, and each is in units of its own process' no-op; the instructions are
counted by callgrind.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator

from . import builds, exchange, instructions
from .environment import Environment, load_average
from .measure import Case, Target, is_wanted

LIMIT = 1.15
CASES = ("A1", "A2", "A3", "A4", "A5")
PARTNERS = ("numpy", "torch")
PAIRS = 7  # processes of each build


def cases() -> Iterator[Case]:
    targets = tuple(Target(LIMIT, what=what) for what in ("time", "instructions"))
    for case in exchange.cases():
        if is_wanted(case.id, CASES):
            yield Case(case.id, case.title, targets, (), "x")


def timed(build: builds.Build) -> dict[str, float]:
    """The figures of one process that times CASES with this build."""
    command = [build.python, "-m", "benchmarks", "exchange", "--cases", ",".join(CASES)]
    command += ["--partners", ",".join(PARTNERS), "--seconds", "0.3", "--figures"]
    done = subprocess.run(
        command, env=build.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{build.abi} could not be timed:\n{done.stderr[-4000:]}")
    return {
        id_: float(figure)
        for id_, _, figure in (line.rpartition(" ") for line in done.stdout.splitlines())
    }


def measured(_: Environment, wanted: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Per case the ratio of the units' medians over the pairs, and of the counts."""
    version = builds.ABI3_FLOOR.replace(".", "")
    full = builds.build(f"cp{version}", PARTNERS)
    stable = builds.build(f"abi3-cp{version}", PARTNERS)
    ratios: dict[str, list[float]] = {}
    for number in range(PAIRS):
        order = (full, stable) if number % 2 == 0 else (stable, full)
        made = {build.abi: timed(build) for build in order}
        for id_, units in made[full.abi].items():
            ratios.setdefault(id_, []).append(made[stable.abi][id_] / units)
        print(f"pair {number + 1} of {PAIRS}, load {load_average()}", file=sys.stderr, flush=True)
    counts = {build.abi: instructions.count(build, PARTNERS)[1] for build in (full, stable)}
    for id_, found in ratios.items():
        if is_wanted(id_, wanted):
            yield (
                id_,
                {
                    "time": statistics.median(found),
                    "least": min(found),
                    "most": max(found),
                    "instructions": counts[stable.abi][id_] / counts[full.abi][id_],
                },
            )
