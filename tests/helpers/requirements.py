#!/usr/bin/env python3
"""Lists the tests of each requirement. Fails if a requirement has neither a test nor a reason.

Prints a line per requirement and the totals per family; `--summary` prints the totals only,
`--markdown` the table of docs/requirements.md. A test names its requirements: in Python by
`@pytest.mark.req("VERS-01")`, in C++ by `// req: VERS-01, VERS-02` above a Case. Tests on simulated
devices (tests/devices/simulated/sim_*.py) count as well. kit/not_shown.toml explains the rest.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from refarray.conformance.requirements import Requirement, families, requirements

HERE = Path(__file__).resolve().parents[1]
Tests = Mapping[str, list[str]]

#: A tag, and the name of the Case below it.
CASE = re.compile(r'^\s*// req: (.+)\n(?:\s*//.*\n)*\s*const Case \w+\(\s*"([^"]+)"', re.MULTILINE)
TAG = re.compile(r"^\s*// req: ", re.MULTILINE)


@dataclass(frozen=True)
class Explanations:
    """not_shown.toml: requirements without a test, and requirements that tests show in part."""

    kinds: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)  # id: kind
    parts: Mapping[str, str] = field(default_factory=dict)  # id: kind, of the part not shown


def read_explanations(path: Path) -> Explanations:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return Explanations(
        data["kinds"],
        *(
            {name: kind for kind, names in data[table].items() for name in names}
            for table in ("not_shown", "shown_in_part")
        ),
    )


#: This script has imported the package, which is also a pytest plugin: pytest would warn.
PLUGINS = ("-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


class Collector:
    """A pytest plugin that collects the `req` markers of all tests."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            names = {name for mark in item.iter_markers("req") for name in mark.args}
            for name in names:
                self.tests[name].append(item.nodeid)


def collect_python(folder: Path) -> Tests:
    collector = Collector()
    said = io.StringIO()
    sys.path.insert(0, str(folder.parent))  # as `python -m pytest` has it
    files = ("-o", "python_files=test_*.py sim_*.py")
    arguments = ["--collect-only", "-q", *PLUGINS, *files, str(folder)]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = pytest.main(arguments, plugins=[collector])
    if status != pytest.ExitCode.OK:
        print(said.getvalue()[-3000:], file=sys.stderr)
        raise SystemExit("requirements: the tests could not be collected")
    return collector.tests


def collect_cpp(texts: Mapping[str, str]) -> Tests:
    """`texts` by file name. A tag above no Case is an error."""
    tests: dict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        cases = CASE.findall(text)
        if len(cases) != len(TAG.findall(text)):
            raise SystemExit(f"requirements: {path} has a `// req:` that is above no Case")
        for names, case in cases:
            for name in re.split(r",\s*", names.strip()):
                tests[name].append(f"{path}::{case}")
    return tests


def problems(known: Iterable[str], tests: Tests, explained: Explanations) -> list[str]:
    """The problems, a line each."""
    known = list(known)
    found = []
    for name in sorted(set(tests) - set(known)):
        found.append(f"{name}: no such requirement, named by {tests[name][0]}")
    for table in (explained.reasons, explained.parts):
        found += [
            f"{name}: no such requirement, in not_shown.toml" for name in table if name not in known
        ]
        found += [
            f"{name}: no kind of reason is called {kind!r}"
            for name, kind in table.items()
            if kind not in explained.kinds
        ]
    for name in known:
        if not tests.get(name) and name not in explained.reasons:
            found.append(f"{name}: no test shows it and not_shown.toml does not say why")
        if tests.get(name) and name in explained.reasons:
            found.append(
                f"{name}: {tests[name][0]} shows it, so its reason in not_shown.toml is stale"
            )
        if not tests.get(name) and name in explained.parts:
            found.append(f"{name}: not_shown.toml calls it shown in part, and no test shows it")
    return found


def device_problems(gpu: Iterable[str], tests: Tests, explained: Explanations) -> list[str]:
    """The requirements about devices that no test on simulated devices shows, a line each."""
    return [
        f"{name}: no test on simulated devices shows it and not_shown.toml does not say why"
        for name in gpu
        if not any("simulated" in node for node in tests.get(name, []))
        and name not in explained.reasons
        and name not in explained.parts
    ]


def describe(requirement: Requirement, tests: Tests, explained: Explanations) -> str:
    name = requirement.id
    shown = tests.get(name, [])
    state = f"{len(shown):4} tests" if shown else f"not shown: {explained.reasons.get(name, '?')}"
    rest = f"; rest: {explained.parts[name]}" if name in explained.parts else ""
    return f"{name:9} {requirement.level:8} {state}{rest}"


def sums(
    registry: Mapping[str, Requirement], tests: Tests, explained: Explanations
) -> list[list[str]]:
    """The rows of the table: headings, a row per family, the totals."""
    kinds = [kind for kind in explained.kinds if kind in explained.reasons.values()]
    rows = [["family", "about", "ids", "shown", *kinds]]
    totals = [0] * (2 + len(kinds))
    for family, about in families().items():
        names = [name for name, each in registry.items() if each.family == family]
        counts = [
            len(names),
            sum(bool(tests.get(name)) for name in names),
            *(sum(explained.reasons.get(name) == kind for name in names) for kind in kinds),
        ]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        rows.append([family, about, *(str(count) for count in counts)])
    return [*rows, ["all", "", *(str(count) for count in totals)]]


def as_text(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def as_markdown(rows: list[list[str]]) -> str:
    rule = ["---", "---", *("---:" for _ in rows[0][2:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]])


def main(arguments: list[str]) -> int:
    registry = requirements()
    explained = read_explanations(HERE / "kit" / "not_shown.toml")
    tests: dict[str, list[str]] = defaultdict(list)
    sources = {
        f"tests/cpp/{path.name}": path.read_text(encoding="utf-8")
        for path in sorted((HERE / "cpp").glob("*.cpp"))
    }
    for part in (collect_python(HERE), collect_cpp(sources)):
        for name, nodes in part.items():
            tests[name] += nodes
    rows = sums(registry, tests, explained)
    if "--markdown" in arguments:
        print(as_markdown(rows))
    else:
        if "--summary" not in arguments:
            for each in registry.values():
                print(describe(each, tests, explained))
            print()
        print(as_text(rows))
        for kind, meaning in explained.kinds.items():
            print(f"{kind}: {meaning}")
        print(f"{len(explained.parts)} are shown in part: {', '.join(explained.parts)}")
    wrong = problems(registry, tests, explained)
    gpu = [name for name, each in registry.items() if each.gpu]
    wrong += device_problems(gpu, tests, explained)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
