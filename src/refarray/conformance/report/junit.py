"""The report as JUnit XML: a test suite per subject, a test case per check."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from refarray.conformance.findings import Finding, Outcome, Run
from refarray.conformance.report.markdown import describe_level, describe_observation
from refarray.conformance.requirements import requirement

ERRORS = {Outcome.CRASH, Outcome.HANG, Outcome.ERROR}
"""Outcomes that JUnit calls errors: the check did not finish."""


def printable(words: str) -> str:
    """Text in which control characters that XML 1.0 cannot represent are escaped."""
    return "".join(c if c in "\t\n" or c >= " " else f"\\x{ord(c):02x}" for c in words)


def texts(found: Finding) -> str:
    """The sentences of the standards, each with its link."""
    quotes = requirement(found.id).quotes
    return "\n".join(f'"{quote.text}" ({quote.document}, {quote.link})' for quote in quotes)


def case(suite: ElementTree.Element, found: Finding) -> None:
    out = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"{found.subject}.{found.role}",
        name=f"{found.id}[{found.case}]",
        time=f"{found.seconds:.3f}",
    )
    details = (
        f"{requirement(found.id).title}\nexpected: {found.expected}\n"
        f"observed: {describe_observation(found)}\n"
        f"level: {describe_level(found)}\n{texts(found)}\n\n{found.repro}"
    )
    if found.expected_failure:
        why = f"expected to {found.outcome}: {found.expected_failure}"
        ElementTree.SubElement(out, "skipped", type="xfail", message=printable(why))
    elif found.outcome.failed or found.outcome is Outcome.ERROR:
        kind = "failure" if found.outcome is Outcome.FAIL else "error"
        child = ElementTree.SubElement(
            out, kind, type=str(found.outcome), message=printable(found.observed)
        )
        child.text = printable(details)
    elif found.outcome is Outcome.NOT_APPLICABLE:
        ElementTree.SubElement(out, "skipped", message=printable(found.observed))
    elif found.outcome is not Outcome.PASS:
        ElementTree.SubElement(out, "system-out").text = printable(f"{found.outcome}: {details}")


def text(runs: Iterable[Run]) -> str:
    root = ElementTree.Element("testsuites")
    for run in runs:
        told = [found for found in run.findings if not found.expected_failure]
        failures = sum(found.outcome is Outcome.FAIL for found in told)
        errors = sum(found.outcome in ERRORS for found in told)
        skipped = sum(found.outcome is Outcome.NOT_APPLICABLE for found in told)
        missing = len(run.dropped) - len(run.mistakes)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=run.title,
            tests=str((len(run.findings) or 1) + len(run.dropped)),
            failures=str(failures),
            errors=str(errors + bool(run.broken) + len(run.mistakes)),
            skipped=str(skipped + len(run.findings) - len(told) + missing),
            time=f"{run.seconds:.3f}",
        )
        if run.broken:
            broken = ElementTree.SubElement(suite, "testcase", classname=run.subject, name="import")
            ElementTree.SubElement(broken, "error", message=printable(run.broken))
        for each in run.dropped:
            name = f"adapter {each.part}"
            wrong = ElementTree.SubElement(suite, "testcase", classname=run.subject, name=name)
            kind = "error" if each.mistake else "skipped"
            ElementTree.SubElement(wrong, kind, message=printable(str(each)))
        for found in run.findings:
            case(suite, found)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
