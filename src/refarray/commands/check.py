"""`refarray check`: run the conformance kit on libraries."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from refarray.commands import Subparsers

if TYPE_CHECKING:
    from refarray.conformance.cases import Check
    from refarray.conformance.runner.engine import Run
    from refarray.conformance.runner.expectations import Expectation

FORMS = {"json": "data", "html": "html", "markdown": "markdown", "junit": "junit", "badge": "badge"}
"""The formats of --report, and the module in refarray.conformance.report that writes each."""
DESCRIPTION = """\
Test how array libraries conform to the data interchange standards (DLPack, array API, buffer
protocol). Each SUBJECT is the name of an adapter (numpy, torch, jax, tvm_ffi, array_api_strict,
pyarrow, refarray) or of a module with the array API's names. The checks run in a separate process:
a crash or hang is reported as a finding and the remaining checks continue. Exit status: 3 if a
subject could not be tested or an argument is invalid; otherwise 1 if a MUST requirement is violated
or a process crashed or hung; otherwise 2 if an expectation is stale; otherwise 0.
"""


def add_to(subparsers: Subparsers) -> None:
    """Add the parser of the command."""
    parser = subparsers.add_parser(
        "check", help="test whether libraries conform to the standards", description=DESCRIPTION
    )
    parser.add_argument("subjects", metavar="SUBJECT", nargs="+", help="for example numpy torch")
    parser.add_argument("--full", action="store_true", help="run every case and profile")
    parser.add_argument(
        "--only",
        metavar="ID",
        nargs="+",
        default=[],
        help="run only these requirements or families, for example PROD-06 VERS",
    )
    parser.add_argument(
        "--all", action="store_true", help="also list checks that passed or did not apply"
    )
    parser.add_argument(
        "--report",
        metavar="FORM=PATH",
        action="append",
        default=[],
        help="write a report as json, html, markdown, junit or badge; can be repeated",
    )
    parser.add_argument(
        "--expect",
        metavar="FILE",
        type=Path,
        help="a TOML file of expected failures; report only other failures, and entries that no "
        "longer fail",
    )
    parser.add_argument(
        "--devices",
        metavar="WHERE",
        default="auto",
        help="the devices for checks with streams: real; simulated (requires refarray-fakegpu); "
        "simulated:FOLDER, with the folder of refarray-fakegpu; none; or auto (the default): "
        "simulated if it is installed and the subject can use it, otherwise real",
    )
    parser.set_defaults(run=run)


def show_progress(subject: str, done: int, total: int) -> None:
    """Show the progress on a terminal, overwriting one line of stderr."""
    print(f"\r{subject}: {done} of {total} cases ", end="", file=sys.stderr, flush=True)
    if done == total:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Usage(Exception):
    """An invalid argument; the message describes it."""


def wanted_reports(
    entries: list[str], forms: Sequence[str] = tuple(FORMS)
) -> list[tuple[str, Path]]:
    """Return the format and the path of each --report."""
    out = []
    for entry in entries:
        form, _, path = entry.partition("=")
        if form not in forms or not path:
            raise Usage(f"--report {entry}: write FORM=PATH; the forms are {', '.join(forms)}")
        out.append((form, Path(path)))
    return out


def expected(path: Path | None) -> list[Expectation] | None:
    """Read the expectations from a file."""
    from refarray.conformance.runner import expectations

    if path is None:
        return None
    try:
        return expectations.read(path)
    except (OSError, expectations.Malformed) as error:
        raise Usage(f"--expect: {error}") from error


def chosen_devices(where: str) -> str:
    """Return the devices that --devices selects."""
    from refarray.conformance.subjects.devices import chosen

    try:
        return chosen(where)
    except ValueError as error:
        raise Usage(f"--devices: {error}") from error


def chosen_checks(full: bool, only: Sequence[str]) -> list[Check]:
    """Return the checks that --full and --only select."""
    from refarray.conformance.runner import engine

    try:
        return engine.selected(full=full, ids=only)
    except ValueError as error:
        raise Usage(f"--only: {error}") from error


def run(arguments: argparse.Namespace) -> int:
    """Run the checks, print the results and write the reports."""
    from refarray.conformance.report import text
    from refarray.conformance.runner import engine

    try:
        reports = wanted_reports(arguments.report)
        known = expected(arguments.expect)
        checks = chosen_checks(arguments.full, arguments.only)
        where = chosen_devices(arguments.devices)
    except Usage as error:
        print(f"refarray check: {error}", file=sys.stderr)
        return 3
    progress = show_progress if sys.stderr.isatty() else None
    runs = [engine.run_subject(name, checks, progress, where) for name in arguments.subjects]
    if known is not None:
        from refarray.conformance.runner.expectations import forgiven

        runs = [forgiven(each, known) for each in runs]
    print(text.text(runs, colour=sys.stdout.isatty(), every=arguments.all), end="")
    for form, path in reports:
        module = import_module(f"refarray.conformance.report.{FORMS[form]}")
        path.write_text(module.text(runs), encoding="utf-8")
    return exit_status(runs) if known is None else status_against(runs, known)


def status_against(runs: list[Run], known: list[Expectation]) -> int:
    """Return the exit status with expected failures ignored; 2 if an expectation is stale."""
    from refarray.conformance.runner.expectations import compare

    verdict = compare(runs, known)
    for found in verdict.unexpected:
        print(f"unexpected: {found.subject} {found.id} {found.role} {found.case}: {found.outcome}")
    for entry in verdict.stale:
        print(f"stale: {entry} is expected to {entry.outcome}, but does not")
    if any(run.broken for run in runs):
        return 3
    if verdict.unexpected:
        return 1
    return 2 if verdict.stale else 0


def exit_status(runs: list[Run]) -> int:
    """Return 3 if a subject could not be tested, 1 for a violation, crash or hang, otherwise 0."""
    if any(run.broken for run in runs):
        return 3
    return 1 if any(found.outcome.failed for run in runs for found in run.findings) else 0
