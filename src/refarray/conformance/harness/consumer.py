"""The library under test as a consumer: imports through its from_dlpack, and `give`, the kit's
producer of tensors with arbitrary fields."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from refarray.conformance import _adversary
from refarray.conformance.cases import (
    CheckResult,
    NotApplicable,
    about,
    describe_error,
    kit_callback,
    note_raised,
    subject_code,
)
from refarray.conformance.dlpack import READ_ONLY
from refarray.conformance.harness import memory
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.native_method import native_method
from refarray.conformance.subjects.subject import Subject

GIVE = "from refarray.conformance import give"
BARE = ".__dlpack__(max_version=(1, 3))"
"""Gives a producer's capsule, for a consumer that takes capsules themselves."""


@dataclass(slots=True)
class Import:
    """The result of one import: an array or an exception."""

    array: Any = None
    error: BaseException | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return describe_error(self.error)
        return f"imported as {describe(self.array)}"

    @property
    def refused(self) -> bool:
        """Whether the consumer raised. A SystemError does not count: it reports a bug of the
        consumer, not a refusal."""
        return self.error is not None and not isinstance(self.error, SystemError)

    def accepted(self) -> Import:
        """The import. NotApplicable if the consumer raised."""
        if self.error is not None:
            raise NotApplicable(f"it refuses: {self}")
        return self

    def export(self) -> tuple[object, dict[str, Any]]:
        """The imported array in a capsule, and its fields. NotApplicable if the import failed or
        the array cannot be exported again."""
        if self.error is not None:
            raise NotApplicable(f"refused: {describe_error(self.error)}")
        for keywords in ({"max_version": (1, 3)}, {}):
            try:
                capsule = type(self.array).__dlpack__(self.array, **keywords)
                return capsule, _adversary.fields(capsule)
            except Exception as error:
                reason = describe_error(error)
        raise NotApplicable(f"imported, but cannot be exported again: {reason}")

    def read_fields(self) -> dict[str, Any]:
        """The fields that the imported array exports. NotApplicable as above."""
        return self.export()[1]

    @property
    def address(self) -> int:
        """Address of its first element."""
        held = self.read_fields()
        return int(held["data"]) + int(held["byte_offset"])

    def shares(self, source: Given | Import) -> bool:
        """Whether its first element is that of its source; False if an address is unknown."""
        try:
            return self.address == source.address
        except NotApplicable:
            return False

    @property
    def values(self) -> Any:
        """Its elements as nested lists, read from the memory that it exports."""
        capsule, fields = self.export()
        with subject_code():
            out = memory.tensor_values(fields)
        del capsule  # until here its memory is there
        return out

    @property
    def readonly(self) -> bool:
        """Whether it exports READ_ONLY. NotApplicable if its export has no flags."""
        flags = self.read_fields().get("flags")
        if flags is None:
            raise NotApplicable("its export has no flags")
        return bool(flags & READ_ONLY)


def describe(array: Any) -> str:
    """The type, shape and dtype of an array."""
    parts = [type(array).__name__]
    for name in ("shape", "dtype"):
        try:
            value = getattr(array, name)
            parts.append(f"{name} {tuple(value) if name == 'shape' else value}")
        except Exception as error:  # the array may be an accepted malformed tensor
            parts.append(f"whose {name} raises {type(error).__name__}")
    return ", ".join(parts)


class Consumer:
    """A subject in the role of the consumer; the argument of consumer checks."""

    def __init__(self, subject: Subject, namespace: dict[str, Any]) -> None:
        self.subject = subject
        self.namespace = namespace
        self.dropped: str = ""
        """Why the adapter's from_dlpack is not used; empty if it is."""

    def function(self) -> Any:
        """The subject's import function. NotApplicable if it has none."""
        name = self.subject.from_dlpack.partition("(")[0]
        if not name and self.dropped:
            raise NotApplicable(f"the adapter's from_dlpack was dropped: {self.dropped}")
        if not name:
            raise NotApplicable(f"{self.subject.name} has no import function")
        try:
            with subject_code():
                return eval(name, self.namespace)
        except (AttributeError, NameError) as error:
            raise NotApplicable(f"{self.subject.name} has no import function: {error}") from error

    @cached_property
    def takes_legacy(self) -> bool:
        """Whether it imports a well-formed legacy capsule."""
        given = Given({"data": FLOATS, "shape": (3,), "versioned": False})
        return self.take(given).error is None

    @cached_property
    def takes_bare(self) -> bool:
        """Whether it imports a capsule itself, which is outside the standard."""
        given = Given({"data": FLOATS, "shape": (3,)})
        return self.take(type(given).__dlpack__(given, max_version=(1, 3))).error is None

    @cached_property
    def refuses_plain(self) -> str:
        """How it refuses three contiguous float32 numbers; empty if it imports them."""
        found = self.take(Given({"data": FLOATS, "shape": (3,)}))
        return "" if found.error is None else describe_error(found.error)

    @cached_property
    def shares_plain(self) -> bool:
        """Whether the import of three contiguous float32 numbers shares their memory."""
        given = Given({"data": FLOATS, "shape": (3,)})
        return self.take(given).shares(given)

    def require_sharing(self) -> None:
        """NotApplicable if the class copies every import and claims no array API: whether it could
        share cannot be seen from outside."""
        if not self.subject.array_api and not self.shares_plain:
            raise NotApplicable("it copies or hides whatever it imports, and claims no array API")

    @cached_property
    def copies_itself(self) -> bool:
        """Whether copy=True gives memory of its own although the producer ignores it."""
        given = Given({"data": FLOATS, "shape": (3,)})
        return not self.take(given, copy=True).shares(given)

    @cached_property
    def copies_own(self) -> bool:
        """Whether copy=True of a plain array of its own gives other memory."""
        _, own = self.own()
        return not self.take(own, copy=True).shares(Import(own))

    def own(self, *kinds: str) -> tuple[str, Any]:
        """(expression, array) of the first of these kinds that the subject has. NotApplicable if it
        has none."""
        source = next(filter(None, map(self.subject.arrays.get, kinds or ("plain",))), None)
        if source is None:
            raise NotApplicable(f"{self.subject.name} makes no arrays of its own")
        try:
            return source, eval(source, self.namespace)
        except Exception as error:
            raise NotApplicable(f"{source} raised {describe_error(error)}") from error

    def take(self, given: Any, **keywords: Any) -> Import:
        """Imports `given`, a producer, through the subject's from_dlpack."""
        self.function()
        if isinstance(given, Given):
            about(self.repro(given.text, **keywords))
        arguments = "".join(f", {name}=_{name}" for name in keywords)
        call = self.subject.from_dlpack.format(f"_given{arguments}")
        values = {f"_{name}": value for name, value in keywords.items()}
        try:
            return Import(eval(call, {**self.namespace, **values, "_given": given}))
        except BaseException as error:  # includes the KeyboardInterrupt that a producer raises
            note_raised(error)
            return Import(error=error)

    def take_bare(self, given: Given) -> Import:
        """Imports the capsule of `given`, itself. NotApplicable if the subject takes none."""
        if not self.takes_bare:
            raise NotApplicable("it takes no bare capsules")
        about(self.repro(given.text + BARE))
        return self.take(type(given).__dlpack__(given, max_version=(1, 3)))

    def import_from(self, given: Any, **keywords: Any) -> Import:
        """Like take(). NotApplicable if the subject refuses."""
        return self.take(given, **keywords).accepted()

    def look(self, array: Any) -> dict[str, Any]:
        """The fields that one of the subject's arrays exports."""
        return Import(array).read_fields()

    def repro(self, given: str, **keywords: Any) -> str:
        """Code that repeats the import; `given` is the producer as a Python expression."""
        arguments = "".join(f", {name}={value!r}" for name, value in keywords.items())
        call = self.subject.from_dlpack.format(f"{given}{arguments}")
        lines = [f"{GIVE}; {self.subject.imports}", f"print({call})"]
        if "with_table(" in given:
            lines[:1] = [
                "from refarray.conformance import _adversary",
                "from refarray.conformance.suite.consumer.table import with_table",
                self.subject.imports,
            ]
        return "\n".join(lines)

    def make_result(
        self, held: bool | None, observed: str, given: str, **keywords: Any
    ) -> CheckResult:
        """The result of a case, with its repro."""
        return CheckResult(held, observed, self.repro(given, **keywords))


def settle(done: Callable[[], bool]) -> None:
    """Runs the garbage collector unless `done`: objects in reference cycles are still to be
    freed."""
    if not done():
        gc.collect()


def text(fields: Mapping[str, Any]) -> str:
    """The call that makes a producer with these fields: `give(shape=(3,), ndim=-1)`."""
    shown = {name: value for name, value in fields.items() if name != "data" or value != FLOATS}
    return "give({})".format(", ".join(f"{name}={value!r}" for name, value in shown.items()))


class Given:
    """A producer whose managed tensors have exactly the given fields. Records the requests and the
    deleter calls."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.text: str = text(fields)
        """The call that makes this producer."""
        self.fields: dict[str, Any] = dict(fields)
        self.knows: str | None = self.fields.pop("knows", None)
        self.raises: BaseException | None = self.fields.pop("raises", None)
        self.returns: Any = self.fields.pop("returns", give)
        self.device: Any = self.fields.pop("dunder_device", None) or self.fields.get(
            "device", (1, 0)
        )
        self.tensors: list[Any] = []
        self.asked: list[dict[str, Any]] = []
        self.capsule: Any = None
        """The last capsule if `keep` is set; checks read its name after the import."""
        self.keep = False
        self.forced: bool = bool(self.fields.pop("forced", False))
        """Whether it gives the versioned struct whatever the consumer asks for."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The struct's device, or `dunder_device`, which may be an exception to raise."""
        if isinstance(self.device, BaseException):
            raise self.device
        out: tuple[int, int] = self.device
        return out

    @native_method
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        **others: Any,
    ) -> Any:
        """A capsule with the versioned struct if `max_version` is at least 1.0, else with the
        legacy struct. BufferError if the fields do not exist in the legacy struct; TypeError for
        keywords that `knows` leaves out."""
        self.asked.append({"stream": stream, "max_version": max_version, **others})
        if self.raises is not None:
            raise self.raises
        if self.returns is not give:
            return self.returns
        known = "stream max_version dl_device copy" if self.knows is None else self.knows
        given = {"stream": stream, "max_version": max_version, **others}
        for name, value in given.items():
            if name not in known.split() and (value is not None or name in others):
                raise TypeError(f"__dlpack__() got an unexpected keyword argument {name!r}")
        fields = dict(self.fields)
        if not self.forced and (max_version is None or tuple(max_version) < (1, 0)):
            if {"version", "flags", "unmapped_body"} & set(fields) or fields.get(
                "versioned"
            ) is True:
                raise BufferError(
                    "this tensor needs the versioned struct; max_version must be at least (1, 0)"
                )
            fields["versioned"] = False
        with kit_callback():
            self.tensors.append(_adversary.make(**fields))
            capsule = self.tensors[-1].capsule()
        if self.keep:
            self.capsule = capsule
        return capsule

    @property
    def unasked(self) -> bool:
        """Whether __dlpack__ was called but no tensor was exported: the consumer asked for the
        legacy struct only."""
        return bool(self.asked) and not self.tensors

    @property
    def deleter_calls(self) -> int:
        """Deleter calls of all exported tensors."""
        return sum(tensor.deleter_calls for tensor in self.tensors)

    @property
    def address(self) -> int:
        """Address of the last tensor's memory. NotApplicable if the consumer took none."""
        if not self.tensors:
            raise NotApplicable("the consumer did not take the tensor")
        return int(self.tensors[-1].address)

    @property
    def bytes(self) -> bytes:
        """Current contents of the last tensor's memory. NotApplicable as for `address`."""
        if not self.tensors:
            raise NotApplicable("the consumer did not take the tensor")
        data: bytes = self.tensors[-1].bytes()
        return data


def give(**fields: Any) -> Given:
    """A producer whose managed tensor has exactly these fields, valid or not: shape, strides, data,
    dtype (code, bits, lanes), device (type, id), byte_offset, ndim, flags, version, versioned …

    `knows="stream"` lists the keywords that its `__dlpack__` accepts, `raises` is an exception that
    it raises, `returns` an object that it returns instead of a capsule; `dunder_device` is the
    result of `__dlpack_device__`, or an exception. `.deleter_calls` counts the deleter calls. The
    default data is 0.0, 1.0 … 15.0 as float32. With `forced=True` the capsule has the
    versioned struct, whatever max_version is."""
    return Given({"data": FLOATS, **fields})
