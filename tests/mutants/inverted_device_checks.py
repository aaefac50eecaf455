"""Runs every device check on refarray with its verdict inverted, on simulated drivers, and prints
the names of the checks that then fail."""

from __future__ import annotations

from refarray.conformance import checks
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.producer import Producer
from refarray.conformance.runner.worker import judge, probes_of
from refarray.conformance.subjects.devices import start
from refarray.conformance.subjects.libraries import REFARRAY


def main() -> None:
    """Prints one name a line."""
    start("simulated")
    producer = Producer(REFARRAY)
    probes = probes_of(producer, Consumer(REFARRAY, producer.namespace))
    for each in checks(full=True):
        if each.devices:
            told = judge(each, probes.get(each.role, producer), invert=True)
            if told["held"] is False:
                print(each.name, flush=True)


if __name__ == "__main__":
    main()
