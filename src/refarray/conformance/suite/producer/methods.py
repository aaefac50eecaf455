"""PROD checks of a producer: the signature of `__dlpack__` and its exceptions.

The keywords dl_device and copy are in methods_dl_device.py and methods_copy.py.
"""

from __future__ import annotations

from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    check_cases,
    subject_code,
)
from refarray.conformance.harness.producer import VERSIONED, Producer, describe_error
from refarray.conformance.requirements import Level
from refarray.conformance.suite.producer.tensors_states import (
    CANNOT_BE_DESCRIBED,
    WITHOUT_MEMORY,
    export_state,
)
from refarray.conformance.suite.signatures import KEYWORDS

HUGE = 1 << 45  # float32 elements: more than an address space holds


@check("PROD-01", "positional", "__dlpack__ takes no positional arguments: TypeError")
def no_positional_arguments(producer: Producer) -> CheckResult:
    text, array = producer.own()
    repro = producer.repro(f"print({text}.__dlpack__(None))")
    # Only the array API makes them keyword-only.
    level = None if producer.subject.array_api else Level.HAZARD
    try:
        type(array).__dlpack__(array, None)
    except Exception as error:
        return CheckResult(isinstance(error, TypeError), describe_error(error), repro, level=level)
    return CheckResult(False, "accepted", repro, level=level)


@check_cases(
    "PROD-01",
    {f"keyword-{name}": name for name in KEYWORDS},
    "__dlpack__ takes the keyword {value}, None by default",
)
def keyword_is_accepted(producer: Producer, name: str) -> CheckResult:
    export = producer.export(producer.text(), **{name: None})
    if isinstance(export.error, BufferError):  # it may refuse the legacy struct
        export = producer.export(producer.text(), **{**VERSIONED, name: None})
    return producer.make_result(export.held is not None, export)


@check(
    "PROD-02",
    "unknown-keyword",
    "an unknown keyword is a TypeError: consumers recognise old producers by it",
)
def unknown_keyword(producer: Producer) -> CheckResult:
    export = producer.export(producer.text(), no_such_keyword=1)
    return producer.make_result(isinstance(export.error, TypeError), export)


FIELDS = ("name", "data", "device", "dtype", "shape", "strides", "byte_offset", "flags")


@check("PROD-03", "defaults", "passing every default explicitly equals passing nothing")
def explicit_defaults(producer: Producer) -> CheckResult:
    text, array = producer.own()
    bare = producer.export(text, array)
    full = producer.export(text, array, **dict.fromkeys(KEYWORDS))
    if bare.held is None or full.held is None:
        held = type(bare.error) is type(full.error) and bare.held is full.held
    else:
        held = all(bare[field] == full[field] for field in FIELDS)
    return producer.make_result(held, full, f"bare: {bare}; every default: {full}")


@check("PROD-04", "unexportable", "data that DLPack cannot represent is a BufferError")
def unexportable_data(producer: Producer) -> CheckResult:
    export = producer.ask(producer.text("unexportable"), **VERSIONED)
    return producer.make_result(isinstance(export.error, BufferError), export)


@check(
    "PROD-05",
    "no-memory",
    "a copy that no memory can hold is an exception of its own kind, not a SystemError",
    risky=True,
)
def copy_without_memory(producer: Producer) -> CheckResult:
    text = producer.text("broadcast")
    huge = text.replace("(3,)", f"({HUGE},)")
    if huge == text:
        raise NotApplicable("no way to make an array of that size is known")
    export = producer.export(huge, copy=True, **VERSIONED)
    held = export.error is not None and not isinstance(export.error, SystemError)
    return producer.make_result(held, export)


@check("PROD-17", "pure", "an export does not change the array: a second one is equal")
def export_does_not_change_the_array(producer: Producer) -> CheckResult:
    text, array = producer.own("strided" if "strided" in producer.subject.arrays else "plain")
    exports = [producer.export(text, array, **VERSIONED) for _ in range(2)]
    first, second = (
        tuple(each[field] for field in ("shape", "strides", "dtype", "device")) for each in exports
    )
    return producer.make_result(first == second, exports[0], f"{first}, then {second}")


@check("PROD-18", "subclass", "an instance of a subclass exports as its base does")
def subclass_is_exported(producer: Producer) -> CheckResult:
    if not producer.subject.subclass:
        raise NotApplicable(f"the arrays of {producer.subject.name} are not subclassed")
    text, array = producer.own()
    with subject_code():
        kind = type("Sub", (type(array),), {})
        for make in ("as_subclass", "view"):
            if hasattr(array, make):
                made = getattr(array, make)(kind)
                break
        else:
            raise NotApplicable("no way to make an instance of a subclass is known")
    expression = f"{text}.{make}(type('Sub', (type({text}),), {{}}))"
    export = producer.export(expression, made, **VERSIONED)
    return producer.make_result(export.held is not None, export)


@check_cases(
    "PROD-04",
    {f"state-{kind}": kind for kind in (*CANNOT_BE_DESCRIBED, *WITHOUT_MEMORY[:4])},
    "{value}: what cannot be exported is a BufferError",
)
def class_of_refusal(producer: Producer, kind: str) -> CheckResult:
    export = export_state(producer, kind)
    if export.error is None and kind in WITHOUT_MEMORY:
        raise NotApplicable("it is exported: TENS-17 judges that")
    return producer.make_result(isinstance(export.error, BufferError), export)


@check_cases(
    "PROD-04",
    {"state-masked": "masked"},
    "masked values are refused: a DLTensor has no mask",
    level="HAZARD",  # the texts know no masks
)
def mask_is_not_dropped(producer: Producer, kind: str) -> CheckResult:
    export = export_state(producer, kind)
    return producer.make_result(export.error is not None, export)
