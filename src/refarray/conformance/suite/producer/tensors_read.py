"""TENS-01 of a producer, on arrays of every kind and dtype: each element reads as the library says.

The same trial decides the layout (ABI-05), the dtype (DTYPE), the device (DEV-03), the flags (FLAG)
and the sharing (TENS-18) of that export, each as a check of its own. Arrays in unusual states come
first: values that are not computed yet, arrays without memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from refarray.conformance.cases import (
    WRONG_DATA,
    Check,
    CheckResult,
    NotApplicable,
    add,
    add_harm,
    check_cases,
)
from refarray.conformance.dlpack import (
    CPU,
    HOST_READABLE,
    IS_COPIED,
    KNOWN_FLAGS,
    READ_ONLY,
    SUBBYTE_PADDED,
)
from refarray.conformance.harness import memory
from refarray.conformance.harness.memory import Dtype, Unreadable
from refarray.conformance.harness.producer import VERSIONED, Export, Producer
from refarray.conformance.harness.statement import statement
from refarray.conformance.requirements import Role
from refarray.conformance.subjects import promises
from refarray.conformance.suite.exports import LAYOUTS
from refarray.conformance.suite.producer.dtypes import TRIPLES, WAYS
from refarray.conformance.suite.reading import Reading, Verdict

PENDING: dict[str, tuple[str, memory.Dtype]] = {
    "conjugate": ("complex64", (5, 64, 1)),
    "negative": ("float32", (2, 32, 1)),
}
"""Arrays whose values differ from their memory → their dtype."""
WITHOUT_MEMORY = ("meta", "fake", "functional", "wrapper", "zeros", "freed", "traced")
"""Arrays that have no memory to export."""
CANNOT_BE_DESCRIBED = (
    *("quantized", "nested", "sparse-rows", "sharded", "object", "text", "time", "records"),
    *("long-double", "nulls", "bits", "gradient"),
)
"""Data that no DLTensor describes, or that the library does not export."""
MAY_BE_EXPORTED = ("nibbles", "batched", "dual")
"""Data that a DLTensor describes, and that a library may refuse."""


def export_state(producer: Producer, kind: str) -> Export:
    sizes = (ctypes.sizeof(each) for each in (ctypes.c_longdouble, ctypes.c_double))
    if kind == "long-double" and len({*sizes}) == 1:
        raise NotApplicable("a long double is a double on this system")
    return producer.ask(producer.text(kind), **VERSIONED)


@check_cases(
    "TENS-01",
    {f"{way}-{kind}": (way, kind) for kind in PENDING for way in ("versioned", "legacy")},
    "{value[1]}: every element has the library's own value, or the export is refused",
)
def pending_values(producer: Producer, row: tuple[str, str]) -> CheckResult:
    way, kind = row
    name, triple = PENDING[kind]
    text, array = producer.own(kind)
    export = producer.export(text, array, **WAYS[way])
    if export.error is not None:
        return producer.make_result(True, export)
    if export["device"][0] not in HOST_READABLE:
        raise NotApplicable("its data cannot be read from the host")
    assert export.held is not None
    said = statement(producer.subject, producer.namespace, array, name)
    held, observed = Reading(export.held, said, triple).judge_values()
    return add_harm(producer.read_by_numpy(export, held, observed), WRONG_DATA)


@check_cases(
    "TENS-17",
    {f"no-memory-{kind}": kind for kind in WITHOUT_MEMORY},
    "{value}: an array without memory is refused",
    risky=True,
)
def no_memory(producer: Producer, kind: str) -> CheckResult:
    export = export_state(producer, kind)
    if export.held is None:
        return producer.make_result(export.error is not None, export)
    if memory.elements(tuple(export["shape"] or ())) == 0:
        raise NotApplicable("it exports no elements")
    try:
        memory.read(export.address, memory.width(tuple(export["dtype"])))
        what = "memory"
    except Unreadable as error:
        what = f"{error}"
    observed = f"exported with shape {tuple(export['shape'] or ())} at {export.address:#x}: {what}"
    if export.address:
        return add_harm(producer.make_result(False, export, observed, field="data"), WRONG_DATA)
    result = producer.read_bytes(export, False, observed, b"")
    return add_harm(replace(result, wrong="saw == 'NULL'"), WRONG_DATA)


# --- arrays of every kind and dtype


READ_WAYS: dict[str, dict[str, Any]] = {**WAYS, "to-cpu": {**VERSIONED, "dl_device": (CPU, 0)}}
"""The ways of an export that is read → its keywords."""
READ_KINDS = (
    *LAYOUTS,
    *("offset", "inner", "permuted", "odd", "readonly", "readonly-strided"),
)
"""The kinds of arrays whose exports are read."""
PROTECTED = ("readonly", "readonly-strided")


@dataclass(frozen=True)
class Source:
    """An array to read: of a kind, or of a dtype."""

    name: str
    dtype: str = "float32"
    typed: bool = False

    def text(self, producer: Producer) -> str:
        """Its expression. NotApplicable if the subject has no such arrays."""
        return producer.ramp(self.dtype) if self.typed else producer.text(self.name)

    def promised(self, producer: Producer) -> Any:
        """The values that the adapter promises; None if it does not."""
        if not producer.usual:
            return None
        if self.typed:
            return promises.values_of_dtype(self.dtype, bool(producer.subject.ramp))
        return promises.VALUES.get(self.name)

    def of(self, array: Any) -> Source:
        """This source with the dtype that the array names, where the kind promises none."""
        named = promises.dtype_named(array)
        free = not self.typed and (self.name in promises.ONE_VALUE or "empty" in self.name)
        return replace(self, dtype=named) if free and named in TRIPLES else self

    @property
    def triple(self) -> Dtype:
        _, code, bits = TRIPLES[self.dtype]
        return (code, bits, 1)

    @property
    def about_dtype(self) -> str:
        return TRIPLES[self.dtype][0]

    def writable(self, producer: Producer) -> bool | None:
        """Whether it may be written; None if the adapter does not tell."""
        if self.name in PROTECTED or producer.subject.immutable:
            return False
        return None if self.name == "broadcast" else True  # some libraries broadcast read-only


SOURCES = {
    each.name: each
    for each in (
        *(Source(kind) for kind in READ_KINDS),
        *(Source(dtype, dtype, typed=True) for dtype in TRIPLES),
    )
}


@dataclass(frozen=True)
class Trial:
    """One export, beside the array and what the library says of it."""

    producer: Producer
    source: Source
    text: str
    array: Any
    export: Export
    again: Export
    reading: Reading

    @property
    def on_host(self) -> bool:
        """Whether the host can read the memory, according to __dlpack_device__."""
        return self.producer.device(self.array)[0] in HOST_READABLE

    @property
    def shared(self) -> bool:
        """Whether two exports show the same memory."""
        return self.export.address == self.again.address

    def wrote(self) -> bool | None:
        """Whether the library sees what is written to the first element of the export; the old
        value is restored. None if nothing may be written."""
        reading = self.reading
        if not self.source.writable(self.producer) or memory.elements(reading.said.shape) == 0:
            return None
        if not self.on_host:
            return None
        if self.export.versioned and self.export.flags & READ_ONLY:
            return None
        if not reading.judge_values()[0]:
            return None  # not the array's memory: see TENS-01
        old = memory.read(reading.address, memory.width(reading.dtype))
        new = reading.first_differs()
        try:
            memory.write(reading.address, new)
            try:
                now = statement(
                    self.producer.subject, self.producer.namespace, self.array, self.source.dtype
                )
            finally:
                memory.write(reading.address, old)
        except Unreadable:
            return False
        except NotApplicable:  # the library does not tell its values
            return None
        return bool(next(memory.flat(now.values)) == memory.decode(new, reading.dtype))


def export_twice(producer: Producer, source: Source, keywords: dict[str, Any]) -> Trial:
    """Exports an array twice. NotApplicable if the producer refuses: other checks judge that."""
    text = source.text(producer)
    array = producer.make(text)
    source = source.of(array)
    promised = source.promised(producer)
    said = statement(producer.subject, producer.namespace, array, source.dtype, promised)
    export, again = (producer.export(text, array, **keywords).require() for _ in range(2))
    assert export.held is not None
    copied = export.address != again.address or (export.versioned and export.flags & IS_COPIED)
    if copied:  # it has strides of its own
        said = replace(said, strides=None)
    return Trial(
        producer, source, text, array, export, again, Reading(export.held, said, source.triple)
    )


def layout_is_right(trial: Trial) -> Verdict | None:
    """ABI-05."""
    if not trial.on_host and trial.reading.said.strides is None:
        return None
    if trial.export["ndim"] and trial.export["shape"] is None:
        return None  # TENS-08
    shape, layout = trial.reading.shape, (trial.source.name, trial.export.versioned)
    if layout == ("plain", True) and shape != trial.reading.said.shape:
        return None  # ABI-01
    return trial.reading.judge_layout()


def device_is_announced(trial: Trial) -> Verdict | None:
    """DEV-03."""
    announced = trial.producer.device(trial.array)
    found = tuple(trial.export["device"])
    return found == announced, f"{found}; __dlpack_device__() returns {announced}"


def flags_are_known(trial: Trial) -> Verdict | None:
    """FLAG-01."""
    flags = trial.export.flags
    return flags & ~KNOWN_FLAGS == 0, f"flags {flags:#x}"


def read_only_is_right(trial: Trial) -> Verdict | None:
    """FLAG-02."""
    writable = trial.source.writable(trial.producer)
    if writable is None or (writable is False and trial.producer.subject.immutable):
        return None  # an immutable library's copies may be writable: the other checks judge it
    flags = trial.export.flags
    return bool(flags & READ_ONLY) is not writable, f"flags {flags}"


def judge_copied_flag(trial: Trial) -> Verdict | None:
    """FLAG-04."""
    if not trial.shared:
        return None  # it was copied: TENS-18
    flags = trial.export.flags
    return not flags & IS_COPIED, f"flags {flags}"


def judge_padded_flag(trial: Trial) -> Verdict | None:
    """FLAG-07."""
    flags = trial.export.flags
    return not flags & SUBBYTE_PADDED, f"flags {flags}"


def memory_is_shared(trial: Trial) -> Verdict | None:
    """TENS-18."""
    if memory.elements(trial.reading.said.shape) == 0:
        return None
    if not trial.shared:
        return False, f"two exports at {trial.export.address:#x} and {trial.again.address:#x}"
    if trial.export.versioned and trial.export.flags & IS_COPIED:
        return None  # said to be a copy: FLAG-04
    if trial.wrote() is False:
        return False, "the array does not see what was written to the export"
    return True, "shared"


Judge = Callable[[Trial], Verdict | None]
"""The verdict on a part of a trial; None: nothing to judge."""
EITHER: dict[str, tuple[str, Judge, str]] = {
    "ABI-05": (
        "shape and strides are the array's",
        layout_is_right,
        "strides",
    ),
    "DTYPE": ("the dtype is the array's", lambda it: it.reading.judge_dtype(), "code"),
    "DEV-03": ("the struct's device is the announced one", device_is_announced, "device_type"),
    "TENS-18": ("exports share the array's memory", memory_is_shared, "data"),
}
"""Parts of both structs: requirement → (expected, judge, the field that a repro shows)."""
VERSIONED_ONLY: dict[str, tuple[str, Judge, str]] = {
    "FLAG-01": ("no undefined flag bit is set", flags_are_known, "flags"),
    "FLAG-02": ("READ_ONLY is set exactly on protected data", read_only_is_right, "flags"),
    "FLAG-04": ("IS_COPIED is clear where nothing was copied", judge_copied_flag, "flags"),
    "FLAG-07": ("the padded flag is clear: no element is below a byte", judge_padded_flag, "flags"),
}


def read_export(way: str, source: Source, names: dict[str, str], producer: Producer) -> CheckResult:
    """Reads one export. `names`: row of EITHER or VERSIONED_ONLY → the name of its check."""
    trial = export_twice(producer, source, READ_WAYS[way])
    if way == "to-cpu" and producer.device(trial.array) != (CPU, 0):
        raise NotApplicable("it is moved: PROD-08 judges that")
    if trial.on_host:
        held, observed = trial.reading.judge_values()
        whole = add_harm(
            producer.make_result(held, trial.export, observed, field="byte_offset"), WRONG_DATA
        )
    else:
        whole = CheckResult(None, "its data cannot be read from the host", "")
    parts = {}
    for row, name in names.items():
        _, judge, field = {**EITHER, **VERSIONED_ONLY}[row]
        if row in VERSIONED_ONLY and not trial.export.versioned:
            continue
        verdict = judge(trial)
        if verdict is not None:
            parts[name] = producer.make_result(verdict[0], trial.export, verdict[1], field=field)
    return replace(whole, parts=parts)


def register(way: str, source: Source) -> None:
    """Registers the trial of one array, and its parts."""
    case = f"{way}-{source.name}"
    names: dict[str, str] = {}

    def probe(producer: Producer) -> CheckResult:
        return read_export(way, source, names, producer)

    def find_same(name: str) -> tuple[str, ...]:
        return (f"{name}[producer-versioned-{source.name}]",) if way == "to-cpu" else ()

    expected = f"every element of the {way} export has the library's own value"
    same = find_same("TENS-01")
    whole = add(Check("TENS-01", case, Role.PRODUCER, expected, probe, same_as=same))
    rows = {**EITHER, **VERSIONED_ONLY} if way == "versioned" else EITHER
    for row, (text, _, _) in rows.items():
        name = source.about_dtype if row == "DTYPE" else row
        same = find_same(name)
        part = Check(name, case, Role.PRODUCER, text, probe, part_of=whole.name, same_as=same)
        names[row] = add(part).name


for _way in READ_WAYS:
    for _source in SOURCES.values():
        register(_way, _source)
