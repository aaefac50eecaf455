"""Owns running checks: a worker process per subject, started again after each death, and the
findings that come of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from refarray.conformance.cases import CHECKS, Check
from refarray.conformance.findings import BROKEN, Finding, Outcome
from refarray.conformance.requirements import Level, requirement
from refarray.conformance.runner.fork_server import ForkServer
from refarray.conformance.runner.worker import END
from refarray.conformance.runner.worker_process import Broken, Died, Worker, how_it_ended
from refarray.conformance.subjects.devices import chosen, prepare

PATIENCE = 3
"""Cases one after the other that hang, until a subject is given up."""
SIDE_BY_SIDE = 100
"""Runs of that many cases are divided between two processes."""
Progress = Callable[[str, int, int], None]
"""Called with the subject, the cases done and the cases in all."""


@dataclass
class Run:
    """What came of one subject."""

    subject: str
    version: str = ""
    broken: str = ""
    """Why nothing could be tried: it does not import, or died at that."""
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0


def selected(*, full: bool = False, ids: Sequence[str] = ()) -> list[Check]:
    """The checks of a run: every one with `full`, those of some ids or families otherwise.

    ValueError for an id or family that none of them is of: a run that tries nothing passes.
    """
    from refarray.conformance.suite import load

    load()
    wanted = {name.upper() for name in ids}
    offered = [check for check in CHECKS.values() if full or not check.full]
    covered = {name for check in offered for name in names(check)}
    if missing := sorted(wanted - covered):
        raise ValueError(f"no check covers {', '.join(missing)}; see `refarray list`")
    return [check for check in offered if not wanted or wanted & names(check)]


def names(check: Check) -> set[str]:
    """What selects a check: its requirement's id, and the family."""
    return {check.id, check.id.partition("-")[0]}


def outcome(check: Check, message: dict[str, Any]) -> Outcome:
    """What a case is, by its requirement's level; a child's death is one whatever the level."""
    if died := message.get("died"):
        message["observed"] = "no answer" if died == "hang" else died
        return Outcome.HANG if died == "hang" else Outcome.CRASH
    held = message["held"]
    if held is None:
        return Outcome.NOT_APPLICABLE
    return Outcome.PASS if held else BROKEN[level(check, message)]


def level(check: Check, message: dict[str, Any]) -> Level:
    """What a case is judged by: the requirement's level, or the weaker one that the texts leave."""
    told = message.get("level") or check.level
    return Level(told) if told else requirement(check.id).level


def finding(run: Run, check: Check, message: dict[str, Any], what: Outcome) -> Finding:
    """The finding of one case."""
    return Finding(
        id=check.id,
        level=level(check, message),
        subject=run.subject,
        version=run.version,
        role=check.role,
        case=check.case,
        outcome=what,
        expected=check.expected,
        observed=message.get("observed", ""),
        repro=message.get("repro", ""),
        seconds=message.get("seconds", 0.0),
    )


class Trial:
    """The checks of one subject, one after the other; its worker is started again after a death."""

    def __init__(self, subject: str, devices: str = "none") -> None:
        self.run = Run(subject)
        self.devices = devices
        self.workers: dict[str, Worker] = {}
        """By mode: the one that forks, and the one with a device's driver."""
        self.fork_server: ForkServer | None = None
        """Where further workers come from, once there is one."""
        self.without: str | None = None
        """As Worker.without, once a worker has told."""
        self.dead: set[str] = set()
        """The checks that the process died of."""
        self.hangs = 0
        """How many cases have hung since the last one that did not."""

    def try_one(self, check: Check) -> Finding:
        """One finding. Broken when the subject cannot be imported, or answers nothing."""
        if self.hangs == PATIENCE:
            raise Broken(f"{PATIENCE} cases hung one after the other; the rest was not tried")
        message = self.tried(check)
        self.hangs = self.hangs + 1 if message.get("died") == "hang" else 0
        if "died" in message:
            self.dead.add(check.name)
        found = finding(self.run, check, message, outcome(check, message))
        self.run.findings.append(found)
        return found

    def tried(self, check: Check) -> dict[str, Any]:
        """What one check was told."""
        if check.part_of in self.dead:
            return {"held": None, "observed": f"it died: see {check.part_of}"}
        if check.devices and (why := self.no_devices()):
            return {"held": None, "observed": why}
        mode = "devices" if check.devices else "forks"
        worker = self.worker(mode)
        if check.exits and not worker.forks:
            return self.alone(check)
        try:
            message = worker.ask(check)
        except Died as end:
            del self.workers[mode]
            message = died(end, worker)
        broken = outcome(check, {**message}).failed
        shared = (check.risky or check.devices) and not worker.forks  # others ran where it ran
        if message.get("died") == "hang" or (shared and broken):
            return self.alone(check)
        return message

    def worker(self, mode: str) -> Worker:
        """The process of that mode, started when there is none."""
        if mode not in self.workers:
            self.workers[mode] = self.begun(mode)
            self.run.version = self.workers[mode].version
            self.without = self.workers[mode].without
        return self.workers[mode]

    def begun(self, mode: str) -> Worker:
        """A new process: of the fork_server, if there is one."""
        if self.fork_server is not None and mode != "devices":
            try:
                return Worker(self.run.subject, mode, self.devices, self.fork_server)
            except OSError:  # it has died
                self.fork_server.close()
                self.fork_server = None
        if mode == "devices":
            prepare(self.devices)
        out = Worker(self.run.subject, mode, self.devices)
        self.fork_server = out.fork_server or self.fork_server
        return out

    def no_devices(self) -> str:
        """Why there is no device to try it on, which the first worker tells."""
        if self.devices == "none":
            return "no devices were asked for"
        if self.without is None:
            self.worker("forks")
        return self.without or ""

    def alone(self, check: Check) -> dict[str, Any]:
        """The same in a process of its own: a forked child of a library with threads may hang, and
        one where other cases ran may be broken, for no fault of the library's in this case."""
        mode = "devices" if check.devices else "alone"
        worker = self.begun(mode)
        try:
            out = worker.ask(check)
        except Died as end:
            return died(end, worker)
        if not check.exits:
            worker.close()
            return out
        status = worker.end()
        if status is None and self.never_ends():
            told = "a process that has imported it does not end by itself, whatever is done"
            return {"held": None, "observed": told}
        if status != 0:
            died_of = "hang" if status is None else how_it_ended(status)
            return {"died": died_of, "repro": worker.about}
        return out

    def never_ends(self) -> bool:
        """Whether a process in which nothing was tried does not end either."""
        worker = self.begun("alone")
        worker.told(END)
        return worker.end() is None

    def close(self) -> None:
        """Ends the workers."""
        while self.workers:
            self.workers.popitem()[1].close()
        if self.fork_server is not None:
            self.fork_server.close()
            self.fork_server = None


def died(end: Died, worker: Worker) -> dict[str, Any]:
    """What is told of a check that the process did not outlive."""
    return {"died": "hang" if end.hung else str(end), "repro": worker.about}


def halves(checks: Sequence[Check]) -> list[Sequence[Check]]:
    """Two parts of about the same length, none of which divides a trial that serves two checks, or
    the checks that need a device: these are the last."""
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
    """Tries every check on one subject, many of them in two processes side by side, those that need
    a device in another. `devices` is what `--devices` takes. Never raises for what the subject
    does."""
    where = chosen(devices)
    parts = halves(checks) if len(checks) >= SIDE_BY_SIDE else [checks]
    trials = [Trial(subject, where) for _ in parts]
    started = time.monotonic()

    def work(trial: Trial, part: Sequence[Check]) -> None:
        try:
            for check in part:
                trial.try_one(check)
                if progress is not None:
                    progress(subject, sum(len(each.run.findings) for each in trials), len(checks))
        except Broken as why:
            trial.run.broken = str(why)
        finally:
            trial.close()

    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(work, trials, parts))
    out = trials[0].run
    for other in trials[1:]:
        out.findings += other.run.findings
        out.version = out.version or other.run.version
        out.broken = out.broken or other.run.broken
    out.seconds = time.monotonic() - started
    return out
