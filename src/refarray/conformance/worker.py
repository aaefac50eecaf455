"""Owns the process that a subject lives in: imports it, runs the checks that it is asked for,
answers each with a line of JSON."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from refarray.conformance.cases import CHECKS, Check, NotApplicable, Seen
from refarray.conformance.forks import in_child

CASE_SECONDS = 8.0
"""For one risky case, in its child."""


def told(seen: Seen, invert: bool) -> dict[str, Any]:
    """What is said of one Seen."""
    held = None if seen.held is None else seen.held != invert
    return {"held": held, "observed": seen.observed, "repro": seen.repro}


def judge(check: Check, probe: Any, invert: bool = False) -> dict[str, Any]:
    """Runs one check. `invert` turns its judgement round: then whatever held has to be reported."""
    started = time.perf_counter()
    out: dict[str, Any] = {"repro": "", "second": None}
    try:
        seen: Seen = check.probe(probe)
        out |= told(seen, invert)
        if seen.second is not None:
            out["second"] = told(seen.second, invert)
    except NotApplicable as reason:
        out |= {"held": None, "observed": str(reason)}
    except Exception as error:
        # The probe expected none: what a subject raises where nothing may be raised.
        out |= {"held": False, "observed": f"{type(error).__name__}: {error}"}
    return {**out, "seconds": time.perf_counter() - started}


class Bench:
    """The probes of one subject, and what the trials that serve two checks have told."""

    def __init__(self, probes: Mapping[str, Any], alone: bool) -> None:
        self.probes = probes
        self.alone = alone
        self.trials: dict[str, dict[str, Any]] = {}

    def answer(self, check: Check) -> dict[str, Any]:
        """What one check is told."""
        if not check.part_of:
            self.trials[check.name] = self.tried(check)
            return self.trials[check.name]
        whole = self.trials.get(check.part_of) or self.answer(CHECKS[check.part_of])
        if "died" in whole:
            return {"held": None, "observed": f"it died: see {check.part_of}", "repro": ""}
        none = {"held": None, "observed": f"nothing to tell: {whole['observed']}", "repro": ""}
        return whole["second"] or none

    def tried(self, check: Check) -> dict[str, Any]:
        """A trial; a risky one in a child of its own, unless this process is for it alone."""
        probe = self.probes.get(check.role, self.probes["producer"])
        if not check.risky or self.alone:
            return judge(check, probe)
        started = time.perf_counter()
        answer, died = in_child(lambda: json.dumps(judge(check, probe)).encode(), CASE_SECONDS)
        if died:
            return {"died": died, "seconds": time.perf_counter() - started}
        out: dict[str, Any] = json.loads(answer)
        return out


def serve(
    name: str, alone: bool, requests: Iterable[str], say: Callable[[dict[str, Any]], None]
) -> None:
    """Imports the subject, then answers each request: the name of a check, a line each."""
    from refarray.conformance.consumer import Consumer
    from refarray.conformance.probes import load
    from refarray.conformance.producer import Producer
    from refarray.conformance.subjects import subject

    load()
    try:
        found = subject(name)
        producer = Producer(found)
    except BaseException as error:  # SystemExit too: a subject may leave at import
        say({"broken": f"{type(error).__name__}: {error}"})
        return
    say({"version": found.version})
    probes = {"producer": producer, "consumer": Consumer(found, producer.namespace)}
    bench = Bench(probes, alone)
    for line in requests:
        say(bench.answer(CHECKS[line.strip()]))


def main() -> None:
    """The arguments: a descriptor for answers, the subject, "alone" where risky checks need no
    child of their own. Requests come on standard input."""
    descriptor = int(sys.argv[1])
    os.dup2(2, 1)  # a subject's prints must not be taken for ours
    faulthandler.enable()

    def say(message: dict[str, Any]) -> None:
        os.write(descriptor, (json.dumps(message) + "\n").encode())

    with contextlib.suppress(BrokenPipeError):
        serve(sys.argv[2], sys.argv[3] == "alone", sys.stdin, say)
    os._exit(0)  # what a subject does at exit is the lifetime probes' business
