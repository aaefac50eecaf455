"""PROD checks of a producer: the signature of `__dlpack__`, its keywords and its exceptions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    check,
    check_cases,
    describe_error,
    subject_code,
)
from refarray.conformance.gpu.device_fixture import DeviceFixture
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.requirements import Level
from refarray.conformance.suite.exports import export_kind
from refarray.conformance.suite.on_devices import (
    check_on_devices,
    export_for,
    handle_of,
    is_copied_on,
    is_member,
)
from refarray.conformance.suite.producer.tensors_read import (
    CANNOT_BE_DESCRIBED,
    MAY_BE_EXPORTED,
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
    if export.held is not None and export["strides"] == (0,):
        raise NotApplicable("its copy is one value, too, which has memory")
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


STATES = (*CANNOT_BE_DESCRIBED, *WITHOUT_MEMORY[:4], *MAY_BE_EXPORTED)


@check_cases(
    "PROD-04",
    {f"state-{kind}": kind for kind in STATES},
    "{value}: what cannot be exported is a BufferError",
)
def class_of_refusal(producer: Producer, kind: str) -> CheckResult:
    export = export_state(producer, kind)
    if export.error is None and kind not in CANNOT_BE_DESCRIBED:
        raise NotApplicable("it is exported: TENS-17 judges arrays without memory")
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


# --- the keyword copy


def copy_is_new_memory(
    producer: Producer, keywords: dict[str, Any], refusal: Level | None = None
) -> CheckResult:
    """`refusal`: the level at which a BufferError is judged."""
    text, array = producer.own()
    plain = producer.export(text, array, **keywords).require()
    copy = producer.export(text, array, copy=True, **keywords)
    if copy.error is not None:
        refused = isinstance(copy.error, BufferError)
        return replace(producer.make_result(False, copy), level=refusal if refused else None)
    held = plain.address != copy.address
    observed = "its own memory" if held else "the array's own memory"
    return producer.make_result(held, copy, observed, beside=plain)


@check("PROD-11", "versioned", "copy=True gives memory of its own")
def copy_true(producer: Producer) -> CheckResult:
    return copy_is_new_memory(producer, VERSIONED)


@check_cases(
    "PROD-16",
    {"legacy": {}, "legacy-asked": {"max_version": (0, 8)}},
    "copy=True gives memory of its own",
    same_as="PROD-11[producer-versioned]",
)
def copy_true_legacy(producer: Producer, keywords: dict[str, Any]) -> CheckResult:
    # A copy has to be flagged, and the legacy struct has no flags: a producer may refuse.
    return copy_is_new_memory(producer, keywords, refusal=Level.DISPUTED)


@check_cases(
    "PROD-12",
    ("plain", "strided", "transposed"),
    "copy=False gives the array's own memory, or BufferError",
)
def copy_false(producer: Producer, kind: str) -> CheckResult:
    text, array = producer.own(kind)
    export_kind(producer, kind)  # NotApplicable if this kind cannot be exported at all
    export, again = (producer.export(text, array, copy=False, **VERSIONED) for _ in range(2))
    if export.error is not None:
        return producer.make_result(isinstance(export.error, BufferError), export)
    plain = producer.export(text, array, **VERSIONED)
    held = export.address in {plain.address, again.address}
    return producer.make_result(
        held, export, "the same memory" if held else "other memory", beside=plain
    )


@check("PROD-13", "none", "copy=None shares memory that can be shared")
def copy_none(producer: Producer) -> CheckResult:
    text, array = producer.own()
    first = producer.export(text, array, copy=None, **VERSIONED)
    if first.error is not None:
        return producer.make_result(False, first)
    second = producer.export(text, array, copy=None, **VERSIONED)
    observed = f"{first.address:#x} and {second.address:#x}"
    return producer.make_result(first.address == second.address, first, observed, beside=second)


@check_on_devices("PROD-14", "copy", "copy=True copies in the stream that is passed")
def copy_in_stream(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    array = fixture.array()
    source = export_for(producer, fixture, array, -1)
    stream = fixture.foreign()
    held, observed = is_copied_on(
        fixture,
        stream,
        source.address,
        lambda: export_for(producer, fixture, array, stream, copy=True),
    )
    call = f"c = x.__dlpack__(stream={handle_of(fixture)}, copy=True, max_version=(1, 3))"
    return CheckResult(held, observed, fixture.repro_pending(call))


MALFORMED_COPIES: dict[str, Any] = {"one": 1, "text": "no", "list": []}


@check_cases("PROD-15", MALFORMED_COPIES, "copy={value!r} is a TypeError or a ValueError")
def malformed_copy(producer: Producer, copy: Any) -> CheckResult:
    export = producer.export(producer.text(), copy=copy, **VERSIONED)
    return producer.make_result(isinstance(export.error, TypeError | ValueError), export)


# --- the keyword dl_device


def if_known(producer: Producer, export: Export) -> Export:
    """The export. NotApplicable for the TypeError of a producer that does not know dl_device at all
    (PROD-01 judges that), or that takes members of its own enumeration but no ints."""
    if isinstance(export.error, TypeError):
        text = producer.text()
        if isinstance(producer.export(text, dl_device=None).error, TypeError):
            raise NotApplicable("it does not know dl_device: PROD-01 judges that")
        array = producer.make(text)
        own = producer.ask_device(array)
        enumeration = isinstance(own, tuple) and own and is_member(own[0])
        if enumeration and producer.export(text, array, dl_device=own).error is None:
            raise NotApplicable("it takes members of its own enumeration, and no ints")
    return export


@check(
    "PROD-06",
    "own-device",
    "dl_device equal to __dlpack_device__() is served",
    level="SHOULD",  # no sentence says that what None gives is served by its name, too
)
def own_device(producer: Producer) -> CheckResult:
    text, array = producer.own()
    own = producer.device(array)
    export = if_known(producer, producer.export(text, array, dl_device=own, **VERSIONED))
    return producer.make_result(export.held is not None and tuple(export["device"]) == own, export)


UNSERVED = {"vpi": (9, 0), "no-such-gpu": (2, 2**30), "second-cpu": (1, 1), "unknown-type": (99, 0)}


@check_cases(
    "PROD-06",
    {
        f"{case}{way}": (device, keywords)
        for way, keywords in {"": VERSIONED, "-legacy": {}}.items()
        for case, device in UNSERVED.items()
    },
    "dl_device={value[0]}, which it cannot serve, is a BufferError",
    # The header gives every CPU the id 0; the texts do not say what another id asks for.
    level=dict.fromkeys(("second-cpu", "second-cpu-legacy"), "DISPUTED"),
)
def unserved_device(producer: Producer, row: tuple[tuple[int, int], dict[str, Any]]) -> CheckResult:
    device, keywords = row
    export = producer.export(producer.text(), dl_device=device, **keywords)
    export = if_known(producer, export)
    return producer.make_result(isinstance(export.error, BufferError), export)


WITHOUT_COPY = {"own": (1, 0), "other": (2, 0)}


@check_cases(
    "PROD-12",
    {
        f"{case}-device{way}": (device, keywords)
        for way, keywords in {"": VERSIONED, "-legacy": {}}.items()
        for case, device in WITHOUT_COPY.items()
    },
    "copy=False with dl_device={value[0]}: the array's own memory, or BufferError",
)
def copy_false_to_device(
    producer: Producer, row: tuple[tuple[int, int], dict[str, Any]]
) -> CheckResult:
    device, keywords = row
    text, array = producer.own()
    if producer.device(array) != WITHOUT_COPY["own"]:
        raise NotApplicable(f"its arrays lie on {producer.device(array)}")
    plain = producer.export(text, array, **keywords).require()
    export = if_known(
        producer, producer.export(text, array, dl_device=device, copy=False, **keywords)
    )
    if export.error is not None:
        refused = isinstance(export.error, BufferError)
        whatever = producer.export(text, array, dl_device=device, **keywords)
        if not refused and type(whatever.error) is type(export.error):
            raise NotApplicable(f"PROD-06 judges it: {export}, whatever copy is")
        wrong = "isinstance(saw, BaseException) and not isinstance(saw, BufferError)"
        return replace(producer.make_result(refused, export), wrong=wrong)
    return producer.make_result(export.address == plain.address, export, beside=plain)


MALFORMED_DEVICES: dict[str, Any] = {
    "list": [1, 0],
    "one": (1,),
    "text": "cpu",
    "none": (None, 0),
    "int": 1,
}


@check_cases("PROD-07", MALFORMED_DEVICES, "dl_device={value!r} is a TypeError or a ValueError")
def malformed_device(producer: Producer, device: Any) -> CheckResult:
    export = producer.export(producer.text(), dl_device=device, **VERSIONED)
    return producer.make_result(isinstance(export.error, TypeError | ValueError), export)


@check("PROD-08", "cpu", "dl_device=(1, 0) is served: every array can be exported to the CPU")
def cpu_device(producer: Producer) -> CheckResult:
    export = producer.export(producer.text(), dl_device=(1, 0), **VERSIONED)
    export = if_known(producer, export)
    if export.error is not None and producer.device(producer.own()[1]) == (1, 0):
        raise NotApplicable("its exports are there without dl_device, which PROD-06 judges")
    return producer.make_result(
        export.held is not None and tuple(export["device"]) == (1, 0), export
    )


@check_on_devices("PROD-09", "copy-False", "to the host with copy=False: BufferError")
def to_host_without_copy(fixture: DeviceFixture, producer: Producer) -> CheckResult:
    keywords = {"dl_device": (1, 0), "copy": False, **VERSIONED}
    export = producer.export(fixture.text(), fixture.array(), **keywords)
    held = isinstance(export.error, BufferError)
    return CheckResult(held, f"{export}", fixture.repro(f"print({export.call})"))


def require_no_stream(producer: Producer, stream: int) -> None:
    """NotApplicable if a stream is accepted for host memory even without dl_device: STRM-14 judges
    that."""
    if producer.export(producer.text(), stream=stream, **VERSIONED).error is None:
        raise NotApplicable(f"it takes stream={stream} without dl_device, too")


@check("PROD-10", "stream", "dl_device on the CPU with a stream is an exception")
def cpu_device_with_stream(producer: Producer) -> CheckResult:
    require_no_stream(producer, 1)
    export = producer.export(producer.text(), dl_device=(1, 0), stream=1, **VERSIONED)
    return producer.make_result(export.error is not None, export)
