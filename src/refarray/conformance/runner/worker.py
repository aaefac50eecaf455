"""Owns the process that a subject lives in: imports it, runs the checks that it is asked for,
answers each with a line of JSON."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refarray.conformance.cases import CHECKS, Check, CheckResult, NotApplicable, announce
from refarray.conformance.runner.fork_server import tend
from refarray.conformance.runner.forked_case import Leave, in_child
from refarray.conformance.subjects.capsule_libraries import excused
from refarray.conformance.subjects.devices import resolved, start

if TYPE_CHECKING:
    from refarray.conformance.harness.consumer import Consumer
    from refarray.conformance.harness.producer import Producer

CASE_SECONDS = 24.0
"""For one risky case, in its child, as long as it gets something done."""
END = "end"
"""Asked for instead of a check: that the process ends as Python's does."""
Say = Callable[[dict[str, Any]], None]


def told(seen: CheckResult, invert: bool) -> dict[str, Any]:
    """What is said of one CheckResult."""
    held = None if seen.held is None else seen.held != invert
    return {"held": held, "observed": seen.observed, "repro": seen.repro, "level": seen.level}


def judge(check: Check, probe: Any, invert: bool = False) -> dict[str, Any]:
    """Runs one check. `invert` turns its judgement round: then whatever held has to be reported."""
    started = time.perf_counter()
    out: dict[str, Any] = {"repro": "", "second": None}
    try:
        seen: CheckResult = check.probe(probe)
        out |= told(seen, invert)
        if seen.second is not None:
            out["second"] = told(seen.second, invert)
    except NotApplicable as reason:
        out |= {"held": None, "observed": str(reason)}
    except Exception as error:
        # The probe expected none: what a subject raises where nothing may be raised.
        out |= {"held": False, "observed": f"{type(error).__name__}: {error}"}
    return {**out, "seconds": time.perf_counter() - started}


def threads() -> int:
    """How many threads this process has; 1 where the system does not tell."""
    with contextlib.suppress(OSError):
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    return 1


NOTHING = {"held": None, "observed": "", "repro": "", "second": None, "seconds": 0.0}
"""What is told of a check that does not concern a subject."""


class Bench:
    """The probes of one subject, and what the trials that serve two checks have told."""

    def __init__(self, probes: Mapping[str, Any], forks: bool, say: Say) -> None:
        self.probes = probes
        self.forks = forks
        self.say = say
        self.trials: dict[str, dict[str, Any]] = {}

    def answer(self, check: Check) -> dict[str, Any]:
        """What one check is told."""
        if reason := excused(self.probes["producer"].subject, check):
            self.trials[check.name] = {**NOTHING, "observed": reason}
            return self.trials[check.name]
        if not check.part_of:
            self.trials[check.name] = self.tried(check)
            return self.trials[check.name]
        whole = self.trials.get(check.part_of) or self.answer(CHECKS[check.part_of])
        if "died" in whole:
            return {"held": None, "observed": f"it died: see {check.part_of}", "repro": ""}
        none = {"held": None, "observed": f"nothing to tell: {whole['observed']}", "repro": ""}
        return whole["second"] or none

    def tried(self, check: Check) -> dict[str, Any]:
        """A trial; a risky one in a child of its own, unless this process cannot fork."""
        probe = self.probes.get(check.role, self.probes["producer"])
        if not check.risky or not self.forks:
            with announced(self.say):
                return judge(check, probe)

        def work(say: Say) -> None:
            with announced(say):
                say(judge(check, probe))

        started = time.perf_counter()
        messages, died = in_child(work, CASE_SECONDS, check.exits)
        about = [message["about"] for message in messages if "about" in message]
        if died:
            repro = about[-1] if about else ""
            return {"died": died, "repro": repro, "seconds": time.perf_counter() - started}
        return messages[-1]


@contextlib.contextmanager
def announced(say: Say) -> Iterator[None]:
    """Passes on what is about to be tried: all that is left of a case that dies."""
    last = [""]

    def pass_on(repro: str) -> None:
        if repro != last[0]:
            last[0] = repro
            say({"about": repro})

    announce.append(pass_on)
    try:
        yield
    finally:
        announce.remove(pass_on)


def probes_of(producer: Producer, consumer: Consumer) -> dict[str, Any]:
    """What the checks of each role are given."""
    from refarray.conformance.matrix.exchange import Pair

    return {"producer": producer, "consumer": consumer, "pair": Pair(producer, consumer)}


def lacking(producer: Producer, consumer: Consumer) -> str:
    """Why there is nothing to try a subject on; empty when there is."""
    reasons = []
    try:
        array = producer.make(producer.text())
        if any(hasattr(type(array), name) for name in ("__dlpack__", "__dlpack_device__")):
            return ""
        reasons.append(f"a {type(array).__name__} has no __dlpack__")
    except NotApplicable as reason:
        reasons.append(str(reason))
    try:
        consumer.function()
    except NotApplicable as reason:
        return f"it has no DLPack: {'; '.join([*reasons, str(reason)])}"
    return ""


def without_devices(producer: Producer, where: str) -> str:
    """Why a subject has no device to be tried on; empty when it may have one. No driver is started
    here: a process that has children must have none."""
    found = producer.subject
    if not found.devices:
        return f"{found.name} has no arrays on devices that the kit knows of"
    simulated = any(on.simulated for on in found.devices.values())
    if where.startswith("simulated"):
        return "" if simulated else f"{found.name} does not run on simulated drivers"
    try:
        if any(eval(on.there, producer.namespace) for on in found.devices.values()):
            return ""
        return f"{found.name} finds no device here"
    except Exception as error:
        return f"{found.name} finds no device here: {type(error).__name__}: {error}"


def sayer(descriptor: int) -> Say:
    """What writes a message to a descriptor."""

    def say(message: dict[str, Any]) -> None:
        os.write(descriptor, (json.dumps(message) + "\n").encode())

    return say


def serve(
    name: str, mode: str, devices: str, requests: Iterable[str], answers: int, fork_server: int
) -> bool:
    """Imports the subject, then answers each request: the name of a check, a line each. Whether
    the interpreter has to be ended at last, as the last check is about that."""
    from refarray.conformance.harness.consumer import Consumer
    from refarray.conformance.harness.producer import Producer
    from refarray.conformance.subjects.lookup import subject
    from refarray.conformance.suite import load

    load()
    say, tended = sayer(answers), False
    try:
        found = subject(name)
        where = resolved(devices, found.devices)
        if mode == "devices":
            start(where)
        producer = Producer(found)
        consumer = Consumer(found, producer.namespace)
        if fork_server >= 0 and threads() == 1:
            tended = True
            if (born := tend(socket.socket(fileno=fork_server), answers)) is not None:
                mode, say, tended = born[0], sayer(born[1]), False
        why = lacking(producer, consumer)
    except BaseException as error:  # SystemExit too: a subject may leave at import
        why = f"{type(error).__name__}: {error}"
    if why:
        say({"broken": why})
        return False
    forks = mode == "forks" and threads() == 1
    without = without_devices(producer, where)
    told = {"version": found.version, "forks": forks, "without": without, "fork_server": tended}
    say(told)
    bench = Bench(probes_of(producer, consumer), forks, say)
    gc.freeze()  # a collection in a child would copy every page of what was imported
    exits = False
    for line in requests:
        if line.strip() == END:
            say({"held": None})
            exits = True
            continue
        check = CHECKS[line.strip()]
        say(bench.answer(check))
        exits = check.exits and not forks
    return exits


def main() -> None:
    """The arguments: a descriptor for answers, the subject, the mode ("forks", or where no check
    has a child of its own "alone" or "devices"), the choice of devices, the descriptor of a
    fork_server's socket or -1. Requests come on standard input."""
    os.dup2(2, 1)  # a subject's prints must not be taken for ours
    faulthandler.enable()
    try:
        name, mode, devices = sys.argv[2:5]
        if serve(name, mode, devices, sys.stdin, int(sys.argv[1]), int(sys.argv[5])):
            return
    except Leave:  # a child; it ends as Python's processes do
        return
    except BrokenPipeError:
        pass
    os._exit(0)  # what a subject does at exit is for the checks that ask for it
