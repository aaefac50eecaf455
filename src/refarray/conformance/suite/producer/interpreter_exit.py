"""Owns the checks of what outlives the interpreter or shares it: LIFE-05, LIFE-25."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, about, check
from refarray.conformance.harness.producer import Producer
from refarray.conformance.runner.hang_detector import LOOK_SECONDS, HangDetector
from refarray.conformance.suite.producer.lifetime import exported, seen

SECONDS = 20.0
"""For a library to be imported in a sub-interpreter."""
KEPT: list[Any] = []  # what has to live until the process ends


def _late(case: str, expected: str, line: str, keep: Callable[[Any], None]) -> None:
    @check("LIFE-05", "producer", case, f"{expected}: no crash, no hang", exits=True)
    def _(producer: Producer) -> CheckResult:
        kind = "scalar" if "scalar" in producer.subject.arrays else "plain"
        export = exported(producer, text=producer.text(kind))
        owned = _adversary.take(export.capsule)
        export.capsule = None
        out = seen(producer, True, export, "the process ended as it should", f"owned.{line}")
        about(out.repro)
        keep(owned)
        return out


_late(
    "after",
    "the deleter is called when the interpreter has gone",
    "keep_until_exit()",
    lambda owned: owned.keep_until_exit(),
)
_late(
    "thread-during",
    "a thread that Python does not know calls the deleter while the interpreter ends",
    "drop_at_finalization(False)",
    lambda owned: owned.drop_at_finalization(False),
)
_late(
    "thread-after",
    "a thread that Python does not know calls the deleter when the interpreter has gone",
    "drop_at_finalization(True)",
    lambda owned: owned.drop_at_finalization(True),
)


@check(
    "LIFE-05",
    "producer",
    "unconsumed",
    "a capsule that nobody took is there when the interpreter ends: no crash, no hang",
    exits=True,
)
def _unconsumed(producer: Producer) -> CheckResult:
    export = exported(producer)
    out = CheckResult(
        True,
        "the process ended as it should",
        producer.repro(f"import builtins; builtins.kept = {export.call}"),
    )
    about(out.repro)
    KEPT.append(export.capsule)
    return out


def interpreters() -> str:
    """The module of sub-interpreters. NotApplicable where this Python has none."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        if importlib.util.find_spec(name) is not None:
            return name
    raise NotApplicable("this Python has no sub-interpreters that can be reached from Python")


def run(script: str) -> tuple[int | None, str]:
    """The exit status of a script, None when it hangs, and what it printed: else its errors."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        command = [sys.executable, "-c", script]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        hang_detector = HangDetector(process.pid, SECONDS)
        while process.poll() is None and not hang_detector.over():
            time.sleep(LOOK_SECONDS / 10)
        status = process.poll()
        if status is None:
            process.kill()
            process.wait()
        for file in (out, errors):
            file.seek(0)
        said = out.read().strip() or errors.read().strip()
    return status, said.decode(errors="replace")


@check(
    "LIFE-25",
    "producer",
    "import",
    "in a sub-interpreter it works, or an exception says that it does not",
    full=True,
)
def _sub(producer: Producer) -> CheckResult:
    """In a process of its own and judged here: a death is no worse than what the level says."""
    if through := producer.subject.through:
        raise NotApplicable(f"it needs {through}, which is tried by itself")
    name = interpreters()
    script = f"{producer.subject.imports}\n{producer.text()}.__dlpack__()\n"
    repro = "\n".join(
        [f"import {name} as sub; i = sub.create()", f"print(sub.run_string(i, {script!r}))"]
    )
    status, out = run(repro)
    if status is None:
        return CheckResult(False, "it hangs", repro)
    if status < 0:
        return CheckResult(False, f"signal {-status}", repro)
    said = out.strip().splitlines()
    last = said[-1] if said and said != ["None"] else "it works"
    return CheckResult("SystemError" not in last, last[:200], repro)
