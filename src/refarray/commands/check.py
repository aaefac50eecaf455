"""`refarray check`: runs the conformance checks on libraries and reports the findings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from refarray._terminal import colours, suggestion
from refarray.commands import Subparsers, Usage

if TYPE_CHECKING:
    from refarray.conformance.cases import Check
    from refarray.conformance.findings import Finding, Run
    from refarray.conformance.runner.expectations import Expectation

FORMS = {
    "json": "data",
    "html": "html",
    "markdown": "markdown",
    "summary": "summary",
    "junit": "junit",
    "badge": "badge",
}
"""The formats of --report, and the module of refarray.conformance.report that writes each."""
STALE = 4
"""The exit status if the only problem is an expectation that no finding confirms."""
DESCRIPTION = """\
Check libraries against the standards of data interchange. Each SUBJECT is the name of an adapter
(`refarray subjects` lists them), module:ATTRIBUTE of your own, or a module that follows the array
API. It runs in a process of its own: after a crash, which is a finding, the rest goes on.
The exit status is 0 without deviations; 1 if a MUST is broken, data was wrong, or a process crashed
or hung (--fail-on); 2 if an argument is wrong; 3 if a subject could not be tried, its adapter is
wrong, or a check failed by a bug of the kit; 4 if the only problem is a stale expectation.
"""


def add_to(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "check", help="check libraries against the standard", description=DESCRIPTION
    )
    parser.add_argument("subjects", metavar="SUBJECT", nargs="+")
    parser.add_argument("--full", action="store_true", help="run the slow cases, too")
    parser.add_argument(
        "--only",
        metavar="ID",
        nargs="+",
        action="extend",
        default=[],
        help="requirements, families or cases: PROD-06 VERS 'COPY-07[consumer-false-refused]'; may "
        "be repeated, and commas separate, too",
    )
    parser.add_argument(
        "--skip",
        metavar="ID",
        nargs="+",
        action="extend",
        default=[],
        help="what to leave out, as for --only",
    )
    parser.add_argument(
        "--issue",
        metavar="ID",
        help="check one requirement, and print a report in Markdown for the subject's bug tracker",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every finding in full, with its repro"
    )
    parser.add_argument(
        "--fail-on",
        metavar="WHAT",
        default="must,crash",
        help="what makes the exit status 1, as a list: must, should, info, crash (a crash, hang or "
        "wrong data, whatever the level), or none; the default is must,crash",
    )
    parser.add_argument(
        "--all", action="store_true", help="also list cases that passed or do not apply"
    )
    parser.add_argument(
        "--report",
        metavar="FORM=PATH",
        action="append",
        default=[],
        help="write a report: json, html, markdown, summary (one page), junit or badge; may be "
        "repeated",
    )
    parser.add_argument(
        "--expect",
        metavar="FILE",
        type=Path,
        help="a TOML file with the known deviations; others, and entries that no finding confirms, "
        "are reported",
    )
    parser.add_argument(
        "--write-expect",
        metavar="FILE",
        type=Path,
        help="write the deviations of this run to a file for --expect; reasons and issues of "
        "entries that the file has are kept",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        default="",
        help="only the checks of a profile: legacy, versioned, table, streams or hostile",
    )
    parser.add_argument(
        "--rules",
        metavar="SET",
        default="",
        help="only the cases of a frozen rule set, such as 2026.1: later releases add none to it",
    )
    parser.add_argument(
        "--devices",
        metavar="WHERE",
        default="auto",
        help="the devices for checks that need streams: real, simulated (needs refarray-fakegpu), "
        "simulated:FOLDER that contains it, none, or auto: simulated if it is installed and the "
        "subject can use it, else real",
    )
    parser.set_defaults(run=run)


def show_progress(subject: str, done: int, total: int) -> None:
    """Rewrites one progress line on stderr."""
    print(f"\r{subject}: {done} of {total} cases ", end="", file=sys.stderr, flush=True)
    if done == total:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def read_reports(entries: list[str], forms: Sequence[str] = tuple(FORMS)) -> list[tuple[str, Path]]:
    """The (format, path) of each --report."""
    out = []
    for entry in entries:
        form, _, path = entry.partition("=")
        if form not in forms or not path:
            hint = suggestion([form], forms)
            known = ", ".join(forms)
            raise Usage(f"--report {entry}: write FORM=PATH; the forms are {known}{hint}")
        out.append((form, Path(path)))
    return out


def read_expected(path: Path | None) -> list[Expectation] | None:
    """The expectations in a file."""
    from refarray.conformance.runner import expectations

    if path is None:
        return None
    try:
        return expectations.read(path)
    except (OSError, expectations.Malformed) as error:
        raise Usage(f"--expect: {error}") from error


def read_known(path: Path | None) -> list[Expectation]:
    """The entries of the file of --write-expect; none if it does not exist yet."""
    if path is None or not path.exists():
        return []
    try:
        return read_expected(path) or []
    except Usage as error:
        raise Usage(str(error).replace("--expect", "--write-expect", 1)) from error


def check_devices(where: str) -> str:
    """The validated value of --devices."""
    from refarray.conformance.subjects.devices import check_choice

    try:
        return check_choice(where)
    except ValueError as error:
        raise Usage(f"--devices: {error}") from error


def choose_checks(arguments: argparse.Namespace) -> list[Check]:
    """The checks that --full, --only, --skip and --issue select."""
    from refarray.conformance.requirements import requirements
    from refarray.conformance.runner import engine

    full, only = arguments.full, arguments.only
    if asked := arguments.issue:
        if asked.upper() not in requirements():
            hint = suggestion([asked], requirements())
            raise Usage(f"--issue: there is no requirement {asked}; see `refarray list`{hint}")
        full, only = True, [asked]
    try:
        return engine.select(
            full=full,
            ids=only,
            skip=arguments.skip,
            profile=arguments.profile,
            rules=arguments.rules,
        )
    except ValueError as error:
        options = "--issue" if arguments.issue else "--only, --skip" if arguments.skip else "--only"
        options = f"{options}, --profile" if arguments.profile else options
        options = f"{options}, --rules" if arguments.rules else options
        raise Usage(f"{options}: {error}") from error


def run(arguments: argparse.Namespace) -> int:
    from refarray.conformance.runner import engine

    reports = read_reports(arguments.report)
    known = read_expected(arguments.expect)
    kept = read_known(arguments.write_expect)
    read_fail_on(arguments.fail_on)
    checks = choose_checks(arguments)
    where = check_devices(arguments.devices)
    progress = show_progress if sys.stderr.isatty() else None
    subjects = dict.fromkeys(arguments.subjects)  # each once
    runs = engine.name_apart(
        [engine.run_subject(name, checks, progress, where) for name in subjects]
    )
    if known is not None:
        from refarray.conformance.runner.expectations import forgive

        runs = [forgive(each, known) for each in runs]
    show(runs, arguments)
    for form, path in reports:
        module = import_module(f"refarray.conformance.report.{FORMS[form]}")
        path.write_text(module.text(runs), encoding="utf-8")
    if arguments.write_expect:
        from refarray.conformance.runner.expectations import write

        arguments.write_expect.write_text(write(runs, kept), encoding="utf-8")
    fails = read_fail_on(arguments.fail_on)
    return exit_status(runs, fails) if known is None else status_against(runs, known, fails)


def show(runs: list[Run], arguments: argparse.Namespace) -> None:
    """Prints the findings, or the report of --issue."""
    from refarray.conformance.report import issue, text

    if arguments.issue:
        print("\n".join(issue.text(each, arguments.issue.upper()) for each in runs), end="")
        return
    colour = colours(sys.stdout)
    if arguments.verbose or arguments.all:
        print(text.text(runs, colour=colour, every=arguments.all), end="")
    else:
        print(text.brief(runs, colour=colour), end="")


def read_fail_on(what: str) -> Callable[[Finding], bool]:
    """Whether a finding makes the exit status 1, by the value of --fail-on."""
    from refarray.conformance.findings import FAIL_ON, fails_on

    asked = {each.strip() for each in what.split(",")}
    if unknown := sorted(asked - {*FAIL_ON, "none"}):
        known = ", ".join([*FAIL_ON, "none"])
        raise Usage(f"--fail-on {what}: {unknown[0]!r} is none of {known}")
    return partial(fails_on, asked)


def status_against(
    runs: list[Run], known: list[Expectation], fails: Callable[[Finding], bool]
) -> int:
    """As exit_status, without expected deviations; 4 if an entry is stale."""
    from refarray.conformance.runner.expectations import compare

    verdict = compare(runs, known, fails)
    for found in verdict.unexpected:
        print(
            f"not expected: {found.subject} {found.id} {found.role} {found.case}: {found.outcome}"
        )
    for entry in verdict.stale:
        print(f"stale: {entry} is expected to {entry.outcome}, and does not")
    for entry, why in verdict.untried:
        print(f"not tried: {entry} {why}")
    if incomplete(runs):
        return 3
    if verdict.unexpected:
        return 1
    return STALE if verdict.stale else 0


def incomplete(runs: list[Run]) -> bool:
    """Whether a subject could not be tried, its adapter is wrong, or a check failed by a bug of the
    kit."""
    from refarray.conformance.findings import Outcome

    return any(
        run.broken or run.mistakes or any(f.outcome is Outcome.ERROR for f in run.findings)
        for run in runs
    )


def exit_status(runs: list[Run], fails: Callable[[Finding], bool]) -> int:
    """0: no deviation. 1: one of those of --fail-on. 3: the results are incomplete."""
    if incomplete(runs):
        return 3
    return 1 if any(fails(found) for run in runs for found in run.findings) else 0
