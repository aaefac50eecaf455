"""Owns asking every check that needs a device with its judgement turned round, of refarray's arrays
on simulated drivers: prints the names of those that then report something."""

from __future__ import annotations

from refarray.conformance import checks
from refarray.conformance.consumer import Consumer
from refarray.conformance.devices import start
from refarray.conformance.producer import Producer
from refarray.conformance.subjects import REFARRAY
from refarray.conformance.worker import judge, probes_of


def main() -> None:
    """Prints a name a line."""
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
