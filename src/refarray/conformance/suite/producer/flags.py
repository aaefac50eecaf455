"""FLAG checks of a producer: READ_ONLY, IS_COPIED and unknown bits."""

from __future__ import annotations

from refarray.conformance import judgements
from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.dlpack import READ_ONLY
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.suite.exports import LAYOUTS, export_kind
from refarray.conformance.suite.on_devices import check_on_devices


def flags_result(producer: Producer, held: bool, export: Export) -> CheckResult:
    """The result of a case that looks at the flags."""
    return producer.make_result(held, export, f"flags {export.flags}", field="flags")


@check_cases("FLAG-01", LAYOUTS, "no flag bit is set that DLPack 1.3 does not define")
def only_known_flags(producer: Producer, kind: str) -> CheckResult:
    export = export_kind(producer, kind)
    held = judgements.sets_only_known_flags(export.flags)
    return producer.make_result(held, export, f"flags {export.flags:#x}", field="flags")


@check("FLAG-02", "readonly", "READ_ONLY is set on data that must not be written")
def read_only_is_set(producer: Producer) -> CheckResult:
    export = export_kind(producer, "readonly")
    return flags_result(producer, bool(export.flags & READ_ONLY), export)


@check("FLAG-02", "writable", "READ_ONLY is clear on data that may be written")
def read_only_is_clear(producer: Producer) -> CheckResult:
    if producer.subject.immutable:
        raise NotApplicable("its arrays may never be written")
    export = export_kind(producer, "plain")
    return flags_result(producer, not export.flags & READ_ONLY, export)


@check(
    "FLAG-02",
    "legacy",
    "data that must not be written is refused to legacy consumers: BufferError",
    level="DISPUTED",  # the legacy struct has no flags, and the texts do not settle it
)
def read_only_is_refused_to_legacy_consumers(producer: Producer) -> CheckResult:
    export = producer.export(producer.text("readonly"))
    return producer.make_result(isinstance(export.error, BufferError), export)


@check_cases("FLAG-03", ("plain", "strided", "readonly"), "copy=True sets IS_COPIED")
def copy_is_marked(producer: Producer, kind: str) -> CheckResult:
    export = export_kind(producer, kind, copy=True, **VERSIONED)
    return flags_result(producer, judgements.marks_copy(export.flags), export)


@check_on_devices("FLAG-03", "to-host", "IS_COPIED is set on a copy for the host")
def copy_to_host_is_marked(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    export = producer.export(fixture.text(), fixture.array(), dl_device=(1, 0), **VERSIONED)
    if export.error is not None:
        raise NotApplicable(f"it makes no copies for the host: {export}")
    held = judgements.marks_copy(export.flags)
    return producer.make_result(held, export, f"flags {export.flags:#x}", field="flags")


@check_cases(
    "FLAG-04",
    ("plain", "strided", "transposed", "scalar"),
    "IS_COPIED is clear where nothing was copied",
)
def shared_memory_is_not_marked(producer: Producer, kind: str) -> CheckResult:
    text, array = producer.own(kind)
    export, again = (producer.export(text, array, **VERSIONED) for _ in range(2))
    if isinstance(export.error, BufferError):
        raise NotApplicable(f"{export.call} raised {export}")
    if export.address != again.address:
        raise NotApplicable("TENS-18 judges it: two exports do not share memory")
    return flags_result(producer, not judgements.marks_copy(export.flags), export)


@check("FLAG-05", "two-copies", "two copies share no memory")
def copies_share_no_memory(producer: Producer) -> CheckResult:
    text, array = producer.own()
    exports = (producer.export(text, array, copy=True, **VERSIONED) for _ in range(2))
    first, second = (export.require() for export in exports)
    observed = f"{first.address:#x} and {second.address:#x}"
    return producer.make_result(first.address != second.address, first, observed, beside=second)


@check("FLAG-06", "readonly", "a copy of read-only data may be written: READ_ONLY is clear")
def copy_is_writable(producer: Producer) -> CheckResult:
    export = export_kind(producer, "readonly", copy=True, **VERSIONED)
    return flags_result(producer, not export.flags & READ_ONLY, export)


@check_cases(
    "FLAG-02",
    {"frozen": "frozen", "immutable": "plain"},
    "memory that nobody may write is exported as READ_ONLY, or refused",
)
def frozen_memory_is_read_only(producer: Producer, kind: str) -> CheckResult:
    if kind == "plain" and not producer.subject.immutable:
        raise NotApplicable("its arrays may be written")
    text, array = producer.own(kind)
    export, again = (producer.export(text, array, **VERSIONED) for _ in range(2))
    if export.error is not None:
        return producer.make_result(isinstance(export.error, BufferError), export)
    if export.address != again.address:
        raise NotApplicable("its exports are copies: TENS-18 judges that")
    return flags_result(producer, bool(export.flags & READ_ONLY), export)
