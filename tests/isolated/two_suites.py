"""Runs the partner-free tests in two sub-interpreters at once, each with its own GIL.

Prints one JSON line with the results of each."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
FOLDERS = ("array", "dlpack", "interop", "ledger")
MARKED = ("compute", "every_python")  # other values do not depend on the interpreter
ELSEWHERE = {"test_exit.py", "test_verification.py"}  # of other processes
FORK = [  # and these fork
    "tests/dlpack/test_hostile.py::test_runner_classifies_planted_faults",
    "tests/dlpack/test_hostile.py::test_hostile_input_is_handled_as_specified[protocol-meanwhile-forks]",
]
PARTNERS = "numpy|ml_dtypes|tvm_ffi|hypothesis|properties"  # the last imports Hypothesis
PARTNER = re.compile(rf"^\s*(import|from) ({PARTNERS})\b", re.MULTILINE)
# Errors by which the interpreter rejects some modules and signal handlers in a sub-interpreter.
REFUSALS = (
    "does not support loading in subinterpreters",
    "halted; None in sys.modules",
    "signal only works in main thread of the main interpreter",
)
# Two interpreters that import these at once crash CPython up to 3.13; readline has process state.
CRASHING = ["_datetime", "_decimal", "readline"]
if sys.version_info < (3, 13):  # runs their initialisation before it refuses them
    CRASHING += ["_ctypes", "_elementtree", "_lsprof", "pyexpat"]


def runs_here(path: Path) -> bool:
    folder, text = path.parent.name, path.read_text(encoding="utf-8")
    is_chosen = folder in FOLDERS or (folder == MARKED[0] and MARKED[1] in text)
    return is_chosen and path.name not in ELSEWHERE and not PARTNER.search(text)


def files() -> list[str]:
    return [str(path) for path in sorted(TESTS.glob("*/test_*.py")) if runs_here(path)]


def is_refused(error: Any) -> bool:
    """Whether the interpreter refuses what the test, or each of its cases that fails, needs."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_refused, error.exceptions))
    return any(text in str(error) for text in REFUSALS)


class Suite:
    """A pytest plugin: counts outcomes, keeps failures, and skips what the interpreter refuses."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        import conftest

        # A sub-interpreter must not fork: forked bodies run in place.
        conftest.run_forked = lambda body, seconds=0: body()
        items[:] = [item for item in items if "isolated" not in item.fixturenames]

    def pytest_make_collect_report(self, collector: Any) -> Iterator[Any]:
        report = yield
        return self.record(report, report.longrepr, collector.path)

    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[Any]:
        report = yield
        return self.record(report, call.excinfo and call.excinfo.value, item.path)

    def record(self, report: Any, error: Any, path: Path) -> Any:
        if report.failed and is_refused(error):
            report.outcome, report.longrepr = "skipped", (str(path), 0, "refused")
        if report.failed:
            self.failures.append(f"{report.nodeid}: {str(report.longrepr)[-2000:]}")
        if report.when == "call" or not report.passed:
            self.counts[report.outcome] += 1
        return report


def count_no_blocks(work: Any, *_: Any, **__: Any) -> int:
    """Replaces blocks_left() and heap_growth(), because the counts include all interpreters."""
    work()
    return 0


def run_suite(descriptor: int, adversary: str) -> None:
    """Run the suite in a sub-interpreter; write the results to `descriptor` as JSON."""
    # faulthandler does not load here; conftest only disables it in children.
    sys.modules.setdefault("faulthandler", types.SimpleNamespace(disable=lambda: None))  # type: ignore[arg-type]
    for name in CRASHING:
        sys.modules[name] = None  # type: ignore[assignment]
    # The process has one environment, and pytest records each test in it: while one interpreter
    # changes it, the other may fail to start a process. So each gets a private copy, for good.
    os.environ = dict(os.environ)  # type: ignore[assignment]  # noqa: B003
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # Hypothesis does not load here
    sys.path.insert(0, str(TESTS))
    import pytest
    from helpers import leaks
    from hostile import runner
    from native import build

    # A sub-interpreter must not fork, and leaks of the suite of hostile input are found elsewhere.
    runner.run = runner.run_once
    leaks.blocks_left = leaks.heap_growth = count_no_blocks
    build.build = lambda: Path(adversary)
    for hook in ("pytest_make_collect_report", "pytest_runtest_makereport"):
        setattr(Suite, hook, pytest.hookimpl(wrapper=True)(getattr(Suite, hook)))
    suite = Suite()
    options = ["-qq", "--capture=no", "--no-header", "--tb=short", "-o", "addopts=-p no:terminal"]
    without = [f"-pno:{name}" for name in ("cacheprovider", "faulthandler", "threadexception")]
    options += [*without, *(f"--deselect={name}" for name in FORK), f"--rootdir={TESTS.parent}"]
    status = pytest.main([*options, *files()], [suite])
    answer = {"status": int(status), "counts": suite.counts, "failures": suite.failures[:20]}
    os.write(descriptor, json.dumps(answer).encode()[:60_000])  # fits the pipe


CODE = f"""
import sys
sys.path[:] = {[str(Path(__file__).parent), *sys.path]!r}
import two_suites
two_suites.run_suite({{}}, {{!r}})
"""


def main() -> None:
    pipes = [os.pipe() for _ in range(2)]
    # The adversary counts per process: each interpreter loads its own copy.
    from interpreters_of_cpython import start

    import adversary

    folders = [Path(f"adversary_of_{k}").absolute() for k in range(2)]
    for folder in folders:
        shutil.copytree(Path(adversary.__file__).parent, folder)
    threads = [
        threading.Thread(target=start(), args=(CODE.format(writer, str(folder)),))
        for (_, writer), folder in zip(pipes, folders, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for reader, writer in pipes:
        os.close(writer)
        print(os.read(reader, 65_536).decode() or "{}", flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # CPython 3.12 crashes when it ends two interpreters that have imported pytest
