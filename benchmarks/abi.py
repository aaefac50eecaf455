"""A14: the stable-ABI build against the full-API build of one commit, on one interpreter.

Both are built by plain CMake. Their timings alternate, process by process, so that the machine's
state meets both alike, and each is in units of its own process' no-op; the instructions are
counted by callgrind. `make bench-abi` prints the table, and --save records it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from . import builds, instructions
from .__main__ import RESULTS, commit
from .environment import load_average

LIMIT = 1.15
CASES = ("A1", "A2", "A3", "A4", "A5")
PARTNERS = ("numpy", "torch")


def timed(build: builds.Build, rounds: int) -> dict:
    """The record of one process that times CASES with this build."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        command = [str(build.python), "-m", "benchmarks", "--cases", ",".join(CASES)]
        command += ["--partners", ",".join(PARTNERS), "--sweeps", "1", "--rounds", str(rounds)]
        done = subprocess.run(
            [*command, "--json", str(path)],
            env=build.environment(),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise builds.Unbuilt(f"{build.abi} could not be timed:\n{done.stderr[-4000:]}")
        return json.loads(path.read_text(encoding="utf-8"))


def compare(full: builds.Build, stable: builds.Build, pairs: int, rounds: int) -> dict:
    """The record: per case the ratio of the units' medians over the pairs, and of the counts."""
    ratios: dict[str, list[float]] = {}
    before = load_average()
    record: dict = {}
    for number in range(pairs):
        order = (full, stable) if number % 2 == 0 else (stable, full)
        made = {build.abi: timed(build, rounds) for build in order}
        record = made[stable.abi]
        units = [
            {row["id"]: row["units"]["value"] for row in made[build.abi]["rows"] if "units" in row}
            for build in (full, stable)
        ]
        for id_ in units[0]:
            ratios.setdefault(id_, []).append(units[1][id_] / units[0][id_])
        print(f"pair {number + 1} of {pairs}, load {load_average()}", file=sys.stderr, flush=True)
    counts = {build.abi: instructions.count(build, PARTNERS)[1] for build in (full, stable)}
    comparison = [
        {
            "id": id_,
            "time": round(statistics.median(found), 3),
            "low": round(min(found), 3),
            "high": round(max(found), 3),
            "instructions": round(counts[stable.abi][id_] / counts[full.abi][id_], 3),
        }
        for id_, found in ratios.items()
    ]
    kept = ("date", "time", "machine", "versions", "absent")
    return {
        "id": f"abi-{commit()}",
        **{key: record[key] for key in kept if key in record},
        "build": {**record["build"], "abi": f"{stable.abi} over {full.abi}"},
        "load": [before, load_average()],
        "rounds": rounds,
        "pairs": pairs,
        "limit": LIMIT,
        "rows": [],
        "comparison": comparison,
    }


def show(record: dict) -> bool:
    """Print the table; whether every case is within the limit, by time and by instructions."""
    print(f"{record['build']['abi']}, Python {record['machine']['python']}, limit {LIMIT}")
    print(f"{'case':<10}{'time':>8}{'  least, most':>16}{'instructions':>14}")
    for row in record["comparison"]:
        spread = f"{row['low']:.3f}, {row['high']:.3f}"
        over = "  MISSED" if max(row["time"], row["instructions"]) > LIMIT else ""
        print(f"{row['id']:<10}{row['time']:8.3f}{spread:>16}{row['instructions']:14.3f}{over}")
    return all(max(row["time"], row["instructions"]) <= LIMIT for row in record["comparison"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.abi", description=__doc__)
    parser.add_argument("--pairs", type=int, default=7, help="processes of each build")
    parser.add_argument("--rounds", type=int, default=100, help="rounds in each process")
    parser.add_argument("--save", action="store_true", help="write it to benchmarks/results")
    options = parser.parse_args()
    version = builds.ABI3_FLOOR.replace(".", "")
    try:
        full = builds.build(f"cp{version}", PARTNERS)
        stable = builds.build(f"abi3-cp{version}", PARTNERS)
        record = compare(full, stable, options.pairs, options.rounds)
    except (builds.Unbuilt, instructions.Uncounted) as problem:
        print(problem)
        return 1
    within = show(record)
    if options.save:
        path = RESULTS / f"{datetime.date.today().isoformat()}-{record['id']}.json"
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"recorded in {path.name}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
