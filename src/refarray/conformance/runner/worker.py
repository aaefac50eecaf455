"""The subject's process: imports the subject, runs the requested checks, and answers each request
with a line of JSON.

The engine's end of the pipes is worker_process.py. Risky cases run in a child (forked_case.py);
fork_server.py forks further workers from one that has only imported the subject.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from refarray._system import system
from refarray.conformance import _adversary
from refarray.conformance.cases import (
    CHECKS,
    Check,
    CheckResult,
    NotApplicable,
    announce,
    describe_error,
    is_raised_by_subject,
    kit_failures,
    origin,
    raised,
)
from refarray.conformance.harness.adapter import AdapterTrial, without
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.exchange import Pair
from refarray.conformance.harness.producer import Producer
from refarray.conformance.requirements import Level
from refarray.conformance.runner.conduct import Conduct, threads
from refarray.conformance.runner.fork_server import tend
from refarray.conformance.runner.forked_case import Leave, in_child
from refarray.conformance.runner.messages import Say, sayer
from refarray.conformance.runner.subject_facts import (
    find_absence,
    find_lacking,
    values_of,
    with_limits,
    without_devices,
)
from refarray.conformance.subjects.capsule_libraries import find_excuse
from refarray.conformance.subjects.devices import resolve, start
from refarray.conformance.subjects.lookup import subject

CASE_SECONDS = 24.0
"""The timeout of one risky case in its child, as long as it makes progress."""
TRY, DROP = "adapter", "drop"
"""Sent with JSON instead of a check's name: try the adapter without these steps; use none of these
parts of it."""
END = "end"
"""Sent instead of a check's name: return from main, so that the interpreter shuts down."""


def message_of(result: CheckResult, invert: bool) -> dict[str, Any]:
    """The message with one result. TypeError if it cannot be one."""
    for text in (result.observed, result.repro):
        if not isinstance(text, str):
            raise TypeError(f"a CheckResult holds a {type(text).__name__} instead of text")
    held = None if result.held is None else bool(result.held) != invert
    return {
        "held": held,
        "observed": result.observed,
        "repro": result.repro,
        "level": result.level,
        "wrong": result.wrong,
        "at_exit": asdict(result.at_exit) if result.at_exit else None,
        "harm": result.harm,
        "origin": "" if held else origin(result.observed),
    }


def list_undecided(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The message and its parts that are decided when the interpreter has exited."""
    parts = message.get("parts") or {}
    return [each for each in (message, *parts.values()) if each.get("at_exit")]


def decide_at_exit(message: dict[str, Any], descriptor: int) -> bool:
    """Arranges for the final message to be written when this process exits. Returns whether there
    is anything to wait for."""
    late = list_undecided(message)
    if not late:
        return False
    wanted = late[0]["at_exit"]
    due = wanted["late"]
    missing = {
        "held": False,
        "level": None,
        "observed": "#CALLS# deleter calls when the process has exited",
        "at_exit": None,
    }
    called = {**missing, "held": True}
    if due:
        only = "#CALLS# deleter calls, only when the process exits"
        called = {**missing, "level": Level.HAZARD, "observed": only}
    texts = []
    for decided in (called, missing):
        for each in late:
            each |= decided
        texts.append((json.dumps(message) + "\n").encode())
    right, wrong = texts
    _adversary.report_at_exit(wanted["first"], wanted["count"], descriptor, right, wrong)
    return True


def kit_error(trace: str) -> dict[str, Any]:
    """The message with a failure of the check itself."""
    last = trace.strip().splitlines()[-1]
    observed = f"error in the check, please report: {last}"
    return {"held": None, "error": True, "observed": observed, "repro": trace, "parts": {}}


def judge(check: Check, probe: Any, invert: bool = False) -> dict[str, Any]:
    """Runs one check. `invert` inverts its judgement, for the tests that each check can fail.

    An exception that the subject raised (cases.subject_code) is a finding; any other exception that
    leaves the probe, or that kit code called by the subject raised, is an error of the kit.
    """
    started = time.perf_counter()
    kit_failures.clear()
    raised.clear()
    out: dict[str, Any] = {"repro": "", "parts": {}}
    try:
        result: CheckResult = check.probe(probe)
        out |= message_of(result, invert)
        out["parts"] = {name: message_of(part, invert) for name, part in result.parts.items()}
    except NotApplicable as reason:
        out |= {"held": None, "observed": str(reason)}
    except Exception as error:
        if is_raised_by_subject(error):
            observed = describe_error(error)
            out |= {"held": False, "observed": observed, "origin": origin(observed)}
        else:
            out |= kit_error(traceback.format_exc())
    if kit_failures:
        out |= kit_error(kit_failures[0])
    return {**out, "seconds": time.perf_counter() - started}


NOTHING: dict[str, Any] = {"held": None, "observed": "", "repro": "", "parts": {}, "seconds": 0.0}
"""The message of a check that does not apply to the subject."""


class Bench:
    """The probes of one subject, and the messages of trials that decide several checks."""

    def __init__(
        self,
        probes: Mapping[str, Any],
        forks: bool,
        say: Say,
        conduct: Conduct,
        tries_here: bool,
        absent: str = "",
    ) -> None:
        self.probes = probes
        self.forks: bool = forks
        self.say = say
        self.conduct = conduct
        self.trials: dict[str, dict[str, Any]] = {}
        self.tries_here = tries_here
        """A device is in use, whose driver does not survive a fork: the adapter is tried here."""
        self.absent = absent
        """Why no case applies on this machine, nor the adapter's expressions; empty if they do."""

    def observe_process(self, check: Check) -> dict[str, Any]:
        """Undoes what the library did to this process in a case. If it has started threads, no
        further case is forked from here."""
        seen = self.conduct.restore(check.exits)
        if self.forks and self.conduct.threads > 1:
            self.forks = False
        return {"conduct": seen, "forks": self.forks}

    def try_adapter(self, skip: list[str]) -> dict[str, Any]:
        """The message with what has to be dropped of the adapter, or how the trial died."""
        if self.absent:
            return {"held": None, "dropped": []}

        def work(say: Say, _: int = -1) -> bool:
            with send_announcements(say):
                trial = AdapterTrial(self.probes["producer"], self.probes["consumer"], skip)
                say({"held": None, "dropped": [asdict(each) for each in trial.run()]})
            return False

        if self.tries_here or not self.forks:
            work(self.say)
            return {}
        messages, died = in_child(work, CASE_SECONDS)
        if died:
            step = next((each["about"] for each in reversed(messages) if "about" in each), "")
            return {"died": died, "repro": step}
        return messages[-1]

    def drop(self, dropped: Mapping[str, str]) -> dict[str, Any]:
        """Leaves parts of the adapter out of every further case."""
        producer, consumer = self.probes["producer"], self.probes["consumer"]
        producer.dropped, consumer.dropped = dict(dropped), dropped.get("from_dlpack", "")
        for probe in (producer, consumer):
            probe.subject = replace(probe.subject, **without(probe.subject, dropped))
        return {"held": None}

    def answer(self, check: Check) -> dict[str, Any]:
        if reason := self.absent or find_excuse(self.probes["producer"].subject, check):
            self.trials[check.name] = {**NOTHING, "observed": reason}
            return self.trials[check.name]
        if not check.part_of:
            self.trials[check.name] = self.try_check(check)
            return self.trials[check.name]
        whole = self.trials.get(check.part_of) or self.answer(CHECKS[check.part_of])
        if "died" in whole:
            return {"held": None, "observed": f"it died: see {check.part_of}", "repro": ""}
        none = {"held": None, "observed": f"nothing to tell: {whole['observed']}", "repro": ""}
        return whole["parts"].get(check.name) or none

    def try_check(self, check: Check) -> dict[str, Any]:
        """Runs a check; a risky one in a child process, unless this process cannot fork."""
        message = self.trial(check)
        producer, consumer = self.probes["producer"], self.probes["consumer"]
        for name, part in (message.get("parts") or {}).items():
            message["parts"][name] = with_limits(CHECKS[name], part, producer, consumer)
        return with_limits(check, message, producer, consumer)

    def trial(self, check: Check) -> dict[str, Any]:
        """The message of a check, whatever the limits of the class."""
        probe = self.probes.get(check.role, self.probes["producer"])
        if not check.risky or not self.forks:
            with send_announcements(self.say):
                message = judge(check, probe)
            if not self.forks or not list_undecided(message):
                return message

        def work(say: Say, descriptor: int) -> bool:
            with send_announcements(say):
                message = judge(check, probe)
                say({**message, "conduct": self.conduct.restore(check.exits)})
            return decide_at_exit(message, descriptor)

        started = time.perf_counter()
        messages, died = in_child(work, CASE_SECONDS, check.exits)
        about = [message["about"] for message in messages if "about" in message]
        if died and messages and list_undecided(messages[-1]):
            for each in list_undecided(messages[-1]):
                each |= {"observed": f"{each['observed']}; {died} at exit", "at_exit": None}
            return messages[-1]
        if died:
            repro = about[-1] if about else ""
            return {"died": died, "repro": repro, "seconds": time.perf_counter() - started}
        return messages[-1]


@contextlib.contextmanager
def send_announcements(say: Say) -> Iterator[None]:
    """Sends each announced repro: the only trace of a case that crashes."""
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
    """The argument of each role's checks."""
    return {"producer": producer, "consumer": consumer, "pair": Pair(producer, consumer)}


def serve(
    name: str, mode: str, devices: str, requests: int, answers: int, fork_server: int = -1
) -> bool:
    """Imports the subject, then answers each request: the name of a check per line. Returns whether
    the interpreter has to shut down, because the last check is about that."""
    from refarray.conformance.suite import load

    load()
    say, is_fork_server, conduct = sayer(answers), False, Conduct()
    try:
        found = subject(name)
        where = resolve(devices, found.devices)
        if mode == "devices":
            start(where)
        producer = Producer(found)
        consumer = Consumer(producer.subject, producer.namespace)
        done = conduct.restore()
        if fork_server >= 0 and threads() == 1:
            is_fork_server = True
            forked = tend(socket.socket(fileno=fork_server), answers, requests)
            if forked is not None:
                mode, requests, answers = forked
                say, is_fork_server, conduct = sayer(answers), False, Conduct()
        absent = find_absence(producer)
        why = "" if absent else find_lacking(producer, consumer)
    except BaseException as error:  # SystemExit too: a subject may leave at import
        why = f"{type(error).__name__}: {error}"
    if why:
        say({"broken": why})
        return False
    forks = mode == "forks" and system.CAN_FORK and threads() == 1
    say(
        {
            "name": found.name,
            "version": found.version,
            "forks": forks,
            "without": absent or without_devices(producer, where),
            "inherits": found.inherits,
            "fork_server": is_fork_server,
            "imports": found.imports,
            "alone": found.alone or found.imports,
            "values": found.values or values_of(producer),
            "place": found.place,
            "imports_arrays": bool(found.from_dlpack),
            "conduct": [*done, *conduct.restore()],
        }
    )
    bench = Bench(probes_of(producer, consumer), forks, say, conduct, bool(where), absent)
    gc.freeze()  # a collection in a child would copy every page of the imported modules
    return answer_all(bench, mode, requests, answers)


def answer_all(bench: Bench, mode: str, requests: int, answers: int) -> bool:
    """Answers each request; returns as serve() does."""
    exits = False
    for line in os.fdopen(requests, encoding="utf-8"):
        request, _, data = line.strip().partition(" ")
        if request in {TRY, DROP}:
            work = bench.try_adapter if request == TRY else bench.drop
            if message := work(json.loads(data)):
                bench.say(message)
            continue
        if request == END:
            bench.say({"held": None})
            exits = True
            continue
        check = CHECKS[request]
        try:
            message = bench.answer(check)
        except Exception:  # outside judge() no code of the subject runs
            message = kit_error(traceback.format_exc())
        bench.say({**message, **bench.observe_process(check)})
        late = mode == "alone" and decide_at_exit(message, answers)
        exits = late or (check.exits and not bench.forks)
    return exits


def main() -> None:
    """Arguments: the subject; the mode ("forks", "shared", or "alone" and "devices", in which
    checks have no child processes); the value of --devices; the descriptors for requests, answers
    and, if this process shall have one, the fork server's socket (system.pass_on)."""
    faulthandler.enable()
    system.enter_job()
    name, mode, devices, *descriptors = sys.argv[1:]
    requests, answers, *fork_server = map(system.receive, descriptors)
    try:
        if serve(name, mode, devices, requests, answers, *fork_server):
            return
    except Leave:  # a child, which shuts the interpreter down
        return
    except BrokenPipeError:
        pass
    os._exit(0)  # the subject's exit handlers run only in the checks about them
