"""The library under test as a producer: makes its arrays, exports capsules, reads their structs,
and writes repros."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    about,
    describe_error,
    note_raised,
    subject_code,
)
from refarray.conformance.harness.statement import equal, read_values
from refarray.conformance.subjects import promises
from refarray.conformance.subjects.subject import Subject


class Absent(enum.Enum):
    """Marks a keyword that is not passed, as opposed to None."""

    ABSENT = 1


ABSENT = Absent.ABSENT
VERSIONED = {"max_version": (1, 3)}

# How a repro reads a field of the struct with ctypes: (offset in DLManagedTensorVersioned, offset
# in DLManagedTensor or None, ctypes type).
FIELDS: dict[str, tuple[int, int | None, str]] = {
    "version.major": (0, None, "c_uint32"),
    "version.minor": (4, None, "c_uint32"),
    "flags": (24, None, "c_uint64"),
    "data": (32, 0, "c_void_p"),
    "device_type": (40, 8, "c_int32"),
    "device_id": (44, 12, "c_int32"),
    "ndim": (48, 16, "c_int32"),
    "code": (52, 20, "c_uint8"),
    "bits": (53, 21, "c_uint8"),
    "lanes": (54, 22, "c_uint16"),
    "shape": (56, 24, "c_void_p"),
    "strides": (64, 32, "c_void_p"),
    "byte_offset": (72, 40, "c_uint64"),
}
POINTER = (
    "p = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)"
    '(("PyCapsule_GetPointer", ctypes.pythonapi))(c, {name!r})'
)


@dataclass(slots=True)
class Export:
    """The result of one call of `__dlpack__`: a capsule, which is kept alive, and the fields of its
    struct, or an exception."""

    call: str
    """The call as Python code: `torch.ones(3).__dlpack__(copy=True)`."""
    capsule: Any = None
    held: Mapping[str, Any] | None = None
    """The struct's fields, as `_adversary.fields` returns them."""
    error: Exception | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return describe_error(self.error)
        if self.held is None:
            return f"a {type(self.capsule).__name__}"
        version = self.held["version"]
        return f"{self.held['name']}{f' {version[0]}.{version[1]}' if version else ''}"

    def __getitem__(self, field: str) -> Any:
        """A field of the struct. NotApplicable if the export failed: another check reports that."""
        if self.held is None:
            raise NotApplicable(f"{self.call} returned {self}")
        return self.held.get(field)

    def require(self) -> Export:
        """This export. NotApplicable if `__dlpack__` raised: another check judges that."""
        if self.error is not None:
            raise NotApplicable(f"{self.call} raised {self}")
        return self

    @property
    def versioned(self) -> bool:
        """Whether it is a DLManagedTensorVersioned."""
        return self.held is not None and self.held["version"] is not None

    @property
    def flags(self) -> int:
        """The flags. NotApplicable for the legacy struct, which has no flags."""
        if not self.versioned:
            raise NotApplicable(f"{self.call} returned {self}, which has no flags")
        return int(self["flags"])

    @property
    def address(self) -> int:
        """Address of element (0, ..., 0)."""
        return int(self["data"] or 0) + int(self["byte_offset"] or 0)


def keywords_text(keywords: Mapping[str, Any]) -> str:
    """The keywords of a call as Python code."""
    return ", ".join(f"{name}={value!r}" for name, value in keywords.items())


class Producer:
    """A subject in the role of the producer; the argument of producer checks."""

    def __init__(self, subject: Subject) -> None:
        self.subject: Subject = subject
        self.namespace: dict[str, Any] = {}
        self.prepared: set[str] = set()
        """The kinds whose statements have run."""
        self.known: dict[str, bool] = {}
        """Facts about the subject that several checks need, such as whether copies are flagged."""
        self.dropped: dict[str, str] = {}
        """The parts of the adapter that no case uses, and why; see adapter.py."""
        exec(subject.imports, self.namespace)
        if subject.array_api is None:
            self.subject = replace(subject, array_api=self.has_namespace())

    def has_namespace(self) -> bool:
        """Whether its plain array has the method of the array API standard."""
        try:
            return hasattr(type(self.own()[1]), "__array_namespace__")
        except NotApplicable:
            return False

    @cached_property
    def lacks_keywords(self) -> str:
        """The TypeError of __dlpack__ for max_version; empty if it takes the keyword, or exports
        nothing without it."""
        try:
            text, array = self.own()
            if self.ask(text, array).held is None:
                return ""
            error = self.ask(text, array, **VERSIONED).error
        except NotApplicable:
            return ""
        return describe_error(error) if isinstance(error, TypeError) else ""

    def text(self, kind: str = "plain") -> str:
        """The expression for an array of a kind. NotApplicable if the subject has no such
        arrays."""
        found = self.subject.arrays.get(kind)
        if found is None:
            wrong = self.dropped.get(f"arrays[{kind!r}]")
            reason = f"the adapter's arrays[{kind!r}] was dropped: {wrong}"
            raise NotApplicable(
                reason if wrong else f"{self.subject.name} has no such arrays ({kind})"
            )
        if kind in self.subject.states and kind not in self.prepared:
            try:
                exec(self.subject.states[kind], self.namespace)
            except Exception as error:
                reason = f"this version makes no such arrays ({kind}): {describe_error(error)}"
                raise NotApplicable(reason) from error
            self.prepared.add(kind)
        return found

    def list_statements(self, *lines: str) -> list[str]:
        """The statements that the array expressions in these lines need besides the imports."""
        kinds = self.subject.states.items()
        return [code for kind, code in kinds if self.subject.arrays[kind] in "\n".join(lines)]

    def express_ones(self, dtype: str) -> str:
        """The expression for three ones of a dtype. NotApplicable if the subject lacks the
        dtype."""
        if dtype not in self.subject.dtypes or not self.subject.dtype:
            raise NotApplicable(f"{self.subject.name} has no {dtype}")
        return self.subject.dtype.format(dtype)

    def ramp(self, dtype: str) -> str:
        """The expression for the numbers 0 to 36 of a dtype, or else for three ones. NotApplicable
        if the subject lacks the dtype."""
        ones = self.express_ones(dtype)
        return self.subject.ramp.format(dtype) if self.subject.ramp else ones

    def big(self, count: int) -> str:
        """The expression for `count` float32 elements. NotApplicable if the adapter has none."""
        if not self.subject.big:
            raise NotApplicable(
                f"the adapter of {self.subject.name} has no expression for big arrays"
            )
        return self.subject.big.format(count)

    def make(self, text: str) -> Any:
        """The value of an array expression. NotApplicable if it raises."""
        try:
            return eval(text, self.namespace)
        except Exception as error:
            raise NotApplicable(f"{text} raised {describe_error(error)}") from error

    def own(self, kind: str = "plain") -> tuple[str, Any]:
        """(expression, array) of a kind. NotApplicable if the subject has no such arrays."""
        text = self.text(kind)
        return text, self.make(text)

    @cached_property
    def usual(self) -> bool:
        """Whether its plain array is 0.0 to 5.0 in float32, as the adapter promises: by what the
        library says, or by the shape and the dtype of the export if it says nothing."""
        try:
            text, array = self.own()
            if promises.dtype_named(array) not in {"", "float32"}:
                return False
            with suppress(NotApplicable):
                said = read_values(self.subject, self.namespace, array, "float32")
                return equal(said, promises.VALUES["plain"])
            export = self.ask(text, array, **VERSIONED)
            export = export if export.held is not None else self.ask(text, array)
            return (export["shape"], export["dtype"]) == ((6,), (2, 32, 1))
        except NotApplicable:
            return False

    def require_usual_plain(self) -> None:
        """NotApplicable if its plain array is not known to be 0.0 to 5.0 in float32."""
        if not self.usual:
            text = self.text()
            raise NotApplicable(f"its plain array, {text}, is not known as 0.0 to 5.0 in float32")

    def export(self, text: str, /, array: Any = ABSENT, **keywords: Any) -> Export:
        """Calls `__dlpack__` of a new array made by `text`, or of `array`, whose expression is
        `text`. NotApplicable if the result is no DLPack capsule: LIFE-06 checks that."""
        export = self.ask(text, array, **keywords)
        if export.error is None and export.held is None:
            with subject_code():
                raise NotApplicable(f"{export.call} gave {export.capsule!r}")
        return export

    def ask(self, text: str, /, array: Any = ABSENT, **keywords: Any) -> Export:
        """Like export, but accepts any result of `__dlpack__`."""
        made = self.make(text) if array is ABSENT else array
        given = {name: value for name, value in keywords.items() if value is not ABSENT}
        call = f"{text}.__dlpack__({keywords_text(given)})"
        about(self.repro(f"print({call})"))
        try:
            capsule = type(made).__dlpack__(made, **given)
        except Exception as error:  # without its traceback, which would keep the array alive
            note_raised(error)
            return Export(call, error=error.with_traceback(None))
        return Export(call, capsule, self.read(capsule))

    @staticmethod
    def ask_device(array: Any) -> Any:
        """The result of `__dlpack_device__()`. NotApplicable if there is no such method: CONS-02
        checks that."""
        method = getattr(type(array), "__dlpack_device__", None)
        if method is None:
            raise NotApplicable(f"{type(array).__name__} has no __dlpack_device__")
        with subject_code():
            return method(array)

    @classmethod
    def device(cls, array: Any) -> tuple[int, ...]:
        """The result of `__dlpack_device__()` as ints. NotApplicable if it is none. An id of None
        is 0: only DEV-01 judges it."""
        answer = cls.ask_device(array)
        try:
            return tuple(int(0 if each is None else each) for each in answer)
        except Exception as error:
            why = f"__dlpack_device__() returned {type(answer).__name__}: DEV-01 judges that"
            raise NotApplicable(why) from error

    @staticmethod
    def read(capsule: Any) -> Mapping[str, Any] | None:
        """The fields of a capsule's struct; None if it is no unconsumed DLPack capsule."""
        try:
            return _adversary.fields(capsule)
        except (TypeError, ValueError):
            return None

    def repro(self, *lines: str) -> str:
        """Lines of Python after the subject's imports."""
        return "\n".join([self.subject.imports, *self.list_statements(*lines), *lines])

    def make_result(
        self,
        held: bool,
        export: Export,
        observed: str = "",
        *,
        field: str = "",
        beside: Export | None = None,
    ) -> CheckResult:
        """The result of a case about an export; its repro prints `field`, if given, the addresses
        of the export and of the one `beside` it, or the capsule."""
        text = observed or f"{export}"
        if beside is not None and export.held is not None and beside.held is not None:
            return self.compare_exports(held, export, beside, text)
        if export.error is not None or not field:
            return CheckResult(held, text, self.repro(f"print({export.call})"))
        versioned, legacy, kind = FIELDS[field]
        offset = versioned if export.versioned else legacy
        value = self.read_field(export, field)
        line = f"print(ctypes.{kind}.from_address(p + {offset}).value)  # {field}"
        wrong = "" if value is None else f"saw == {value!r}"
        return CheckResult(held, text, self.repro_pointer(export, line), wrong=wrong)

    def repro_pointer(self, export: Export, *lines: str) -> str:
        """Lines that read the export's struct by ctypes, at the address `p`."""
        own = (f"c = {export.call}", POINTER.format(name=str(export["name"]).encode()))
        return f"import ctypes; {self.repro(*own, *lines)}"

    def read_by_numpy(self, export: Export, held: bool, text: str) -> CheckResult:
        """The result of a case about values; its repro compares NumPy's with the library's own."""
        array = export.call.rpartition(".__dlpack__(")[0]
        values = (self.subject.values or "{}.tolist()").format("x")
        lines = (f"x = {array}", f"print((numpy.from_dlpack(x).tolist(), {values}))")
        repro = f"import numpy; {self.repro(*lines)}"
        return CheckResult(held, text, repro, wrong="saw[0] != saw[1]")

    def read_bytes(self, export: Export, held: bool, text: str, right: bytes) -> CheckResult:
        """The result of a case about the bytes in memory, which are to begin with `right`."""
        data, offset = (FIELDS[name][not export.versioned] for name in ("data", "byte_offset"))
        start = (
            f"ctypes.c_uint64.from_address(p + {data}).value"
            f" + ctypes.c_uint64.from_address(p + {offset}).value"
        )
        show = f"print(list(ctypes.string_at(start, {len(right)})) if start else 'NULL')"
        repro = self.repro_pointer(export, f"start = {start}", show)
        return CheckResult(held, text, repro, wrong=f"saw != {list(right)}")

    def compare_exports(self, held: bool, export: Export, beside: Export, text: str) -> CheckResult:
        """The result of a case that compares the addresses of two exports of one array."""
        array, _, call = export.call.rpartition(".__dlpack__(")
        other = beside.call.rpartition(".__dlpack__(")[2]
        lines = [
            f"import ctypes; {self.subject.imports}",
            *self.list_statements(export.call),
            POINTER.replace("p = ", "pointer = ").partition("(c, ")[0],
            "def start(c):",
            "    name = b'dltensor_versioned' if 'versioned' in repr(c) else b'dltensor'",
            "    p = pointer(c, name) + 32 * ('versioned' in repr(c))  # the DLTensor",
            "    data, offset = (ctypes.c_uint64.from_address(p + at).value for at in (0, 40))",
            "    return data + offset",
            f"x = {array}; a = x.__dlpack__({call}; b = x.__dlpack__({other}",
            "print((hex(start(a)), hex(start(b))))",
        ]
        same = export.address == beside.address
        wrong = "saw[0] == saw[1]" if same != held else "saw[0] != saw[1]"
        return CheckResult(held, text, "\n".join(lines), wrong=wrong)

    @staticmethod
    def read_field(export: Export, field: str) -> int | None:
        """The number that a repro of `field` prints; None for an address."""
        name, _, part = field.partition(".")
        if field in {"data", "shape", "strides"}:
            return None
        groups = {
            "version": ("major", "minor"),
            "device": ("device_type", "device_id"),
            "dtype": ("code", "bits", "lanes"),
        }
        for group, members in groups.items():
            if (part or name) in members:
                return int(export[group][members.index(part or name)])
        return int(export[name])
