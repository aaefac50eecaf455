"""DEV checks of a consumer: foreign devices, and memory of another device."""

from __future__ import annotations

from dataclasses import replace

from refarray.conformance.cases import (
    CHECKS,
    WRONG_DATA,
    CheckResult,
    NotApplicable,
    add,
    add_harm,
    check,
)
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.consumer import Consumer, give, text
from refarray.conformance.harness.recorder import Recorder
from refarray.conformance.subjects.devices import COUNT
from refarray.conformance.suite.corpus_checks import register_corpus
from refarray.conformance.suite.handles import (
    OFFSET_KEPT,
    handle_is_kept,
    require_handle,
    start_is_kept,
)
from refarray.conformance.suite.on_devices import Lender, check_on_devices

register_corpus("DEV")


@check_on_devices(
    "DEV-06",
    "other-device",
    "memory of device 1 under number 0 is recognised",
    level="DISPUTED",  # the text says that it may be possible, not that it should be done
)
def wrong_device_number(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    fixture.several()
    kind = fixture.vendor.kind
    lender = Lender(fixture, 1, device=(kind, 0))
    found = consumer.take(lender)
    fields = f"device=({kind}, 0), data=<memory of device 1>, shape=({COUNT},)"
    repro = fixture.repro(f"# {consumer.subject.from_dlpack.format(f'give({fields})')}")
    if found.error is not None:
        return CheckResult(found.refused, f"{found}", repro)
    device = tuple(found.read_fields()["device"])
    return CheckResult(device == (kind, 1), f"imported; exported again as device {device}", repro)


@check(
    "DEV-07",
    "class",
    "a device that is not supported is a BufferError, as the text recommends",
    level="SHOULD",
)
def unsupported_device(consumer: Consumer) -> CheckResult:
    fields = {"shape": (3,), "data": 0xDEAD0008, "device": (9, 0)}
    found = consumer.take(give(**fields))
    if found.error is None:
        raise NotApplicable("it imports from any device")
    return consumer.make_result(isinstance(found.error, BufferError), f"{found}", text(fields))


OWN_OFFSET = "TENS-01[consumer-own-handle]"


@check(
    "DEV-10",
    "own-handle",
    "a slice of its own array on a device with handles is exported again with its handle",
    risky=True,
    rules="2026.2",
)
def own_handle_is_kept(consumer: Consumer) -> CheckResult:
    source, own = consumer.own("offset", "plain")
    sent = consumer.look(own)
    require_handle(sent["device"][0])
    held = consumer.import_from(own).read_fields()
    start = consumer.make_result(*start_is_kept(sent, held), source)
    whole = consumer.make_result(*handle_is_kept(sent, held), source)
    return replace(add_harm(whole, WRONG_DATA), parts={OWN_OFFSET: add_harm(start, WRONG_DATA)})


_whole = CHECKS["DEV-10[consumer-own-handle]"]
add(replace(_whole, id="TENS-01", expected=OFFSET_KEPT, part_of=_whole.name))


@check(
    "DEV-08",
    "device",
    "a BufferError raised by __dlpack_device__ reaches the caller as a BufferError",
)
def device_buffer_error_is_kept(consumer: Consumer) -> CheckResult:
    recorder = Recorder(dunder_device=BufferError("it has no strided form"))
    found = consumer.take(recorder)
    if ("__dlpack_device__", {}) not in recorder.calls:
        raise NotApplicable("it does not call __dlpack_device__")
    given = "give(dunder_device=BufferError('it has no strided form'))"
    return consumer.make_result(isinstance(found.error, BufferError), f"{found}", given)


@check_on_devices("DEV-11", "empty", "no elements at NULL on a device are imported")
def empty_tensor_on_device(fixture: DeviceFixture, consumer: Consumer) -> CheckResult:
    lender = Lender(fixture, shape=(0,), data=None)
    found = consumer.take(lender)
    given = f"give(device=({fixture.vendor.kind}, 0), shape=(0,), data=None)"
    call = f"print({consumer.subject.from_dlpack.format(given)})"
    repro = fixture.repro("from refarray.conformance import give", call)
    return CheckResult(found.error is None, f"{found}", repro)
