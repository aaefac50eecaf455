"""Runs checks: a worker process per subject, restarted after each crash, and its findings."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from refarray._system import system
from refarray._terminal import suggestion
from refarray.conformance.cases import CHECKS, Check
from refarray.conformance.findings import (
    BROKEN,
    DEVIATIONS,
    Dropped,
    Finding,
    Outcome,
    Run,
)
from refarray.conformance.requirements import Level, requirement
from refarray.conformance.runner.fork_server import ForkServer
from refarray.conformance.runner.worker import DROP, END, TRY
from refarray.conformance.runner.worker_process import Broken, Died, Worker
from refarray.conformance.subjects.devices import check_choice, prepare
from refarray.conformance.subjects.lookup import list_names
from refarray.conformance.subjects.subject import Library

SHOWN = {*DEVIATIONS} - {Outcome.ERROR}
"""Outcomes of cases that do not hold; their repro is a script of its own."""
PATIENCE = 3
"""Consecutive hangs after which the rest of a subject's cases is not tried."""
MODE = "forks"
"""How workers run cases: in forked children where they can, or "shared", in one process."""
SIDE_BY_SIDE = 100
"""Runs of at least this many cases are divided between two processes."""
Progress = Callable[[str, int, int], None]
"""Called with the subject, the number of finished cases and of all cases."""


def select(
    *,
    full: bool = False,
    ids: Sequence[str] = (),
    skip: Sequence[str] = (),
    profile: str = "",
    rules: str = "",
) -> list[Check]:
    """The checks of a run: with `full` also the slow ones; with `ids` only those, without those in
    `skip`. Both name requirements, families or single cases: "VERS-05[producer-copy-none]". With
    `profile` only those of a profile (profiles.PROFILES), with `rules` those of a rule set
    (profiles.RULES).

    ValueError for a name without a check, for an unknown profile or rule set, and if no check is
    left: a run without cases would pass.
    """
    from refarray.conformance.profiles import frozen, within
    from refarray.conformance.suite import load

    load()
    wanted, unwanted = (
        {name.upper() for text in each for name in text.replace(",", " ").split()}
        for each in (ids, skip)
    )
    offered = [check for check in CHECKS.values() if full or not check.full]
    covered = {name for check in offered for name in names(check)}
    if missing := sorted((wanted | unwanted) - covered):
        hint = suggestion(missing, covered)
        raise ValueError(f"no check covers {', '.join(missing)}; see `refarray list`{hint}")
    kept = [check for check in offered if not wanted or wanted & names(check)]
    kept = [check for check in kept if not unwanted & names(check)]
    kept = within(profile, kept) if profile else kept
    kept = frozen(rules, kept) if rules else kept
    if not kept:
        raise ValueError("no check is left")
    return kept


def names(check: Check) -> set[str]:
    """The names that select a check, in capitals: its own, the requirement's id and its family."""
    return {check.name.upper(), check.id, check.id.partition("-")[0]}


def outcome(check: Check, message: dict[str, Any]) -> Outcome:
    """The outcome of a case: by its level, except for crashes, hangs and errors of the kit."""
    if message.get("error"):
        return Outcome.ERROR
    if died := message.get("died"):
        message["observed"] = "no answer" if died == "hang" else died
        return Outcome.HANG if died == "hang" else Outcome.CRASH
    held = message["held"]
    if held is None:
        return Outcome.NOT_APPLICABLE
    if not held and message.get("harm"):
        return Outcome.FAIL
    return Outcome.PASS if held else BROKEN[level(check, message)]


def harm(outcome: Outcome, message: dict[str, Any]) -> str:
    if outcome is Outcome.HANG:
        return "hang"
    if outcome is Outcome.CRASH:
        return "abort" if "SIGABRT" in message.get("observed", "") else "crash"
    return message.get("harm", "") if outcome is Outcome.FAIL else ""


def level(check: Check, message: dict[str, Any]) -> Level:
    """The level of a case: the requirement's, or a weaker one where the texts leave room."""
    told = message.get("level") or check.level
    return Level(told) if told else requirement(check.id).level


def make_finding(
    run: Run, check: Check, message: dict[str, Any], outcome: Outcome, library: Library | None
) -> Finding:
    """The finding of one case. Unless it passed, its repro needs no refarray."""
    repro = message.get("repro", "")
    if library is not None and outcome in SHOWN:
        from refarray.conformance.repros.script import standalone

        repro = standalone(check, message, library)
    return Finding(
        id=check.id,
        level=level(check, message),
        subject=run.subject,
        version=run.version,
        role=check.role,
        case=check.case,
        outcome=outcome,
        expected=check.expected,
        observed=message.get("observed", ""),
        repro=repro,
        seconds=message.get("seconds", 0.0),
        derived=requirement(check.id).derived,
        harm=(what := harm(outcome, message)),
        provoked=check.provoked if what else "",
        origin=message.get("origin", ""),
    )


class Trial:
    """Runs checks on one subject, one after the other, and restarts its worker after a crash."""

    def __init__(self, subject: str, devices: str = "none") -> None:
        self.run: Run = Run(subject)
        self.devices = devices
        self.workers: dict[str, Worker] = {}
        """By mode: "forks", and "devices" for the process that has loaded a driver."""
        self.fork_server: ForkServer | None = None
        """Forks further workers; None until the first worker has started one."""
        self.owner: bool = True
        """Whether it ends the fork server."""
        self.without: str | None = None
        """As Worker.without; None until the first worker has started."""
        self.dead: set[str] = set()
        """The checks that crashed or hung."""
        self.library: Library | None = None
        """The library that is tried; None until a worker has imported it."""
        self.inherits: str = ""
        """As Subject.inherits; empty until a worker has imported the subject."""
        self.imports: bool = False
        """Whether the adapter has a from_dlpack."""
        self.hangs: int = 0
        """The number of consecutive hangs."""
        self.tried: bool = False
        """Whether the adapter has been tried; run.dropped is what no case uses of it."""
        self.broken: str = ""
        """Why the subject cannot be tried."""

    def make_sibling(self) -> Trial:
        """Another trial of the subject, which need not import it or try its adapter again."""
        self.worker(MODE)
        out = Trial(self.run.subject, self.devices)
        out.fork_server, out.owner = self.fork_server, False
        out.tried, out.run.dropped = True, self.run.dropped
        return out

    def try_one(self, check: Check) -> Finding:
        """One finding. Broken if the subject cannot be imported, or hangs in PATIENCE cases."""
        if self.hangs == PATIENCE:
            raise Broken(f"{PATIENCE} cases hung one after the other; the rest was not tried")
        message = self.try_check(check)
        self.hangs = self.hangs + 1 if message.get("died") == "hang" else 0
        if "died" in message:
            self.dead.add(check.name)
        found = make_finding(self.run, check, message, outcome(check, message), self.library)
        self.run.findings.append(found)
        return found

    def try_check(self, check: Check) -> dict[str, Any]:
        whole = CHECKS.get(check.part_of, check)
        for name in (check.part_of, check.after, whole.after):
            if name in self.dead:
                return {"held": None, "observed": f"it died: see {name}"}
        if check.devices and (why := self.no_devices()):
            return {"held": None, "observed": why}
        mode = "devices" if check.devices else MODE
        worker = self.worker(mode)
        if check.exits and not worker.forks:
            return self.alone(check)
        try:
            message = worker.ask(check)
        except Died as end:  # what an earlier case has started may end the process
            del self.workers[mode]
            message = self.alone(check)
            if "died" not in message:
                self.note([f"ends its process ({end}), not in a case of its own"], check.name)
            return message
        self.note(message.get("conduct") or (), check.name)
        worker.forks = message.get("forks", worker.forks)
        if message.get("at_exit"):
            return self.alone(check)
        broken = outcome(check, {**message}).failed
        shared = (
            check.risky or check.devices
        ) and not worker.forks  # other cases ran in the same process
        if message.get("died") == "hang" or (shared and broken):
            return self.alone(check)
        return message

    def note(self, seen: Iterable[str], when: str) -> None:
        """Keeps what the library did to its process, each thing once."""
        for what in seen:
            line = f"{self.run.name or self.run.subject} {what}"
            if not any(each.startswith(line) for each in self.run.conduct):
                self.run.conduct.append(f"{line} ({when})")

    def worker(self, mode: str) -> Worker:
        """The worker of that mode, started if necessary. Broken if the subject cannot be tried."""
        if self.broken:
            raise Broken(self.broken)
        if mode not in self.workers:
            try:
                self.workers[mode] = self.start_worker(mode)
            except Broken as why:
                self.broken = str(why)
                raise
            self.run.name = self.workers[mode].name
            self.run.version = self.workers[mode].version
            self.without = self.workers[mode].without
            self.note(self.workers[mode].conduct, "at its import")
            self.library = self.workers[mode].library
            self.inherits = self.workers[mode].inherits
            self.imports = self.workers[mode].imports
        if not self.tried:
            self.tried = True
            self.run.dropped = self.try_adapter(mode)
            self.drop_from(self.worker(mode))
        parts = {each.part for each in self.run.dropped}
        if "arrays['plain']" in parts and (not self.imports or "from_dlpack" in parts):
            self.broken = f"the adapter is wrong: {self.run.dropped[0]}"
            raise Broken(self.broken)
        return self.workers[mode]

    def try_adapter(self, mode: str) -> list[Dropped]:
        """Tries each expression of the adapter, and those after one that ends the process."""
        skip: list[str] = []
        crashed: list[Dropped] = []
        while True:
            worker = self.worker(mode)
            try:
                message = worker.send(f"{TRY} {json.dumps(skip)}")
            except Died as end:
                self.workers.pop(mode)
                message = describe_death(end, worker)
            if "dropped" in message:
                return crashed + [Dropped(**each) for each in message["dropped"]]
            if not message["repro"]:
                return crashed
            step = json.loads(message["repro"])
            skip.append(step["step"])
            if not step["exchange"]:
                why = f"it ends the process: {message['died']}"
                crashed.append(Dropped(step["part"], step["expression"], why, worker.place))

    def drop_from(self, worker: Worker) -> None:
        """Tells a worker what it must not use of the adapter."""
        if self.run.dropped:
            parts = {each.part: f"{each.expression}: {each.why}" for each in self.run.dropped}
            worker.send(f"{DROP} {json.dumps(parts)}")

    def start_worker(self, mode: str) -> Worker:
        """A new worker, forked by the fork server if there is one."""
        out = self.fork_worker(mode) if mode != "devices" else None
        if out is None:
            if mode == "devices":
                prepare(self.devices)
            out = Worker(self.run.subject, mode, self.devices)
            self.fork_server = out.fork_server or self.fork_server
        self.drop_from(out)
        return out

    def fork_worker(self, mode: str) -> Worker | None:
        """A worker from the fork server; None if there is none, or if it has died."""
        if self.fork_server is not None:
            try:
                return Worker(self.run.subject, mode, self.devices, self.fork_server)
            except OSError:
                self.fork_server.close()
                self.fork_server = None  # it has died
        return None

    def no_devices(self) -> str:
        """Why no device check applies to the subject; empty if they may."""
        if self.devices == "none":
            return "no devices were asked for"
        if self.without is None:
            self.worker(MODE)
        return self.without or ""

    def alone(self, check: Check) -> dict[str, Any]:
        """The message of a check that runs in a new process. A forked child of a library with
        threads may hang, and earlier cases may have damaged a shared process: neither is the
        library's fault in this case."""
        mode = "devices" if check.devices else "alone"
        worker = self.start_worker(mode)
        try:
            out = worker.ask(check)
        except Died as end:
            return describe_death(end, worker)
        if not check.exits and not out.get("at_exit"):
            worker.close()
            return out
        status = worker.end()
        if out.get("at_exit") and (status == 0 or not check.exits):
            return worker.last or {**out, "at_exit": None}
        if status is None and self.never_ends():
            observed = "a process that has only imported it does not exit by itself"
            return {"held": None, "observed": observed}
        if status != 0:
            died_of = "hang" if status is None else system.how_it_ended(status)
            return {"died": died_of, "repro": worker.about}
        return out

    def never_ends(self) -> bool:
        """Whether a process that ran no check fails to exit, too."""
        worker = self.start_worker("alone")
        worker.send(END)
        return worker.end() is None

    def close(self) -> None:
        while self.workers:
            self.workers.popitem()[1].close()
        if self.fork_server is not None and self.owner:
            self.fork_server.close()
        self.fork_server = None


def describe_death(end: Died, worker: Worker) -> dict[str, Any]:
    """The message of a check that ended its process."""
    return {"died": "hang" if end.hung else str(end), "repro": worker.about}


def halves(checks: Sequence[Check]) -> list[Sequence[Check]]:
    """Two parts of about equal length. A trial that decides two checks is not divided; all checks
    that need a device are in the second part."""
    host = [check for check in checks if not check.devices]
    middle = len(host) // 2
    while 0 < middle < len(host) and host[middle].part_of:
        middle += 1
    last = [*host[middle:], *(check for check in checks if check.devices)]
    return [part for part in (host[:middle], last) if part]


def run_subject(
    subject: str,
    checks: Sequence[Check],
    progress: Progress | None = None,
    devices: str = "auto",
) -> Run:
    """Runs checks on one subject: many in two processes in parallel, those that need a device
    in another one. `devices` is the value of --devices. Never raises because of the subject."""
    where = check_choice(devices)
    parts = halves(checks) if len(checks) >= SIDE_BY_SIDE else [checks]
    trials = [Trial(subject, where)]
    started = time.monotonic()

    def work(trial: Trial, part: Sequence[Check]) -> None:
        try:
            for check in part:
                trial.try_one(check)
                if progress is not None:
                    progress(subject, sum(len(each.run.findings) for each in trials), len(checks))
        except Broken as why:
            trial.run.broken = f"{why}{similar(subject, str(why))}"

    try:
        with contextlib.suppress(Broken):  # the first case reports it
            trials += [trials[0].make_sibling() for _ in parts[1:]]
        with ThreadPoolExecutor(len(trials)) as pool:
            list(pool.map(work, trials, parts))
    finally:
        for trial in reversed(trials):
            trial.close()
    out = trials[0].run
    for other in trials[1:]:
        for line in other.run.conduct:
            known = [each.rpartition(" (")[0] for each in out.conduct]
            if line.rpartition(" (")[0] not in known:
                out.conduct.append(line)
        out.findings += other.run.findings
        out.name = out.name or other.run.name
        out.version = out.version or other.run.version
        out.broken = out.broken or other.run.broken
    out.findings = with_causes(out.findings)
    if bases := {trial.inherits for trial in trials if trial.inherits}:
        base = bases.pop()
        again = partial(run_subject, base, devices=where)
        out.findings = with_origin(out.findings, again)
    out.seconds = time.monotonic() - started
    return out.called(out.name or subject)


def with_causes(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, each with the case that shows the same mistake more directly, if it failed: one
    that its check names, or the first of the worst findings of the same origin."""
    failed = [each for each in findings if each.outcome in SHOWN]
    shown = {each.name for each in failed}
    first: dict[str, Finding] = {}
    for each in sorted(failed, key=lambda each: DEVIATIONS.index(each.outcome)):
        first.setdefault(each.origin, each)
    out = []
    for found in findings:
        check = CHECKS.get(found.name)
        causes = [name for name in check.same_as if name in shown] if check is not None else []
        if found.outcome in SHOWN and found.origin and first[found.origin] is not found:
            causes.append(first[found.origin].name)
        known = found.outcome in SHOWN and causes
        out.append(replace(found, same_as=causes[0]) if known else found)
    return out


def error_of(found: Finding) -> str:
    """The exception or the signal that an observation begins with, as in "ValueError: …"."""
    name = found.observed.partition(":")[0]
    return name if name.isidentifier() else ""


def with_origin(
    findings: Sequence[Finding], again: Callable[[Sequence[Check]], Run]
) -> list[Finding]:
    """The findings on a library that wraps another one's arrays: those that the other one has as
    well are marked as inherited. `again` runs checks on the other one."""
    names = {f.name: f for f in findings if f.outcome in SHOWN}
    shown = [check for name, check in CHECKS.items() if name in names]
    if not shown:
        return list(findings)
    run = again(shown)
    told = {(f.name, f.outcome, error_of(f)) for f in run.findings}
    same = {name for name, f in names.items() if (name, f.outcome, error_of(f)) in told}
    return [replace(f, inherited=run.title) if f.name in same else f for f in findings]


def name_apart(runs: Sequence[Run]) -> list[Run]:
    """The runs; those whose adapters have the same name are called as the user did."""
    count = Counter(run.subject for run in runs)
    return [run.called(run.asked) if run.asked and count[run.subject] > 1 else run for run in runs]


def similar(name: str, why: str) -> str:
    """A suggestion for the name of a subject that does not exist."""
    module = name.partition(":")[0].partition(".")[0]
    return suggestion([name], list_names()) if f"No module named '{module}'" in why else ""
