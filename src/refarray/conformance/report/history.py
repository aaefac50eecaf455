"""The results on several versions of a library in one table, from JSON reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refarray.conformance.findings import WORST_FIRST, Outcome
from refarray.conformance.requirements import requirement

SHOWN = {Outcome.CRASH, Outcome.HANG, Outcome.FAIL, Outcome.WARN}
Column = Mapping[str, Outcome]
"""The worst outcome of each requirement."""


def columns(documents: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Subject and version → its results. A later report replaces an earlier one of the same
    version. KeyError or ValueError if a document is no report."""
    out: dict[str, Column] = {}
    for document in documents:
        for run in document["subjects"]:
            title = f"{run['subject']} {run['version']}".rstrip()
            found = [each for each in document["findings"] if each["subject"] == run["subject"]]
            worst: dict[str, Outcome] = {}
            for each in found:
                both = (Outcome(each["outcome"]), worst.get(each["id"], Outcome.NOT_APPLICABLE))
                worst[each["id"]] = min(both, key=WORST_FIRST.index)
            out[title] = worst
    return out


def rows(found: Mapping[str, Column]) -> Iterator[str]:
    """A row for each requirement that some version deviates from."""
    names = dict.fromkeys(name for column in found.values() for name in column)
    for name in sorted(names):
        outcomes = [column.get(name) for column in found.values()]
        if SHOWN & set(outcomes):
            shown = ["" if each is None else str(each) for each in outcomes]
            asked = requirement(name)
            yield f"| {name} {asked.level} | {asked.title} | {' | '.join(shown)} |"


def text(documents: Sequence[Mapping[str, Any]]) -> str:
    """The table, and the number of deviating requirements of each version."""
    found = columns(documents)
    head = f"| | requirement | {' | '.join(found)} |"
    counts = [sum(each in SHOWN for each in column.values()) for column in found.values()]
    total = f"| | requirements with a deviation | {' | '.join(map(str, counts))} |"
    return "\n".join([head, f"| --- | --- |{' --- |' * len(found)}", *rows(found), total]) + "\n"
