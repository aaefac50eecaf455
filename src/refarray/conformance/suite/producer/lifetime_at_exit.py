"""LIFE checks of a producer at interpreter shutdown and in sub-interpreters: LIFE-05, LIFE-25."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from refarray._hang_detector import run_to_end
from refarray._system import system
from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, about, check, check_cases
from refarray.conformance.harness.producer import Producer
from refarray.conformance.suite.exports import host_export, report_taken

SECONDS = 20.0
"""The timeout of importing a library in a sub-interpreter."""
KEPT: list[Any] = []  # stays alive until the process ends
ENDED = "the process ended as it should"


LATE: dict[str, tuple[str, str, tuple[bool, ...]]] = {
    "after": (
        "the deleter is called after the interpreter has shut down",
        *("keep_until_exit", ()),
    ),
    "thread-during": (
        "a native thread calls the deleter during interpreter shutdown",
        *("drop_at_finalization", (False,)),
    ),
    "thread-after": (
        "a native thread calls the deleter after interpreter shutdown",
        *("drop_at_finalization", (True,)),
    ),
}
"""case: (what happens, the method of _adversary's Owned that arranges for it, its arguments)."""


@check_cases("LIFE-05", LATE, "{value[0]}: no crash, no hang", exits=True)
def late_deleter(producer: Producer, row: tuple[str, str, tuple[bool, ...]]) -> CheckResult:
    """Takes an export and arranges for its deleter to run late. The exit status decides the case,
    unless it fails before."""
    _, method, arguments = row
    kind = "scalar" if "scalar" in producer.subject.arrays else "plain"
    export = host_export(producer, text=producer.text(kind))
    owned = _adversary.take(export.capsule)
    export.capsule = None
    call = f"owned.{method}({', '.join(map(str, arguments))})"
    result = report_taken(producer, True, export, ENDED, call)
    about(result.repro)
    getattr(owned, method)(*arguments)
    return result


@check(
    "LIFE-05",
    "unconsumed",
    "an unconsumed capsule exists at interpreter shutdown: no crash, no hang",
    exits=True,
)
def unconsumed_capsule_at_shutdown(producer: Producer) -> CheckResult:
    export = host_export(producer)
    repro = producer.repro(f"import builtins; builtins.kept = {export.call}")
    about(repro)
    KEPT.append(export.capsule)
    return CheckResult(True, ENDED, repro)


def interpreters_module() -> str:
    """The name of the sub-interpreters module. NotApplicable if this Python has none."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        if importlib.util.find_spec(name) is not None:
            return name
    raise NotApplicable("this Python has no sub-interpreters that can be reached from Python")


def run(script: str) -> tuple[int | None, str]:
    """The exit status of a script, None if it hangs, and its output, or else its stderr."""
    status, out, errors = run_to_end([sys.executable, "-c", script], SECONDS)
    return status, out.strip() or errors.strip()


@check(
    "LIFE-25",
    "import",
    "in a sub-interpreter it works, or raises an exception that says why not",
    full=True,
)
def import_in_sub_interpreter(producer: Producer) -> CheckResult:
    """Judges the exit of its own subprocess, so that a crash has the requirement's level."""
    if through := producer.subject.through:
        raise NotApplicable(f"it needs {through}, which is tried by itself")
    name = interpreters_module()
    script = f"{producer.subject.imports}\n{producer.text()}.__dlpack__()\n"
    repro = "\n".join(
        [f"import {name} as sub; i = sub.create()", f"print(sub.run_string(i, {script!r}))"]
    )
    status, output = run(repro)
    if status is None:
        return CheckResult(False, "it hangs", repro)
    if system.has_crashed(status):
        return CheckResult(False, system.how_it_ended(status), repro)
    lines = output.strip().splitlines()
    last = lines[-1] if lines and lines != ["None"] else "it works"
    return CheckResult("SystemError" not in last, last[:200], repro)
