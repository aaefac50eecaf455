"""Owns the checks of a producer's flags: FLAG."""

from __future__ import annotations

from refarray.conformance.cases import CheckResult, NotApplicable, check
from refarray.conformance.harness.producer import VERSIONED, Producer
from refarray.conformance.suite.producer.layouts import LAYOUTS, exported

READ_ONLY, IS_COPIED, PADDED = 1, 2, 4


def _known(kind: str) -> None:
    @check("FLAG-01", "producer", kind, "no flag bit is set that DLPack 1.3 does not know")
    def _(producer: Producer) -> CheckResult:
        export = exported(producer, kind)
        return producer.seen(
            export.flags & ~7 == 0, export, f"flags {export.flags:#x}", field="flags"
        )


def _view(kind: str) -> None:
    @check("FLAG-04", "producer", kind, "IS_COPIED is clear where nothing was copied")
    def _(producer: Producer) -> CheckResult:
        export = exported(producer, kind)
        return producer.seen(
            not export.flags & IS_COPIED, export, f"flags {export.flags}", field="flags"
        )


for _kind in LAYOUTS:
    _known(_kind)
for _kind in ("plain", "strided", "transposed", "scalar"):
    _view(_kind)


@check("FLAG-02", "producer", "readonly", "READ_ONLY is set on data that must not be written")
def _readonly(producer: Producer) -> CheckResult:
    export = exported(producer, "readonly")
    return producer.seen(
        bool(export.flags & READ_ONLY), export, f"flags {export.flags}", field="flags"
    )


@check("FLAG-02", "producer", "writable", "READ_ONLY is clear on data that may be written")
def _writable(producer: Producer) -> CheckResult:
    if producer.subject.immutable:
        raise NotApplicable("its arrays may never be written")
    export = exported(producer, "plain")
    return producer.seen(
        not export.flags & READ_ONLY, export, f"flags {export.flags}", field="flags"
    )


@check(
    "FLAG-02",
    "producer",
    "legacy",
    "data that must not be written is refused to legacy consumers: BufferError",
    level="DISPUTED",  # the legacy struct cannot say it, and no text what to do
)
def _legacy(producer: Producer) -> CheckResult:
    export = producer.export(producer.text("readonly"))
    return producer.seen(isinstance(export.error, BufferError), export)


def _copied(kind: str) -> None:
    @check("FLAG-03", "producer", kind, "copy=True sets IS_COPIED")
    def _(producer: Producer) -> CheckResult:
        export = exported(producer, kind, copy=True, **VERSIONED)
        return producer.seen(
            bool(export.flags & IS_COPIED), export, f"flags {export.flags}", field="flags"
        )


for _kind in ("plain", "strided", "readonly"):
    _copied(_kind)


@check(
    "FLAG-06", "producer", "readonly", "a copy of read-only data may be written: READ_ONLY is clear"
)
def _owned(producer: Producer) -> CheckResult:
    export = exported(producer, "readonly", copy=True, **VERSIONED)
    return producer.seen(
        not export.flags & READ_ONLY, export, f"flags {export.flags}", field="flags"
    )
