"""CAPI checks of the table's functions on arrays of every kind and dtype: fields and elements.

from_py and dltensor_from_py are compared with what the library says of its array, to_py with the
tensor that it was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from refarray.conformance.cases import (
    DOUBLE_FREE,
    WRONG_DATA,
    Check,
    CheckResult,
    NotApplicable,
    about,
    add,
    add_harm,
    check_cases,
    describe_error,
    subject_code,
)
from refarray.conformance.dlpack import HOST_READABLE, READ_ONLY
from refarray.conformance.harness import memory
from refarray.conformance.harness.consumer import text as give_text
from refarray.conformance.harness.producer import Export, Producer
from refarray.conformance.harness.statement import read_values, statement
from refarray.conformance.requirements import Role
from refarray.conformance.suite.consumer_kinds import NEGATIVE, TENSORS, Sent
from refarray.conformance.suite.exchange_api.table_from_py import FROM_PY, export_by
from refarray.conformance.suite.exchange_table import attempt, table_result, table_with, tensor
from refarray.conformance.suite.producer.tensors_read import (
    CANNOT_BE_DESCRIBED,
    PENDING,
    SOURCES,
    WITHOUT_MEMORY,
    Source,
)
from refarray.conformance.suite.reading import Reading, Verdict

FUNCTIONS = {"from_py": "CAPI-14", "dltensor": "CAPI-15"}
"""Member of the table → the requirement on the tensor that it gives."""
PARTS = ("layout", "dtype", "device", "shared", "flags")


def describe(producer: Producer, function: str, array: Any) -> tuple[Any, Mapping[str, Any]]:
    """The tensor that a function of the table gives, kept alive, and its fields. NotApplicable if
    it refuses, or gives a struct of an unknown version."""
    api = table_with(producer, function)
    if function == "from_py":
        return export_by(api, array)
    try:
        fields = api.dltensor(array)
    except AssertionError:  # the native caller saw a broken contract
        raise
    except Exception as error:
        raise NotApplicable(f"{function} refuses: {describe_error(error)}") from error
    return fields, fields


def judge(
    producer: Producer, source: Source, reading: Reading, array: Any, plain: Export
) -> dict[str, Verdict]:
    """The verdict on each of PARTS that can be judged."""
    announced = producer.device(array)
    device = tuple(reading.fields["device"])
    out = {
        "layout": reading.judge_layout(),
        "dtype": reading.judge_dtype(),
        "device": (device == announced, f"{device}; __dlpack_device__() returns {announced}"),
    }
    if plain.error is None and memory.elements(reading.said.shape):
        addresses = f"{reading.address:#x}, from __dlpack__ {plain.address:#x}"
        out["shared"] = (reading.address == plain.address, addresses)
    flags, writable = reading.fields.get("flags"), source.writable(producer)
    if flags is not None and writable is not None:
        # As __dlpack__ of the same array, if it has flags: FLAG-02 judges that.
        right = READ_ONLY * (not writable)
        if plain.error is None and plain.versioned:
            right = plain.flags
        out["flags"] = (flags == right, f"flags {flags:#x}")
    return out


def read_table(
    function: str, source: Source, names: Mapping[str, str], producer: Producer
) -> CheckResult:
    """Reads what one function of the table gives for an array. `names`: part → its check."""
    text = source.text(producer)
    array = producer.make(text)
    if producer.device(array)[0] not in HOST_READABLE:
        raise NotApplicable("its data cannot be read from the host")
    source = source.of(array)
    kept, fields = describe(producer, function, array)
    plain = producer.export(text, array, max_version=(1, 3))
    promised = source.promised(producer)
    said = statement(producer.subject, producer.namespace, array, source.dtype, promised)
    reading = Reading(fields, said, source.triple)
    line = f"print(api.{function}({text}){'.fields()' if function == 'from_py' else ''})"
    held, observed = reading.judge_values()
    parts = {
        names[part]: table_result(producer, *verdict, line)
        for part, verdict in judge(producer, source, reading, array, plain).items()
        if part in names
    }
    del kept
    whole = add_harm(table_result(producer, held, observed, line), WRONG_DATA)
    return replace(whole, parts=parts)


def register(function: str, source: Source) -> None:
    """Registers the trial of one array, and its parts."""
    name, role = FUNCTIONS[function], Role.EXCHANGE_API
    case = f"{function}-{source.name}"
    names: dict[str, str] = {}

    def probe(producer: Producer) -> CheckResult:
        return read_table(function, source, names, producer)

    expected = f"every element that {function} gives has the library's own value"
    whole = add(Check(name, f"{case}-values", role, expected, probe))
    for part in PARTS:
        if part == "flags" and function == "dltensor":
            continue
        expected = f"{function}: the {part} is the array's"
        each = Check(name, f"{case}-{part}", role, expected, probe, part_of=whole.name)
        names[part] = add(each).name


for _function in FUNCTIONS:
    for _source in SOURCES.values():
        register(_function, _source)


@check_cases(
    "CAPI-10",
    {name: (name, TENSORS[name]) for name in NEGATIVE[:1]},
    "to_py of negative strides: the right values or an exception, no crash",
    risky=True,
    level="HAZARD",  # the sentence on exceptions stands at the other functions, not at to_py
    same_as="TENS-12[consumer-negative]",
)
@check_cases(
    "CAPI-17",
    {name: (name, sent) for name, sent in TENSORS.items() if name not in NEGATIVE},
    "to_py gives an array whose every element is the tensor's",
)
def to_py_keeps_values(producer: Producer, row: tuple[str, Sent]) -> CheckResult:
    name, sent = row
    api = table_with(producer, "to_py")
    given = tensor(**sent.fields)
    line = f"print(api.to_py({give_text(sent.fields).replace('give', '_adversary.make', 1)}))"
    about(table_result(producer, True, "", line).repro)
    try:
        made = api.to_py(given)
    except Exception as error:
        raise NotApplicable(f"to_py refuses: {describe_error(error)}") from error
    early = given.deleter_calls and name in producer.subject.arrays
    found = read_values(producer.subject, producer.namespace, made, sent.dtype)
    held = found == sent.values
    observed = f"values {memory.brief(found)}"
    if not held:
        observed += f" of {memory.brief(sent.values)}"
    del made
    if not held:
        return add_harm(table_result(producer, held, observed, line), WRONG_DATA)
    if name in NEGATIVE:  # CAPI-17 counts the deleter calls
        return table_result(producer, held, observed, line)
    if early:
        held, observed = False, "copied: the deleter was called while the array lives"
    if held and given.deleter_calls != 1:
        held, observed = False, f"{given.deleter_calls} deleter calls after its destruction"
    result = table_result(producer, held, observed, line)
    return add_harm(result, DOUBLE_FREE) if given.deleter_calls > 1 else result


# --- arrays in unusual states


REFUSED = ("unexportable", "sparse", "conjugate", *WITHOUT_MEMORY, *CANNOT_BE_DESCRIBED)
"""The kinds of arrays that __dlpack__ may refuse."""


INDESCRIBABLE = (
    *("unaligned-strides", "unexportable", "sparse", "swapped"),
    *(kind for kind in CANNOT_BE_DESCRIBED if kind != "gradient"),
)
"""The kinds of arrays that no DLTensor describes."""


@check_cases(
    "CAPI-11",
    {f"class-{kind}": kind for kind in INDESCRIBABLE},
    "{value}: what from_py cannot describe is a BufferError",
    risky=True,
    level="SHOULD",  # "should be a BufferError if possible"
)
def class_of_refusal(producer: Producer, kind: str) -> CheckResult:
    text, array = producer.own(kind)
    api = table_with(producer, "from_py")
    try:
        owned = api.from_py(array)
    except Exception as error:
        refusal = error.__cause__ if isinstance(error, AssertionError) else error
        if refusal is None:
            raise NotApplicable(f"CAPI-09 judges it: {error}") from error
        right, line = isinstance(refusal, BufferError), FROM_PY.format(text=text)
        return table_result(producer, right, describe_error(refusal), line)
    with subject_code():
        owned.drop()
    raise NotApplicable("it is exported: CAPI-31 judges that")


@check_cases("CAPI-31", REFUSED, "from_py refuses what __dlpack__ refuses", risky=True)
def from_py_refuses_as_dlpack(producer: Producer, kind: str) -> CheckResult:
    text = producer.text(kind)
    api = table_with(producer, "from_py")
    refusal = producer.ask(text, max_version=(1, 3)).error
    if refusal is None:
        raise NotApplicable(f"__dlpack__ of {text} exports")
    array = producer.make(text)
    line = FROM_PY.format(text=text)
    owned = attempt(api.from_py, array)
    if isinstance(owned, Exception):
        return table_result(producer, True, describe_error(owned), line)
    with subject_code():
        owned.drop()
    return table_result(producer, False, f"exported; __dlpack__: {describe_error(refusal)}", line)


@check_cases(
    "CAPI-14",
    {f"pending-{kind}": kind for kind in PENDING},
    "from_py of {value} values: every element is right, or it is refused",
    same_as="TENS-01[producer-versioned-{value}]",
)
def from_py_of_pending_values(producer: Producer, kind: str) -> CheckResult:
    text, array = producer.own(kind)
    name, triple = PENDING[kind]
    api = table_with(producer, "from_py")
    line = FROM_PY.format(text=text)
    owned = attempt(api.from_py, array)
    if isinstance(owned, Exception):
        return table_result(producer, True, describe_error(owned), line)
    said = statement(producer.subject, producer.namespace, array, name)
    held, observed = Reading(owned.fields(), said, triple).judge_values()
    return add_harm(table_result(producer, held, observed, line), WRONG_DATA)
