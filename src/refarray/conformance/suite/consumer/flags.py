"""FLAG checks of a consumer: flags of an import that it exports again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refarray.conformance.cases import CheckResult, NotApplicable, check, check_cases
from refarray.conformance.dlpack import KNOWN_FLAGS, READ_ONLY, SUBBYTE_PADDED
from refarray.conformance.harness.consumer import Consumer, Import, give, text
from refarray.conformance.harness.recorder import FIELDS, Recorder
from refarray.conformance.requirements import Level
from refarray.conformance.suite.consumer.dtypes import fp4_is_kept
from refarray.conformance.suite.consumer_kinds import TENSORS, Sent

UNKNOWN = 1 << 40
"""A flag bit that no version defines."""


@check("FLAG-07", "padded", "padded fp4 stays padded, or is refused", risky=True)
def padded_fp4_stays_padded(consumer: Consumer) -> CheckResult:
    if consumer.subject.overloads:
        raise NotApplicable("its functions are shown no flags that they could pass on")
    return fp4_is_kept(consumer, SUBBYTE_PADDED)


@check(
    "FLAG-07",
    "padded-vectors",
    "padded vectors of two fp4 stay padded, or are refused",
    risky=True,
    level="HAZARD",  # the texts do not say how a vector of less than a byte each is padded
)
def padded_vectors_stay_padded(consumer: Consumer) -> CheckResult:
    if consumer.subject.overloads:
        raise NotApplicable("its functions are shown no flags that they could pass on")
    return fp4_is_kept(consumer, SUBBYTE_PADDED, lanes=2)


@check(
    "FLAG-08",
    "unknown",
    "an unknown flag bit is ignored or refused, and not exported again",
    risky=True,
)
def unknown_flag_is_not_exported(consumer: Consumer) -> CheckResult:
    fields = {**FIELDS, "flags": UNKNOWN}
    found = consumer.take(give(**fields))
    flags = found.read_fields().get("flags")
    if flags is None:
        raise NotApplicable("its export has no flags")
    held = flags & ~KNOWN_FLAGS == 0
    return consumer.make_result(held, f"exported again with flags {flags:#x}", text(fields))


@check(
    "FLAG-09",
    "read-only",
    "READ_ONLY data is imported, whether the library has read-only arrays or not",
    risky=True,
)
def read_only_is_imported(consumer: Consumer) -> CheckResult:
    fields = {**FIELDS, "flags": READ_ONLY}
    if consumer.subject.overloads:
        raise NotApplicable("its functions say whether they write to what they take")
    producer = give(**fields)
    found = consumer.take(producer)
    if producer.unasked:
        raise NotApplicable("it asks for the legacy struct only")
    return consumer.make_result(found.error is None, f"{found}", text(fields))


def flag_is_kept(consumer: Consumer, found: Import, recorder: Recorder, given: str) -> CheckResult:
    """Whether an import that shares READ_ONLY memory is exported as READ_ONLY again."""
    if not 0 <= found.address - recorder.address < len(recorder.bytes):
        raise NotApplicable("it was copied: TENS-18 judges that")
    held = found.readonly
    result = consumer.make_result(held, "READ_ONLY" if held else "exported as writable", given)
    subject = consumer.subject
    if "readonly" in subject.arrays or subject.immutable:
        return result
    return replace(result, level=Level.HAZARD)  # a library without read-only arrays may ignore it


@check("FLAG-10", "read-only", "READ_ONLY data is not exported again as writable")
def read_only_stays_read_only(consumer: Consumer) -> CheckResult:
    recorder = Recorder(flags=READ_ONLY)
    found = consumer.import_from(recorder)
    return flag_is_kept(consumer, found, recorder, "give(shape=(3,), flags=1)")


@check_cases(
    "FLAG-10",
    {name: TENSORS[name] for name in ("strided", "transposed", "inner", "scalar", "int64", "bool")},
    "READ_ONLY data is not exported again as writable: {case}",
)
def read_only_layout_stays_read_only(consumer: Consumer, sent: Sent) -> CheckResult:
    fields = {**sent.fields, "flags": READ_ONLY}
    recorder = Recorder(**fields)
    return flag_is_kept(consumer, consumer.import_from(recorder), recorder, text(fields))


@check(
    "FLAG-11",
    "legacy",
    "a legacy tensor is imported as writable: it has no flag that says otherwise",
    risky=True,
    level="DISPUTED",  # nothing forbids a consumer to be careful
)
def legacy_tensor_is_writable(consumer: Consumer) -> CheckResult:
    fields: dict[str, Any] = {"shape": (3,), "versioned": False}
    found = consumer.import_from(Recorder(versioned=False))
    if consumer.subject.immutable:
        raise NotApplicable("its arrays may never be written")
    held = not found.readonly
    return consumer.make_result(held, "writable" if held else "read-only", text(fields))
