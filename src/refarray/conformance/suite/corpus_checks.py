"""The consumer's checks over the corpus: each managed tensor of harness/corpus.py is one case."""

from __future__ import annotations

import gc
from dataclasses import replace

from refarray.conformance import _adversary
from refarray.conformance.cases import (
    DOUBLE_FREE,
    WRONG_DATA,
    AtExit,
    Check,
    CheckResult,
    NotApplicable,
    add,
    add_harm,
)
from refarray.conformance.dlpack import HANDLES
from refarray.conformance.harness.consumer import BARE, Consumer, Import, give, settle, text
from refarray.conformance.harness.consumer import Given as Producer
from refarray.conformance.harness.corpus import CPU, GIVEN, Given
from refarray.conformance.harness.provocation import provoked
from refarray.conformance.requirements import Level, Role
from refarray.conformance.suite.handles import OFFSET_KEPT, handle_is_kept, start_is_kept


def right_content(found: Import, given: Given) -> tuple[bool, str]:
    """Whether an import has the expected shape and values, and the observation."""
    if given.shape is None:
        code, bits, lanes = found.read_fields()["dtype"]
        if lanes == given.fields["dtype"][2]:
            return True, f"dtype {(code, bits, lanes)}"
        if given.values is None:
            return False, f"dtype {(code, bits, lanes)}"
        values = found.values
        return values == given.values, f"dtype {(code, bits, lanes)} and values {values}"
    shape = tuple(found.read_fields()["shape"] or ())
    if shape != given.shape:
        return False, f"shape {shape}"
    if given.values is None:
        return True, f"shape {shape}"
    values = found.values
    return values == given.values, f"values {values}"


def knows_device(found: Import, given: Given) -> bool:
    """Whether the import lies on another device than the CPU, by its own word or exported again.
    A consumer may support the devices of these two requirements."""
    if given.id not in ("DEV-07", "DEV-10"):
        return False
    try:
        if str(found.array.device).lower() not in {"", "cpu"}:
            return True
    except Exception:  # it has no such attribute
        pass
    try:
        return bool(found.read_fields()["device"][0] != CPU)
    except Exception:  # it is not exported again
        return False


def judge(found: Import, given: Given) -> tuple[bool, str]:
    """Whether the consumer handled the tensor correctly, and the observation."""
    if isinstance(found.error, SystemError):
        return False, f"{found}"
    if given.right == "refuse":
        if found.error is None and knows_device(found, given):
            raise NotApplicable(f"it knows that device type: {found}")
        return found.error is not None, f"{found}"
    if found.error is not None:
        if given.may_refuse:
            raise NotApplicable(f"it refuses: {found}")
        return given.right == "either", f"{found}"
    if given.is_handle:
        return handle_is_kept(given.fields, found.read_fields())
    held, content = right_content(found, given)
    return held, f"imported with {content}"


def offset_result(
    consumer: Consumer, found: Import, given: Given, shown: str
) -> CheckResult | None:
    """Whether byte_offset was kept beside a handle. None if nothing of it is exported again."""
    try:
        held = found.read_fields()
    except NotApplicable:
        return None
    result = consumer.make_result(*start_is_kept(given.fields, held), shown)
    return add_harm(result, WRONG_DATA)


def supports(consumer: Consumer, device_type: int) -> bool:
    """Whether the consumer's own arrays lie on that device type."""
    try:
        return bool(consumer.look(consumer.own()[1])["device"][0] == device_type)
    except NotApplicable:
        return False


def deleter_result(
    consumer: Consumer, producer: Producer, outcome: str, given: Given, first: int, shown: str
) -> CheckResult | None:
    """Whether the deleter of the tensor ran once after the import was dropped. None if the consumer
    took no capsule, or more than one."""
    if given.fields.get("deleter", True) is None:
        gc.collect()  # some libraries delete a tensor only now, and call NULL
        return None
    if len(producer.tensors) != 1:
        return None
    settle(lambda: producer.deleter_calls == 1)
    calls = producer.deleter_calls
    result = consumer.make_result(calls == 1, f"{calls} calls; {outcome}", shown)
    if calls > 1:
        return add_harm(result, DOUBLE_FREE)
    return result if calls else replace(result, at_exit=AtExit(first, 1))


def import_given(consumer: Consumer, given: Given, door: str = "") -> CheckResult:
    """Lets the consumer import one tensor of the corpus, and drops the result. With the door BARE
    it takes the capsule itself."""
    if consumer.subject.carrier and given.for_readers:
        raise NotApplicable(f"{consumer.subject.name} carries every dtype and device")
    if given.fields.get("versioned") is False and not consumer.takes_legacy:
        raise NotApplicable("it takes no legacy capsules")
    device_type = given.fields.get("device", (1, 0))[0]
    if device_type in HANDLES and supports(consumer, device_type):
        raise NotApplicable("its own arrays lie there, and no handle that the kit makes up is one")
    fields = given.fields
    producer, first = give(**fields), _adversary.made()
    found = consumer.take_bare(producer) if door else consumer.take(producer)
    if producer.unasked:
        if given.id != "VERS-02":
            raise NotApplicable("it asks for the legacy struct only")
        # The header's sentence binds the consumer of the capsule, whatever it asked for.
        fields = {**fields, "forced": True}
        producer = give(**fields)
        found = consumer.take(producer)
    outcome, shown = f"{found}", text(fields) + door
    held: bool | None
    try:
        held, observed = judge(found, given)
    except NotApplicable as reason:
        held, observed = None, str(reason)
    wrong_data = held is False and found.error is None and given.right != "refuse"
    parts: dict[str, CheckResult | None] = {}
    if given.is_handle:
        parts[offset_check(given, door)] = offset_result(consumer, found, given, shown)
    found.array = found.error = None
    parts[deleter_case(given, door)] = deleter_result(
        consumer, producer, outcome, given, first, shown
    )
    decided = {name: part for name, part in parts.items() if part is not None}
    if held is False and given.right == "import" and (limit := limit_of(consumer, given)):
        return CheckResult(None, limit, "", parts=decided)
    whole = consumer.make_result(held, observed, shown)
    if wrong_data:
        whole = add_harm(whole, WRONG_DATA)
    return replace(whole, parts=decided)


def limit_of(consumer: Consumer, given: Given) -> str:
    """Why the library cannot import this tensor for a reason that is not the case's: it refuses the
    plain tensor of the same shape, dtype and struct. Empty if it imports that one, or claims the
    array API, which leaves it no such limit."""
    if consumer.subject.array_api:
        return ""
    shape = given.fields.get("shape", (3,))
    shape = shape if isinstance(shape, tuple) else ()
    dtype, versioned = given.fields.get("dtype"), given.fields.get("versioned")
    same = {"dtype": dtype} if dtype else {}
    same |= {} if versioned is None else {"versioned": versioned}
    found = consumer.take(give(shape=shape, **same))
    if found.error is None:
        return ""
    axes = consumer.subject.axes
    declared = axes and len(shape) > axes
    known = (
        f"its adapter declares {axes} axes" if declared else "its adapter declares no such limit"
    )
    return f"it refuses a plain tensor of shape {shape}, too ({known}): {found}"


def deleter_case(given: Given, door: str) -> str:
    """The name of the check that counts the deleter calls of a tensor of the corpus."""
    return f"LIFE-03[consumer-{case_of(given.id, given.case, door)}]"


def offset_check(given: Given, door: str) -> str:
    """The name of the check that byte_offset is kept beside a handle."""
    return f"TENS-01[consumer-{'bare-' if door else ''}{given.case}]"


def case_of(name: str, case: str, door: str) -> str:
    """The case of LIFE-03 about a case of the corpus."""
    return f"{name}-{'bare-' if door else ''}{case}".lower()


def register_corpus(family: str) -> None:
    """Registers two checks for each tensor of a family: of an object, and of its bare capsule."""
    for given in GIVEN:
        if given.id.partition("-")[0] == family:
            register(given, "")
            register(given, BARE)


def register(given: Given, door: str) -> None:
    """Registers the check of one tensor. Where the tensor has a deleter, the trial also shows
    LIFE-03: the deleter is called exactly once."""

    def probe(consumer: Consumer) -> CheckResult:
        return import_given(consumer, given, door)

    case = f"bare-{given.case}" if door else given.case
    whole = Check(
        given.id,
        case,
        Role.CONSUMER,
        given.expected,
        probe,
        risky=True,
        level=Level(given.level) if given.level else None,
        provoked=provoked(given.fields),
        same_as=(f"{given.id}[consumer-{given.case}]",) if door else (),
        rules=given.rules,
    )
    add(whole)
    if given.is_handle:
        same = (offset_check(given, ""),) if door else ()
        add(replace(whole, id="TENS-01", expected=OFFSET_KEPT, same_as=same, part_of=whole.name))
    if given.fields.get("deleter", True) is None:
        return
    expected = f"{given.expected.partition(':')[0]}: the deleter is called exactly once"
    same = (deleter_case(given, ""),) if door else ()
    part = replace(whole, id="LIFE-03", expected=expected, level=None, same_as=same)
    add(replace(part, case=case_of(given.id, given.case, door), part_of=whole.name))
