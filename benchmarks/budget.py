"""The gate `make bench-check`: instructions per call of A1 to A9 and A16 against budget.json.

A case may exceed its budget by TOLERANCE. A case below its budget is listed, so that the budget can
be lowered with --update. Counts with other versions (interpreter, compiler, partners …) are not
comparable: the gate fails and names both. Measure with --update and judge the difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from . import builds, instructions
from .measure import UNIT

BUDGET = Path(__file__).resolve().parent / "budget.json"
TOLERANCE = 0.01
# Each build with the partners that are installed for its interpreter.
BUILDS: dict[str, tuple[str, ...]] = {
    "cp311": ("numpy", "torch", "jax", "pyarrow", "array_api_strict", "tvm_ffi"),
    "abi3-cp312": ("numpy",),
}


def compare_facts(abi: str, budget: dict[str, str], here: dict[str, str]) -> Iterator[str]:
    for name in sorted(budget.keys() | here.keys()):
        known, found = budget.get(name, "absent"), here.get(name, "absent")
        if known != found:
            yield (
                f"{abi}: not comparable: the budget was measured with {name} {known}, this is "
                f"{name} {found}; measure with --update and judge the difference"
            )


def compare_counts(
    abi: str, budget: dict[str, float], here: dict[str, float]
) -> Iterator[tuple[bool, str]]:
    """Yields (fails the gate, message) pairs."""
    for id_ in budget.keys() - here.keys():
        yield True, f"{abi} {id_}: has a budget but was not counted"
    for id_, count in here.items():
        if id_ not in budget:
            yield True, f"{abi} {id_}: has no budget; --update adds it"
            continue
        change = count / budget[id_] - 1
        text = f"{abi} {id_}: {count:.1f} instructions, budget {budget[id_]:.1f} ({change:+.1%})"
        if count > budget[id_] * (1 + TOLERANCE):
            yield True, f"{text}: over budget"
        elif count < budget[id_] * (1 - TOLERANCE):
            yield False, f"{text}: below, lower it with --update"


def table(counts: dict[str, dict[str, float]]) -> str:
    """Formats instructions per case and build, and as multiples of the unit."""
    abis = list(counts)
    ids = sorted({id_ for found in counts.values() for id_ in found}, key=order)
    lines = [f"{'case':<10}" + "".join(f"{abi:>14}{'':7}" for abi in abis)]
    for id_ in ids:
        cells = ""
        for abi in abis:
            value, unit = counts[abi].get(id_), counts[abi][UNIT]
            cells += " " * 21 if value is None else f"{value:14.1f}{value / unit:6.2f}U"
        lines.append(f"{id_:<10}{cells}".rstrip())
    return "\n".join(lines)


def order(id_: str) -> tuple[int, str]:
    return (int(id_.split()[0][1:]), id_) if id_ != UNIT else (0, id_)


def measure(abis: list[str]) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, float]]]:
    facts, counts = {}, {}
    for abi in abis:
        found = instructions.count(builds.build(abi, BUILDS[abi]), BUILDS[abi])
        facts[abi] = found[0]
        counts[abi] = {id_: round(found[1][id_], 1) for id_ in sorted(found[1], key=order)}
    return facts, counts


def judge(
    budget: dict[str, dict], facts: dict[str, dict[str, str]], counts: dict[str, dict[str, float]]
) -> bool:
    """Prints all messages; returns whether the gate passes."""
    passed = True
    for abi, found in counts.items():
        if abi not in budget:
            print(f"{abi}: has no budget; --update adds it")
            passed = False
            continue
        differences = list(compare_facts(abi, budget[abi]["versions"], facts[abi]))
        for text in differences:
            print(text)
        passed = passed and not differences
        for fails, text in compare_counts(abi, budget[abi]["instructions"], found):
            print(text)
            passed = passed and not fails
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the counts as the new budget")
    parser.add_argument("--builds", default=",".join(BUILDS), help="default: %(default)s")
    options = parser.parse_args()
    facts, counts = measure(options.builds.split(","))
    print(table(counts))
    budget = json.loads(BUDGET.read_text(encoding="utf-8")) if BUDGET.is_file() else {}
    passed = judge(budget, facts, counts)
    if options.update:
        for abi, found in counts.items():
            budget[abi] = {"versions": facts[abi], "instructions": found}
        BUDGET.write_text(json.dumps(budget, indent=1) + "\n", encoding="utf-8")
        print("the budget is rewritten")
        return 0
    verdict = "within" if passed else "NOT within"
    number = sum(len(found) for found in counts.values())
    print(f"{number} counts of {len(counts)} builds: {verdict} {TOLERANCE:.0%} of the budget")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
