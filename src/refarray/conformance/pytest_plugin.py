"""The pytest plugin: `pytest --pyargs refarray.conformance --dlpack-subject torch`.

Every pytest run in an environment with refarray loads it, so its options begin with --dlpack-: a
conftest that adds an option of the same name would end the run. It adds no ini names, markers or
fixtures.

A failure is shown as the finding, without a traceback: the frames are those of the kit. An error of
the kit (Outcome.ERROR) is reported as a pytest error, not as a failure of the subject.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from refarray.conformance.cases import Check
    from refarray.conformance.findings import Finding
    from refarray.conformance.runner.engine import Trial
    from refarray.conformance.runner.expectations import Expectation

_trials: dict[tuple[str, str], Trial] = {}
_found: dict[tuple[str, str, str], Finding] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options --dlpack-…, whose names are those of `refarray check`."""
    group = parser.getgroup("refarray", "DLPack conformance (refarray)")

    def several(name: str, metavar: str, text: str) -> None:
        group.addoption(
            name, action="append", default=[], metavar=metavar, help=f"{text}; may be repeated"
        )

    several("--dlpack-subject", "NAME", "a library to check")
    several("--dlpack-only", "ID", "requirements, families or cases to check; default: all")
    several("--dlpack-skip", "ID", "requirements, families or cases to leave out")
    group.addoption(
        "--dlpack-rules",
        metavar="SET",
        default="",
        help="only the cases of a frozen rule set, such as 2026.1",
    )
    group.addoption(
        "--dlpack-expect",
        metavar="FILE",
        help="a TOML file with the known deviations, as for refarray check --expect: they are "
        "xfails, and a test fails for each entry that nothing confirms",
    )
    group.addoption("--dlpack-full", action="store_true", help="run the slow cases, too")
    group.addoption(
        "--dlpack-devices",
        default="auto",
        metavar="WHERE",
        help="the devices for checks that need streams, as for refarray check --devices",
    )


# --- reports


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    """Shows the finding instead of a traceback, and marks the report of a KitError."""
    outcome: Any = yield
    findings = sys.modules.get("refarray.conformance.findings")  # None: no case has run
    if call.excinfo is None or findings is None:
        return
    report = outcome.get_result()
    kit_error = call.excinfo.errisinstance(findings.KitError)
    if kit_error:
        report.refarray_kit_error = True
    if report.failed and (kit_error or call.excinfo.errisinstance(findings.Deviation)):
        report.longrepr = call.excinfo.getrepr(style="value")
        report.longrepr.reprcrash.message = str(call.excinfo.value).partition("\n")[0]


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """Counts such a test as an error, not as a failure."""
    return ("error", "E", "ERROR") if getattr(report, "refarray_kit_error", False) else None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Lists the entries of --dlpack-expect about subjects that are not among those checked."""
    path, subjects = config.getoption("--dlpack-expect"), config.getoption("--dlpack-subject")
    if path and subjects:
        for entry in entries(path):
            if not any(entry.subject in names(subject) for subject in subjects):
                terminalreporter.write_line(
                    f"not tried: {entry} is about a subject that is not checked here"
                )


# --- cases


def names(subject: str) -> set[str]:
    """What an entry may call a subject: as on the command line, or as its adapter."""
    from refarray.conformance.subjects import lookup

    try:
        return {subject, lookup.subject(subject).name}
    except Exception:  # its module cannot be imported: the cases report that
        return {subject}


def entries(path: str) -> list[Expectation]:
    """The entries of --dlpack-expect. UsageError if the file is malformed."""
    from refarray.conformance.runner import expectations

    try:
        return expectations.read(Path(path))
    except (OSError, expectations.Malformed) as error:
        raise pytest.UsageError(f"--dlpack-expect: {error}") from error


def parameters(config: pytest.Config) -> list[Any]:
    """The parameters of the tests: each case of each --dlpack-subject, then each expectation."""
    from refarray.conformance.runner.engine import select
    from refarray.conformance.subjects.devices import check_choice

    option = config.getoption
    subjects = list(dict.fromkeys(option("--dlpack-subject")))
    if not subjects:
        raise pytest.UsageError("name a library: --dlpack-subject numpy")
    try:
        only, skip = option("--dlpack-only"), option("--dlpack-skip")
        rules = option("--dlpack-rules")
        checks = select(full=option("--dlpack-full"), ids=only, skip=skip, rules=rules)
        where = check_choice(option("--dlpack-devices"))
    except ValueError as error:
        raise pytest.UsageError(f"refarray: {error}") from error
    path = option("--dlpack-expect")
    known = entries(path) if path else []
    out = []
    for subject in subjects:
        own = [entry for entry in known if entry.subject in names(subject)]
        first = f"{subject}-" if len(subjects) > 1 else ""
        out += [
            pytest.param(bind(subject, each, where, own), id=first + each.name) for each in checks
        ]
        out += [
            pytest.param(
                confirm(subject, entry, [each for each in checks if entry.of(each)], where),
                id=f"{first}{str(entry).replace(' ', '-')}-still-{entry.outcome}s",
            )
            for entry in own
        ]
    return out


def trial(subject: str, devices: str) -> Trial:
    """The subject's process in this session; it lives until pytest ends."""
    from refarray.conformance.runner.engine import Trial
    from refarray.conformance.subjects.devices import check_choice

    key = (subject, devices)
    if key not in _trials:
        _trials[key] = Trial(subject, check_choice(devices))
        atexit.register(_trials[key].close)
    return _trials[key]


def try_once(subject: str, check: Check, devices: str) -> Finding:
    """The finding of a case, which runs once per session. Deviation if the subject cannot run; in
    the first case of a subject KitError, a pytest error, if its adapter is wrong."""
    from refarray.conformance.findings import Deviation, KitError
    from refarray.conformance.runner.worker_process import Broken

    key = (subject, check.name, devices)
    if key not in _found:
        of = trial(subject, devices)
        told = of.tried
        try:
            _found[key] = of.try_one(check)
        except Broken as why:
            raise Deviation(f"{subject} could not be tried: {why}") from why
        if of.run.mistakes and not told:
            raise KitError("\n".join(of.run.head()))
    return _found[key]


def bind(
    subject: str, check: Check, devices: str = "auto", known: Sequence[Expectation] = ()
) -> Callable[[], None]:
    """A function that runs one case: Deviation, an AssertionError, if it fails, KitError if the
    check does, a skip if it does not apply, an xfail for a broken SHOULD and for what is known."""

    def run() -> None:
        from refarray.conformance.findings import Deviation, KitError, Outcome

        found = try_once(subject, check, devices)
        if found.outcome is Outcome.ERROR:
            raise KitError(f"{check.name}: {describe(found)}")
        if found.outcome is Outcome.NOT_APPLICABLE:
            pytest.skip(found.observed)
        if found.outcome is Outcome.WARN:
            pytest.xfail(describe(found))  # shown in the summary; does not fail the run
        if not found.outcome.failed:
            return
        of = trial(subject, devices).run
        for entry in known:
            if entry.outcome is found.outcome and entry.covers(found, of):
                pytest.xfail(f"expected to {found.outcome}: {entry.why}")
        raise Deviation(describe(found))

    return run


def describe(found: Finding) -> str:
    """The text of a failure: the requirement, what was expected and observed, and the repro."""
    from refarray.conformance.requirements import requirement

    asked = requirement(found.id)
    return (
        f"{found.id} {found.level}: {asked.title}\nexpected: {found.expected}\n"
        f"observed: {found.observed}\nstandard: {asked.source}\n\n{found.repro}"
    )


def still_fails(subject: str, name: str, of: Sequence[Check]) -> Callable[[], None]:
    """A function that runs the cases of an expected failure: Deviation if none fails."""

    def run() -> None:
        from refarray.conformance.findings import Deviation, KitError, Outcome

        outcomes = [try_once(subject, check, "auto").outcome for check in of]
        if Outcome.ERROR in outcomes:
            raise KitError(f"{name}: a check failed by a bug of the kit")
        if not any(outcome.failed for outcome in outcomes):
            raise Deviation(
                f"{name} did not fail, and has to: remove it from the expected failures"
            )

    return run


def confirm(
    subject: str, entry: Expectation, of: Sequence[Check], devices: str
) -> Callable[[], None]:
    """A function that runs the cases of an expectation: Deviation if none has its outcome, a skip
    if it is about cases or versions that are not tried here."""

    def run() -> None:
        from refarray.conformance.findings import Deviation, KitError, Outcome
        from refarray.conformance.runner.expectations import matches

        if not of:
            pytest.skip(f"{entry} is about a case that was not selected")
        findings = [try_once(subject, check, devices) for check in of]
        version = findings[0].version
        if not matches(version, entry.versions):
            pytest.skip(f"{entry} is about other versions; this is {version}")
        outcomes = {found.outcome for found in findings}
        if entry.outcome in outcomes:
            return
        if Outcome.ERROR in outcomes:
            raise KitError(f"{entry}: a check failed by a bug of the kit")
        raise Deviation(f"stale: {entry} is expected to {entry.outcome}, and does not")

    return run
