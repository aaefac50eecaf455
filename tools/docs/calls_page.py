"""Renders docs/libraries.md, which call to use in which library, from the rows in
tests/partners/calls and the outcomes that `make test-partners` recorded in docs/records/calls."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import records  # noqa: E402

ROWS = ROOT / "tests" / "partners" / "calls"
RECORD = records.SUMMARIES / "calls"
GROUPS = ("arrays", "tables", "images", "files", "science", "learning", "native", "stdlib")
DIRECTIONS = {"to": "refarray →", "from": "→ refarray"}
#: The key that gives the reason of a row, and the outcome.
OUTCOMES = {"zero-copy": "zero-copy", "copy": "copy", "refuses": "refuses", "avoid": "wrong"}
MAIN = "contiguous"

Library = dict[str, Any]
Call = dict[str, Any]
"""One call of the record: direction, call, and what was observed with each kind of array."""

#: Every kind of array, in the order in which they are tried.
KINDS = (
    *(MAIN, "transposed", "reversed", "sliced", "0-d", "empty", "read-only"),
    *("uint8", "int64", "float32", "complex64", "bool", "bfloat16"),
)


def groups() -> dict[str, dict[str, Library]]:
    """The libraries of each group, with the environment in which they run."""
    found = {}
    for name in GROUPS:
        tables = tomllib.loads((ROWS / f"{name}.toml").read_text(encoding="utf-8"))
        group = tables.pop("group")
        for key, library in tables.items():
            own = re.split(r"[\[=]", library["requires"][0])[0] if "requires" in library else key
            library.setdefault("title", own)
            library.setdefault("environment", group["environment"])
            library["file"] = f"{name}.toml"
            for _, row in calls_of(library):
                judge(row)
        found[group["title"]] = tables
    return found


def judge(row: Call) -> None:
    """Gives a row its outcome and the reason."""
    (word,) = OUTCOMES.keys() & row.keys()
    row["outcome"], row["reason"] = OUTCOMES[word], row.pop(word)


def rows() -> dict[str, Library]:
    """Every library by name."""
    found: dict[str, Library] = {}
    for libraries in groups().values():
        if twice := found.keys() & libraries.keys():
            raise SystemExit(f"two rows of {', '.join(twice)}")
        found.update(libraries)
    return found


def record(folder: Path = RECORD) -> dict[str, Any]:
    """The recorded outcomes: {"python": version, "libraries": {name: {"version", "calls"}}}."""
    found: dict[str, Any] = {"libraries": {}}
    for name in GROUPS:
        if (path := folder / f"{name}.toml").exists():
            kept = records.read(path)
            found["python"] = kept.pop("python")
            found["libraries"] |= {each: recorded(entry) for each, entry in kept.items()}
    return found


def recorded(kept: dict[str, Any]) -> Library:
    """The entry of a library as it was before `summary`."""
    calls = []
    for name, by_outcome in kept.items():
        if name == "version":
            continue
        direction, _, call = name.split(" ", 2)
        of = {kind: said for said, kinds in by_outcome.items() for kind in kinds.split(", ")}
        kinds = {kind: of[kind] for kind in KINDS if kind in of}
        calls.append({"direction": direction, "call": call, "kinds": kinds})
    return {"version": kept["version"], "calls": calls}


def summary(entry: Library) -> dict[str, Any]:
    """A library for a file: the kinds of arrays by outcome, for each call with its number."""
    out = {"version": entry["version"]}
    for number, call in enumerate(entry["calls"]):
        by_outcome: dict[str, list[str]] = {}
        for kind, said in call["kinds"].items():
            by_outcome.setdefault(said, []).append(kind)
        name = f"{call['direction']} {number} {call['call']}"
        out[name] = {said: ", ".join(kinds) for said, kinds in by_outcome.items()}
    return out


def save(data: dict[str, Any], folder: Path = RECORD) -> None:
    for name in GROUPS:
        of_file = {each: row for each, row in rows().items() if row["file"] == f"{name}.toml"}
        kept = {
            each: summary(data["libraries"][each]) for each in of_file if each in data["libraries"]
        }
        about = f"What the calls of {name} did; `make test-partners UPDATE=1` writes it."
        records.write(folder / f"{name}.toml", about, {"python": data["python"], **kept})


def calls_of(library: Library) -> Iterator[tuple[str, Call]]:
    """The rows of a library with their direction, in the order in which they run."""
    for direction in DIRECTIONS:
        for row in library.get(direction, []):
            yield direction, row


def outcome(observed: str) -> str:
    """The word for an observation: zero-copy, copy, refuses, none, empty or wrong."""
    word = observed.split(",")[0].split(" ")[0].rstrip(":")
    return "wrong" if word == "crash" else word


def hazard(observed: str) -> bool:
    return outcome(observed) == "wrong" or observed.endswith(", writable")


def disagreements(library: Library, calls: list[Call]) -> Iterator[str]:
    """What the rows of a library say and the observations do not show, and conversely."""
    for (direction, row), call in zip(calls_of(library), calls, strict=True):
        place = f"{direction}, {call['call']}"
        if (direction, row["call"]) != (call["direction"], call["call"]):
            yield f"{place}: another call than the row's"
            continue
        if outcome(call["kinds"][MAIN]) != row["outcome"]:
            yield f"{place}: {call['kinds'][MAIN]}, not {row['outcome']}"
        shown = {kind for kind, observed in call["kinds"].items() if hazard(observed)}
        declared = set(row.get("wrong", {}))
        for kind in sorted(shown - declared):
            yield f"{place}: {kind}: {call['kinds'][kind]}"
        for kind in sorted(declared - shown):
            yield f"{place}: {kind} is recorded as wrong, but {call['kinds'].get(kind)}"


def escaped(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|").replace("<", "&lt;")


def code(call: str) -> str:
    lines = [line.replace("|", "\\|") for line in call.strip().splitlines()]
    return "<br>".join(f"`{line}`" for line in lines)


def refused(observed: str) -> tuple[str, str]:
    """Type and message of a refusal."""
    kind, _, message = observed.removeprefix("refuses ").partition(": ")
    return kind, escaped(message)


def expected(kind: str, observed: str, main: str) -> bool:
    """Whether a kind does as an ordinary array; a read-only one stays read-only."""
    return main == (
        f"{observed}, read-only" if kind == "read-only" and main != observed else observed
    )


def remarks(row: Call, call: Call) -> str:
    """The kinds of arrays with other outcomes; those with the same one, or refused by the same
    type of exception, together."""
    main, hazards = call["kinds"][MAIN], row.get("wrong", {})
    said: dict[str, list[str]] = {}
    messages: dict[str, str] = {}
    for kind, observed in call["kinds"].items():
        word = outcome(observed)
        if hazard(observed):
            text = hazards[kind] or escaped(observed.removeprefix("wrong: "))
            said.setdefault(f"**wrong**: {text}", []).append(kind)
        elif word == "refuses":
            error, message = refused(observed)
            messages.setdefault(error, message)
            said.setdefault(error, []).append(kind)
        elif word not in ("none", "empty") and not expected(kind, observed, main):
            said.setdefault(escaped(observed), []).append(kind)
    parts = []
    for text, names in said.items():
        if text in messages:
            text = f"refuses (`{text}`: {messages[text]})".replace(": )", ")")
        parts.append(f"{', '.join(names)}: {text}")
    return ". ".join(parts)


def cells(*values: str) -> str:
    return f"| {' | '.join(values)} |\n"


def table(libraries: dict[str, Library], recorded: dict[str, Any]) -> Iterator[str]:
    yield cells("library", "direction", "call", "outcome", "reason", "other kinds")
    yield cells(*["---"] * 6)
    for name, library in libraries.items():
        found = recorded[name]
        title = f"{library['title']} {found['version']}"
        for (direction, row), call in zip(calls_of(library), found["calls"], strict=True):
            main = escaped(call["kinds"][MAIN])
            given = row.get("make", "").strip()
            shown = [f"y = {given}"] if given not in ("", "a") and "\n" not in given else []
            yield cells(
                title,
                DIRECTIONS[direction],
                code("\n".join([*shown, row["call"].strip()])),
                main if row["outcome"] in ("zero-copy", "copy") else f"**{row['outcome']}**",
                row["reason"].replace("|", "\\|"),
                remarks(row, call),
            )
            title = ""


def rendered(part: str) -> str:
    """A part of the page: its counts, or the tables of all groups."""
    data = record()
    if part == "tables":
        titles = groups().items()
        found = (f"## {title}\n\n{''.join(table(of, data['libraries']))}" for title, of in titles)
        return "\n".join(found)
    words = Counter(row["outcome"] for library in rows().values() for _, row in calls_of(library))
    counts = ", ".join(f"{number} {word}" for word, number in words.most_common())
    text = f"{len(rows())} libraries, {words.total()} calls: {counts}. Recorded with Python"
    return f"{text} {data['python']}."
