"""Owns the checks of a producer that fit no other room: combinations, refusals, views."""

from __future__ import annotations

from itertools import product
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.producer import ABSENT, VERSIONED, Producer, raised
from refarray.conformance.suite.producer.layouts import exported


@check("ABI-01", "producer", "fields", "each field is read where the header has it")
def _fields(producer: Producer) -> CheckResult:
    export = exported(producer, "plain")
    told = (export["ndim"], tuple(export["shape"] or ()), tuple(export["dtype"]))
    return producer.seen(told == (1, (6,), (2, 32, 1)), export, f"{told}", field="ndim")


@check("ABI-02", "producer", "deleter", "there is a deleter, or nothing to delete, in its place")
def _deleter(producer: Producer) -> CheckResult:
    export = exported(producer, "one" if "one" in producer.subject.arrays else "plain")
    place = int(export["deleter"] or 0)
    held = place == 0 or place > 4096
    return producer.seen(held, export, f"deleter {place:#x}")


@check(
    "TENS-02",
    "producer",
    "aligned",
    "data is aligned to 256 bytes, as one sentence has it and another does not",
)
def _aligned(producer: Producer) -> CheckResult:
    export = exported(producer, "plain")
    rest = int(export["data"] or 0) % 256
    return producer.seen(
        rest == 0, export, f"data {export['data']:#x}, {rest} beyond", field="data"
    )


def _unexportable(case: str, name: str, expected: str) -> None:
    @check(name, "producer", case, expected)
    def _(producer: Producer) -> CheckResult:
        export = producer.ask(producer.text(case), **VERSIONED)
        return producer.seen(isinstance(export.error, BufferError), export)


_unexportable("unexportable", "PROD-04", "data that DLPack cannot say is a BufferError")
_unexportable("sparse", "TENS-17", "sparse data is a BufferError")


@check("DTYPE-11", "producer", "swapped", "data in the other byte order is an exception")
def _swapped(producer: Producer) -> CheckResult:
    export = producer.ask(producer.text("swapped"), **VERSIONED)
    return producer.seen(export.error is not None, export)


@check("PROD-13", "producer", "none", "copy=None shares what can be shared")
def _copy_none(producer: Producer) -> CheckResult:
    text = producer.text()
    array = producer.make(text)
    first = producer.export(text, array, copy=None, **VERSIONED)
    if first.error is not None:
        return producer.seen(False, first)
    second = producer.export(text, array, copy=None, **VERSIONED)
    held = first.address == second.address
    return producer.seen(held, first, f"{first.address:#x} and {second.address:#x}", field="data")


def without_device(producer: Producer, stream: int) -> None:
    """NotApplicable when a stream is taken for host memory anyway: STRM-14 judges that."""
    if producer.export(producer.text(), stream=stream, **VERSIONED).error is None:
        raise NotApplicable(f"it takes stream={stream} without dl_device, too")


@check("PROD-10", "producer", "stream", "dl_device on the CPU with a stream is an exception")
def _cpu_stream(producer: Producer) -> CheckResult:
    without_device(producer, 1)
    export = producer.export(producer.text(), dl_device=(1, 0), stream=1, **VERSIONED)
    return producer.seen(export.error is not None, export)


@check("STRM-17", "producer", "cpu", "a stream that does not fit dl_device is an exception")
def _unfit(producer: Producer) -> CheckResult:
    without_device(producer, 2)
    export = producer.export(producer.text(), dl_device=(1, 0), stream=2, **VERSIONED)
    return producer.seen(export.error is not None, export)


@check("DEV-09", "producer", "view", "a view is on its array's device")
def _view(producer: Producer) -> CheckResult:
    whole = producer.device(producer.make(producer.text()))
    part = producer.device(producer.make(producer.text("strided")))
    repro = producer.repro(f"print({producer.text('strided')}.__dlpack_device__())")
    return CheckResult(whole == part, f"{whole} and {part}", repro)


VERSIONS: tuple[Any, ...] = (ABSENT, (0, 0), (1, 0), (2, 0))


def _combination(copy: Any, version: Any, device: Any) -> None:
    asked = "none" if version is ABSENT else version[0]
    case = f"copy-{copy}-version-{asked}-{'cpu' if device else 'any'}"

    @check(
        "AAPI-03",
        "producer",
        case.lower(),
        "the array API's test suite asks so, and expects a capsule",
    )
    def _(producer: Producer) -> CheckResult:
        if not producer.subject.array_api:
            raise NotApplicable(f"{producer.subject.name} does not claim the array API")
        export = producer.export(
            producer.text(), copy=copy, max_version=version, dl_device=device or ABSENT
        )
        if export.error is not None and copy is not None:
            raise NotApplicable(f"PROD-11 and PROD-12 judge it: {export}")
        refused = version == (0, 0) and isinstance(export.error, BufferError)  # as VERS-07 allows
        return producer.seen(export.held is not None or refused, export)


for _copy, _version, _device in product((None, True, False), VERSIONS, (None, (1, 0))):
    _combination(_copy, _version, _device)


@check(
    "AAPI-01", "producer", "names", "from_dlpack is in the namespace, both methods are on the array"
)
def _names(producer: Producer) -> CheckResult:
    kind = type(producer.make(producer.text()))
    missing = [name for name in ("__dlpack__", "__dlpack_device__") if not hasattr(kind, name)]
    call = producer.subject.from_dlpack
    if call:
        try:
            eval(call.partition("(")[0], producer.namespace)
        except Exception as error:
            missing.append(raised(error))
    if "__dlpack_device__" in missing or "__dlpack__" in missing:
        raise NotApplicable(f"missing: {', '.join(missing)}")
    return CheckResult(
        not missing,
        f"missing: {', '.join(missing) or 'none'}",
        producer.repro(f"print(dir({producer.text()}))"),
    )
