"""`make gate G=mutants`: runs the kit on every mutant; exactly its own requirement has to fail."""

from __future__ import annotations

import sys
from collections import defaultdict
from importlib import import_module

from mutants.base import MUTANTS
from refarray.conformance import Outcome, checks
from refarray.conformance.findings import Run
from refarray.conformance.runner.engine import run_subject

ROLES = {
    "data.producer_data": "producer",
    "data.table_data": "exchange-api",
    "data.consumer_data": "consumer",
    "data.late_deleters": "consumer",
    "producer_fields": "producer",
    "producer_methods": "producer",
    "producer_edge_cases": "producer",
    "producer_lifetime": "producer",
    "producer_states": "producer",
    "consumer_negotiation": "consumer",
    "consumer_malformed": "consumer",
    "consumer_results": "consumer",
    "exchange_table": "exchange-api",
    "pair_with_refarray": "pair",
    "producer_devices": "producer",
    "consumer_devices": "consumer",
    "exchange_table_streams": "exchange-api",
}
"""Module of mutants → the role in which they are checked."""


def load() -> None:
    """Registers every mutant."""
    for name in ROLES:
        import_module(f"mutants.{name}")


ON_DEVICES = {"producer_devices", "consumer_devices", "exchange_table_streams"}
"""Modules whose mutants are wrong on devices only; device checks alone run on them."""


def run_mutant(mutant: str) -> Run:
    """Runs the checks of the mutant's role, on simulated devices if its module needs them."""
    module = mutant.partition(":")[0].removeprefix("mutants.")
    on_devices = module in ON_DEVICES
    chosen = [c for c in checks(full=True) if c.role == ROLES[module] and c.devices == on_devices]
    return run_subject(mutant, chosen, devices="simulated" if on_devices else "none")


def failures(run: Run) -> dict[str, list[str]]:
    """Requirement → its failed cases, with the observations."""
    out = defaultdict(list)
    for found in run.findings:
        if found.outcome not in {Outcome.PASS, Outcome.NOT_APPLICABLE}:
            out[found.id].append(f"{found.case}: {found.observed}")
    return dict(out)


def main(names: list[str]) -> int:
    """Runs the mutants whose names contain one of `names`; all of them when it is empty."""
    load()
    chosen = [m for m in MUTANTS if not names or any(name in m for name in names)]
    killed = 0
    for mutant in chosen:
        run = run_mutant(mutant)
        failed = failures(run)
        right = set(failed) == {MUTANTS[mutant]}
        killed += right
        print(f"{'killed' if right else 'MISSED'}  {MUTANTS[mutant]:<8}  {mutant}", flush=True)
        if not right:
            print(f"        failed instead: {failed or run.broken or 'nothing'}", flush=True)
    print(f"mutants killed: {killed}/{len(chosen)}")
    return 0 if killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
