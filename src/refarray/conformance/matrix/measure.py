"""Owns the grid of producers against consumers: a process for each pair, and what the cells say."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from refarray.conformance.matrix.exchange import Arrival, Exchange
from refarray.conformance.runner.worker_process import how_it_ended

IMPORT_SECONDS = 60.0
"""For both imports."""
SECONDS = 10.0
"""For one exchange."""
SIDE_BY_SIDE = 2
"""Pairs that are tried at the same time."""
START = "from refarray.conformance.matrix.grid import main; main()"
LETTERS = {
    Arrival.COPIED: "c",
    Arrival.REFUSED: "r",
    Arrival.WRONG: "w!",
    Arrival.WRITABLE: "W!",
    Arrival.CRASHED: "X!",
    Arrival.HUNG: "H!",
    Arrival.UNKNOWN: "?",
}
LEGEND = (
    "shared/sent; c copied, r refused, w! wrong, W! read-only became writable, X! crashed, "
    "H! hung, ? cannot tell"
)
BAD = {Arrival.WRONG, Arrival.WRITABLE, Arrival.CRASHED, Arrival.HUNG}


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
    def failed(self) -> bool:
        """Whether data arrived wrong, or the process died or hung of it."""
        return bool({Arrival.WRONG, Arrival.CRASHED, Arrival.HUNG} & set(self.counts))

    @property
    def text(self) -> str:
        """ "19/25", and what is not shared by its letter, as LEGEND explains them."""
        if not self.exchanges:
            return "not tried" if self.broken else "-"
        rest = [f"{self.counts[what]}{mark}" for what, mark in LETTERS.items() if self.counts[what]]
        return " ".join([f"{self.counts[Arrival.SHARED]}/{len(self.exchanges)}", *rest])


def serve(
    producer_name: str,
    consumer_name: str,
    done: Collection[str],
    say: Callable[[dict[str, Any]], None],
) -> None:
    """Runs in a process of the pair's own: every exchange that is not done, each announced before
    it is tried."""
    from refarray.conformance.cases import NotApplicable
    from refarray.conformance.harness.consumer import Consumer
    from refarray.conformance.harness.producer import Producer
    from refarray.conformance.matrix.exchange import Pair, cases
    from refarray.conformance.subjects.lookup import subject

    producer = Producer(subject(producer_name))
    other = producer if producer_name == consumer_name else Producer(subject(consumer_name))
    consumer = Consumer(other.subject, other.namespace)
    say({"versions": [producer.subject.version, other.subject.version]})
    pair = Pair(producer, consumer)
    for case, text, read_only in cases(producer):
        if case in done:
            continue
        say({"start": case, "repro": pair.repro(text)})
        with contextlib.suppress(NotApplicable):
            say({"exchange": asdict(pair.exchange(case, text, read_only))})


def main() -> None:
    """On the command line: producer, consumer, the cases that are done as a JSON list."""
    out = os.dup(1)
    os.dup2(2, 1)  # what the libraries print is not ours

    def say(message: dict[str, Any]) -> None:
        os.write(out, (json.dumps(message) + "\n").encode())

    try:
        serve(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), say)
    except BaseException as error:
        say({"broken": f"{type(error).__name__}: {error}"})
    os._exit(0)


def messages(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """What the process says, line by line. TimeoutError when it says nothing for too long."""
    assert process.stdout is not None
    said, seconds = b"", IMPORT_SECONDS
    while True:
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        if not ready:
            raise TimeoutError(f"no answer in {seconds:g} s")
        chunk = os.read(process.stdout.fileno(), 65536)
        if not chunk:
            return
        *lines, said = (said + chunk).split(b"\n")
        for line in lines:
            seconds = SECONDS
            yield json.loads(line)


def attempt(cell: Cell, done: list[str]) -> bool:
    """One process: the exchanges that are not done. Whether another one has to go on, because this
    one died or hung of an exchange."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, cell.producer, cell.consumer, json.dumps(done)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    current: dict[str, Any] = {}
    died, what = "", Arrival.CRASHED
    try:
        for message in messages(process):
            if "versions" in message:
                cell.versions = (message["versions"][0], message["versions"][1])
            elif "start" in message:
                current = message
                done.append(message["start"])
            elif "exchange" in message:
                fields = {**message["exchange"], "arrival": Arrival(message["exchange"]["arrival"])}
                cell.exchanges.append(Exchange(**fields))
                current = {}
            else:
                cell.broken = message["broken"]
    except TimeoutError as reason:
        process.kill()
        died, what = str(reason), Arrival.HUNG
    finally:
        assert process.stdout is not None
        process.stdout.close()
        status = process.wait()
    if status and not died:
        died = how_it_ended(status)
    if died and not current:
        cell.broken = f"{died}, at {f'the end of {done[-1]}' if done else 'import'}"
    elif died:
        case, repro = current["start"], current["repro"]
        cell.exchanges.append(Exchange(cell.producer, cell.consumer, case, what, died, repro))
    return bool(died and current)


def measure(producer: str, consumer: str) -> Cell:
    """One cell. Never raises for what the libraries do."""
    cell = Cell(producer, consumer)
    done: list[str] = []
    while attempt(cell, done):
        pass
    return cell


def grid(
    names: Sequence[str], progress: Callable[[str, int, int], None] | None = None
) -> list[list[Cell]]:
    """Every pair: a row for each producer, a column for each consumer. `progress` is called with
    the pair that has ended, the number of those, and how many there are."""
    pairs = [(producer, consumer) for producer in names for consumer in names]
    ended = itertools.count(1)

    def one(pair: tuple[str, str]) -> Cell:
        cell = measure(*pair)
        if progress is not None:
            progress(" -> ".join(pair), next(ended), len(pairs))
        return cell

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        cells = list(threads.map(one, pairs))
    return [cells[i : i + len(names)] for i in range(0, len(cells), len(names))]


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
    out += ["", LEGEND]
    for cell in (cell for row in rows for cell in row):
        head = f"{cell.producer} -> {cell.consumer}"
        if cell.broken:
            out.append(f"{head}: {cell.broken}")
        for each in cell.exchanges:
            if each.arrival in BAD:
                out.append(f"{head}, {each.case}: {each.arrival}: {each.observed}")
    return "\n".join(out) + "\n"
