"""Measures the matrix of producers and consumers: one process per pair, restarted after crashes."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from refarray._hang_detector import LOOK_SECONDS, patient
from refarray._system import system
from refarray.conformance.cases import NotApplicable
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.exchange import Arrival, Exchange, Pair, cases
from refarray.conformance.harness.producer import Producer
from refarray.conformance.runner.messages import Say, answer, start
from refarray.conformance.subjects.lookup import subject

IMPORT_SECONDS = 60.0
"""Timeout of both imports together; see patient()."""
SECONDS = 10.0
"""Timeout of one exchange; likewise."""
PARALLEL_PAIRS = 2
"""Number of pairs measured at the same time."""
START = "from refarray.conformance.matrix.measure import main; main()"
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
    """The exchanges of one pair."""

    producer: str
    consumer: str
    versions: tuple[str, str] = ("", "")
    exchanges: list[Exchange] = field(default_factory=list)
    broken: str = ""
    """Why exchanges are missing; empty if none is."""

    @property
    def counts(self) -> Counter[Arrival]:
        """Number of exchanges by outcome."""
        return Counter(each.arrival for each in self.exchanges)

    @property
    def failed(self) -> bool:
        """Whether an exchange gave wrong data, crashed or hung."""
        return bool({Arrival.WRONG, Arrival.CRASHED, Arrival.HUNG} & set(self.counts))

    @property
    def text(self) -> str:
        """Shared exchanges and total, then the count of each other outcome by its letter in LEGEND:
        "19/25 6r"."""
        if not self.exchanges:
            return "not tried" if self.broken else "-"
        rest = [f"{self.counts[what]}{mark}" for what, mark in LETTERS.items() if self.counts[what]]
        return " ".join([f"{self.counts[Arrival.SHARED]}/{len(self.exchanges)}", *rest])


def serve(request: dict[str, Any], send: Say) -> None:
    """Runs in the child process: every exchange whose case is not in `done`. Announces each one
    before it starts, so that the parent knows which one crashed."""
    producer = Producer(subject(request["producer"]))
    same = request["producer"] == request["consumer"]
    other = producer if same else Producer(subject(request["consumer"]))
    consumer = Consumer(other.subject, other.namespace)
    send({"versions": [producer.subject.version, other.subject.version]})
    pair = Pair(producer, consumer)
    for case, text, read_only in cases(producer):
        if case in request["done"]:
            continue
        send({"start": case, "repro": pair.repro(text)})
        with contextlib.suppress(NotApplicable):
            send({"exchange": asdict(pair.exchange(case, text, read_only))})


def main() -> None:
    """Entry point of the child process."""
    answer(serve, lambda error: f"{type(error).__name__}: {error}")


def messages(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """The messages of the child process. TimeoutError if the next one takes too long."""
    assert process.stdout is not None
    buffer, seconds = b"", IMPORT_SECONDS
    detector = patient(process.pid, seconds)
    while True:
        if not system.wait_for([process.stdout], LOOK_SECONDS):
            if detector.over():
                raise TimeoutError(f"no answer in {seconds:g} s")
            continue
        chunk = os.read(process.stdout.fileno(), 65536)
        if not chunk:
            return
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            seconds = SECONDS
            yield json.loads(line)
        detector = patient(process.pid, seconds)


def attempt(cell: Cell, done: list[str]) -> bool:
    """Runs one child process over the exchanges that are not `done`. Returns whether it died or
    hung in an exchange, so that another one has to continue."""
    request = {"producer": cell.producer, "consumer": cell.consumer, "done": done}
    process = start(START, request)
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
        system.kill(process.pid)
        died, what = str(reason), Arrival.HUNG
    finally:
        assert process.stdout is not None
        process.stdout.close()
        status = process.wait()
    if status and not died:
        died = system.how_it_ended(status)
    if died and not current:
        cell.broken = f"{died}, at {f'the end of {done[-1]}' if done else 'import'}"
    elif died:
        case, repro = current["start"], current["repro"]
        cell.exchanges.append(Exchange(cell.producer, cell.consumer, case, what, died, repro))
    return bool(died and current)


def measure(producer: str, consumer: str) -> Cell:
    """Measures one pair. Crashes and exceptions of the libraries are recorded, not raised."""
    cell = Cell(producer, consumer)
    done: list[str] = []
    while attempt(cell, done):
        pass
    return cell


def measure_all(
    names: Sequence[str], progress: Callable[[str, int, int], None] | None = None
) -> list[list[Cell]]:
    """Measures every pair: a row for each producer, a column for each consumer. `progress` is
    called after each pair with its name, the number of finished pairs, and the number of all
    pairs."""
    pairs = [(producer, consumer) for producer in names for consumer in names]
    ended = itertools.count(1)

    def one(pair: tuple[str, str]) -> Cell:
        cell = measure(*pair)
        if progress is not None:
            progress(" -> ".join(pair), next(ended), len(pairs))
        return cell

    with ThreadPoolExecutor(PARALLEL_PAIRS) as threads:
        cells = list(threads.map(one, pairs))
    return [cells[i : i + len(names)] for i in range(0, len(cells), len(names))]


def text(rows: Sequence[Sequence[Cell]]) -> str:
    """The matrix for a terminal, followed by the exchanges with a BAD outcome."""
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
