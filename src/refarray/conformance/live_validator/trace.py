"""`refarray trace`: one exchange between two libraries in a separate process, recorded by a spy."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

from refarray._hang_detector import communicate, patient
from refarray._system import system
from refarray._terminal import width, wrap_hanging
from refarray.conformance.cases import describe_error
from refarray.conformance.findings import Finding
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.exchange import Arrival
from refarray.conformance.harness.producer import VERSIONED, Producer
from refarray.conformance.harness.reasons import find_reason
from refarray.conformance.live_validator.calls import Step, lines, timeline_lines
from refarray.conformance.live_validator.spy import spy
from refarray.conformance.runner.messages import Say, answer, start
from refarray.conformance.subjects.lookup import subject

SECONDS = 60.0
"""Timeout of the process, for both imports and the exchange; see patient()."""
START = "from refarray.conformance.live_validator.trace import main; main()"


@dataclass
class Trace:
    """The record of one exchange."""

    producer: str
    consumer: str
    array: str = ""
    """The expression that makes the array."""
    versions: tuple[str, str] = ("", "")
    began: int = 0
    steps: list[Step] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    arrival: str = ""
    broken: str = ""
    """Why there was no exchange; empty if there was one."""
    reason: str = ""
    """Why the consumer copied or refused the array; empty if it did not, or nothing tells."""
    route: str = ""
    """How the consumer says that it imports the array itself, without the spy; empty if it says
    nothing."""
    died: str = ""
    """How the process died during the exchange; empty if it did not."""

    @property
    def failed(self) -> bool:
        """Whether a MUST was broken, the imported data is wrong, or the process died."""
        wrong = self.arrival == Arrival.WRONG
        return bool(self.died) or wrong or any(f.outcome.failed for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The members, as `refarray trace --json` prints them."""
        return asdict(self)

    def __str__(self) -> str:
        ends = [
            f"{name} {version}".rstrip()
            for name, version in zip((self.producer, self.consumer), self.versions, strict=True)
        ]
        out = [*wrap_hanging("", f"{ends[0]} -> {ends[1]}: {self.array}", 4, width()), ""]
        names = {"producer": self.producer, "consumer": self.consumer}
        out += timeline_lines(self.steps, self.began, names)
        if self.reason:
            out += wrap_hanging("", f"{self.arrival} {self.reason}", 4, width())
        if self.route:
            route = f"without the spy, {self.consumer} reports its route: {self.route}"
            out += wrap_hanging("", route, 4, width())
        if self.died:
            out.append(f"then the process died: {self.died}")
        return "\n".join([*out, "", *(lines(self.findings) if self.findings else [])]).rstrip()


def exchange(request: dict[str, Any], send: Say) -> None:
    """Runs the exchange in the child process and sends each step to the parent as it happens."""
    producer = Producer(subject(request["producer"]))
    other = Producer(subject(request["consumer"]))
    consumer = Consumer(other.subject, other.namespace)
    if not other.subject.from_dlpack:
        raise ValueError(f"{request['consumer']} has no import function")
    text = producer.subject.arrays.get(request["array"], request["array"])
    for name in {"numpy", "np"} & set(re.findall(r"\w+", text)):
        producer.namespace.setdefault(name, import_module("numpy"))
    names = {"producer": request["producer"], "consumer": request["consumer"]}
    routes = listen_for_routes()
    watched = spy(producer.make(text), **names, table=request["table"])
    send(
        {
            "array": text,
            "began": watched.began,
            "versions": [producer.subject.version, other.subject.version],
        }
    )
    watched.listener = lambda step: send({"step": asdict(step)})

    def taken(given: Any, **keywords: Any) -> Any:
        found = consumer.take(given, **keywords)
        if found.error is not None:
            raise found.error
        return found.array

    try:
        array = watched.take(taken, **request["keywords"])
        watched.dropped()
        del array
    except Exception:  # recorded in the timeline
        pass
    findings = watched.finish()
    send(
        {
            "steps": [asdict(step) for step in watched.timeline],
            "findings": [found.to_dict() for found in findings],
            "arrival": watched.imports[0].arrival,
        }
    )
    how = str(watched.imports[0].arrival) or "refused"
    send({"arrival": how, "reason": explain(producer, consumer, text, how)})
    if routes:  # the spy's type is not the array's, which may take another
        consumer.take(producer.make(text), **request["keywords"])
        send({"route": routes[-1]})


def explain(producer: Producer, consumer: Consumer, text: str, how: str) -> str:
    """Why an array was copied or refused; empty if it was not, or nothing tells."""
    exports = (producer.ask(text, **each) for each in (VERSIONED, {}))
    fields = next((each.held for each in exports if each.held is not None), None)
    if how not in {"copied", "refused"} or fields is None:
        return ""
    return find_reason(consumer, fields, how)


def listen_for_routes() -> list[str]:
    """The routes that a consumer reports from here on, by audit events LIBRARY.from_dlpack(type,
    route)."""
    routes: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event.endswith(".from_dlpack"):
            routes.append(arguments[1])

    sys.addaudithook(hook)
    return routes


def main() -> None:
    """Entry point of the child process."""
    answer(exchange, describe_error)


def trace(
    producer: str, consumer: str, array: str = "plain", *, table: bool = True, **keywords: Any
) -> Trace:
    """Sends one array from a library to another and returns the record.

    `array` is a kind that the adapter has, or an expression; `keywords` are passed to the
    consumer's from_dlpack; `table=False` offers no C exchange table. Crashes and exceptions of the
    libraries are recorded, not raised.
    """
    request = {
        "producer": producer,
        "consumer": consumer,
        "array": array,
        "table": table,
        "keywords": keywords,
    }
    process = start(START, request, REFARRAY_AUDIT="1")
    out = Trace(producer, consumer, array)
    output, ended = communicate(process, patient(process.pid, SECONDS))
    if not ended:
        out.died = f"no end within {SECONDS:g} s"
    elif process.returncode:
        out.died = system.how_it_ended(process.returncode)
    for line in output.decode().splitlines():
        add_message(out, json.loads(line))
    return out


def add_message(out: Trace, message: dict[str, Any]) -> None:
    """Adds a message of the child process to the record."""
    if "step" in message:
        out.steps.append(Step(**message["step"]))
    elif "steps" in message:
        out.steps = [Step(**step) for step in message["steps"]]
        out.findings = [Finding.from_dict(found) for found in message["findings"]]
        out.arrival = message["arrival"]
    elif "reason" in message:
        out.arrival, out.reason = message["arrival"], message["reason"]
    elif "route" in message:
        out.route = message["route"]
    elif "broken" in message:
        out.broken = message["broken"]
    else:
        out.array = message["array"]
        out.began = message["began"]
        out.versions = (message["versions"][0], message["versions"][1])
