"""TENS checks of a consumer: the tensors of harness/corpus.py, sharing, and the round trip."""

from __future__ import annotations

from refarray.conformance.cases import CheckResult, check
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.recorder import PLAIN, Recorder
from refarray.conformance.suite.corpus_checks import register_corpus

register_corpus("TENS")


@check("TENS-18", "shared", "a contiguous tensor is imported without a copy")
def contiguous_tensor_is_shared(consumer: Consumer) -> CheckResult:
    consumer.require_sharing()
    recorder = Recorder()
    found = consumer.import_from(recorder)
    held = found.address == recorder.address
    return consumer.make_result(held, "shared" if held else "copied", PLAIN)


@check(
    "TENS-19",
    "round-trip",
    "an array of its own comes back with shape, strides, dtype and device",
    risky=True,
)
def round_trip(consumer: Consumer) -> CheckResult:
    source, own = consumer.own("transposed", "plain")
    before, after = consumer.look(own), consumer.take(own).read_fields()
    fields = ("shape", "strides", "dtype", "device")
    first, second = (tuple(tuple(each[name] or ()) for name in fields) for each in (before, after))
    return consumer.make_result(first == second, f"{first}, came back as {second}", source)
