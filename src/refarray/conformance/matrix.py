"""Owns the grid of producers against consumers: a process for each pair, and what the cells say."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from refarray.conformance.engine import how_it_ended
from refarray.conformance.pairs import Arrival, Exchange

SECONDS = 60.0
"""For one pair, both imports included."""
WORST = (
    Arrival.WRONG,
    Arrival.WRITABLE,
    Arrival.REFUSED,
    Arrival.COPIED,
    Arrival.UNKNOWN,
    Arrival.SHARED,
)


@dataclass
class Cell:
    """What came of one pair."""

    producer: str
    consumer: str
    versions: tuple[str, str] = ("", "")
    exchanges: list[Exchange] = field(default_factory=list)
    broken: str = ""
    """Why there is nothing, or not all of it."""

    @property
    def counts(self) -> Counter[Arrival]:
        """How many exchanges ended how."""
        return Counter(each.arrival for each in self.exchanges)

    @property
    def text(self) -> str:
        """ "19/25", and what is not shared by its letter, as text() explains them."""
        if not self.exchanges:
            return "died" if self.broken else "-"
        letters = {
            Arrival.COPIED: "c",
            Arrival.REFUSED: "r",
            Arrival.WRONG: "w!",
            Arrival.WRITABLE: "W!",
            Arrival.UNKNOWN: "?",
        }
        rest = [f"{self.counts[what]}{mark}" for what, mark in letters.items() if self.counts[what]]
        died = " died" if self.broken else ""
        shared = f"{self.counts[Arrival.SHARED]}/{len(self.exchanges)}"
        return " ".join([shared, *rest]) + died


def serve(producer_name: str, consumer_name: str, say: Callable[[dict[str, Any]], None]) -> None:
    """Runs in a process of the pair's own: every exchange, each announced before it is tried."""
    from refarray.conformance.cases import NotApplicable
    from refarray.conformance.consumer import Consumer
    from refarray.conformance.pairs import Pair, cases
    from refarray.conformance.producer import Producer
    from refarray.conformance.subjects import subject

    producer = Producer(subject(producer_name))
    other = producer if producer_name == consumer_name else Producer(subject(consumer_name))
    consumer = Consumer(other.subject, other.namespace)
    say({"versions": [producer.subject.version, other.subject.version]})
    pair = Pair(producer, consumer)
    for case, text, read_only in cases(producer):
        say({"start": case})
        with contextlib.suppress(NotApplicable):
            say({"exchange": asdict(pair.exchange(case, text, read_only))})


def main() -> None:
    """`matrix PRODUCER CONSUMER` on the command line of the process."""
    out = os.dup(1)
    os.dup2(2, 1)  # what the libraries print is not ours

    def say(message: dict[str, Any]) -> None:
        os.write(out, (json.dumps(message) + "\n").encode())

    try:
        serve(sys.argv[1], sys.argv[2], say)
    except BaseException as error:
        say({"broken": f"{type(error).__name__}: {error}"})
    os._exit(0)


def measure(producer: str, consumer: str) -> Cell:
    """One cell. Never raises for what the libraries do."""
    cell = Cell(producer, consumer)
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from refarray.conformance.matrix import main; main()",
            producer,
            consumer,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        output, _ = process.communicate(timeout=SECONDS)
        died = how_it_ended(process.returncode) if process.returncode else ""
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        died = f"no end within {SECONDS:g} s"
    current = "import"
    for line in output.decode().splitlines():
        message = json.loads(line)
        current = message.get("start", current)
        if "versions" in message:
            cell.versions = tuple(message["versions"])
        elif "exchange" in message:
            cell.exchanges.append(
                Exchange(
                    **{**message["exchange"], "arrival": Arrival(message["exchange"]["arrival"])}
                )
            )
        elif "broken" in message:
            cell.broken = message["broken"]
    if died:
        cell.broken = f"{died}, at {current}"
    return cell


def grid(
    names: Sequence[str], progress: Callable[[str, str], None] | None = None
) -> list[list[Cell]]:
    """Every pair: a row for each producer, a column for each consumer."""
    rows = []
    for producer in names:
        row = []
        for consumer in names:
            if progress is not None:
                progress(producer, consumer)
            row.append(measure(producer, consumer))
        rows.append(row)
    return rows


def text(rows: Sequence[Sequence[Cell]]) -> str:
    """The grid for a terminal, and below it every exchange that is wrong or lost read-only."""
    names = [row[0].producer for row in rows]
    table = [
        ["producer \\ consumer", *names],
        *([row[0].producer, *(cell.text for cell in row)] for row in rows),
    ]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    out = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
    out += [
        "",
        "shared/sent; c copied, r refused, w! wrong, W! read-only became writable, ? cannot tell",
    ]
    for cell in (cell for row in rows for cell in row):
        head = f"{cell.producer} -> {cell.consumer}"
        if cell.broken:
            out.append(f"{head}: {cell.broken}")
        for each in cell.exchanges:
            if each.arrival in {Arrival.WRONG, Arrival.WRITABLE}:
                out.append(f"{head}, {each.case}: {each.arrival}: {each.observed}")
    return "\n".join(out) + "\n"
