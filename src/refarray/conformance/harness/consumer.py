"""Owns a subject as a consumer: what it is given, what came of it, how often the deleter ran."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import refarray
from refarray import _native
from refarray.conformance import _adversary
from refarray.conformance.cases import CheckResult, NotApplicable, about
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.harness.producer import raised
from refarray.conformance.subjects.subject import Subject

GIVE = "from refarray.conformance import give"


@dataclass(slots=True)
class Import:
    """What a consumer made of one producer: an array, or an exception."""

    array: Any = None
    error: BaseException | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return raised(self.error)
        return f"imported as {described(self.array)}"

    @property
    def refused(self) -> bool:
        """Whether an exception, and not one of the interpreter's own complaints, was raised."""
        return self.error is not None and not isinstance(self.error, SystemError)

    def held(self) -> dict[str, Any]:
        """What the array exports, read without consuming it. NotApplicable when it cannot be
        exported again, so nothing can be told of it."""
        if self.error is not None:
            raise NotApplicable(f"refused: {raised(self.error)}")
        for keywords in ({"max_version": (1, 3)}, {}):
            try:
                capsule = type(self.array).__dlpack__(self.array, **keywords)
                return dict(_native._inspect_capsule(capsule))
            except Exception as error:
                reason = raised(error)
        raise NotApplicable(f"imported, and cannot be looked at: {reason}")

    @property
    def address(self) -> int:
        """Of its first element."""
        held = self.held()
        return int(held["data"]) + int(held["byte_offset"])

    @property
    def values(self) -> Any:
        """Its elements, as nested lists."""
        self.held()
        return refarray.from_dlpack(self.array).tolist()

    @property
    def readonly(self) -> bool:
        """Whether it is exported with READ_ONLY, or refuses to be exported without a flag."""
        flags = self.held().get("flags")
        if flags is None:
            raise NotApplicable("its export has no flags")
        return bool(flags & 1)


def described(array: Any) -> str:
    """An array in a few words, without its data."""
    parts = [type(array).__name__]
    for name in ("shape", "dtype"):
        try:
            value = getattr(array, name)
            parts.append(f"{name} {tuple(value) if name == 'shape' else value}")
        except Exception as error:  # of what was let in although it is broken
            parts.append(f"whose {name} raises {type(error).__name__}")
    return ", ".join(parts)


class Consumer:
    """One subject, imported. Probes are given one each."""

    def __init__(self, subject: Subject, namespace: dict[str, Any]) -> None:
        self.subject = subject
        self.namespace = namespace

    def function(self) -> Any:
        """What imports. NotApplicable when there is none."""
        name = self.subject.from_dlpack.partition("(")[0]
        if not name:
            raise NotApplicable(f"{self.subject.name} imports nothing")
        try:
            return eval(name, self.namespace)
        except (AttributeError, NameError) as error:
            raise NotApplicable(f"{self.subject.name} imports nothing: {error}") from error

    @cached_property
    def takes_legacy(self) -> bool:
        """Whether it takes a well-formed legacy capsule at all."""
        given = Given({"data": FLOATS, "shape": (3,), "versioned": False})
        return self.take(given).error is None

    def own(self, *kinds: str) -> tuple[str, Any]:
        """An array of the subject's own, of the first of these kinds that it has, and its
        expression. NotApplicable when it makes none."""
        source = next(filter(None, map(self.subject.arrays.get, kinds or ("plain",))), None)
        if source is None:
            raise NotApplicable(f"{self.subject.name} makes no arrays")
        try:
            return source, eval(source, self.namespace)
        except Exception as error:
            raise NotApplicable(f"{source} raised {raised(error)}") from error

    def take(self, given: Any, **keywords: Any) -> Import:
        """What from_dlpack makes of a producer."""
        self.function()
        if isinstance(given, Given):
            about(self.repro(given.text, **keywords))
        more = "".join(f", {name}=_{name}" for name in keywords)
        call = self.subject.from_dlpack.format(f"_given{more}")
        values = {f"_{name}": value for name, value in keywords.items()}
        try:
            return Import(eval(call, {**self.namespace, **values, "_given": given}))
        except BaseException as error:  # a producer's KeyboardInterrupt too
            return Import(error=error)

    def look(self, array: Any) -> dict[str, Any]:
        """What an array of the subject's own exports."""
        return Import(array).held()

    def repro(self, given: str, **keywords: Any) -> str:
        """How to hand it the same; `given` is a Python expression."""
        more = "".join(f", {name}={value!r}" for name, value in keywords.items())
        call = self.subject.from_dlpack.format(f"{given}{more}")
        lines = [f"{GIVE}; {self.subject.imports}", f"print({call})"]
        if "with_table(" in given:
            lines[:1] = [
                "from refarray.conformance import _adversary",
                "from refarray.conformance.suite.exchange_api.foreign_table import with_table",
                self.subject.imports,
            ]
        return "\n".join(lines)

    def seen(self, held: bool | None, observed: str, given: str, **keywords: Any) -> CheckResult:
        """What a case showed."""
        return CheckResult(held, observed, self.repro(given, **keywords))


def settle(done: Callable[[], bool]) -> None:
    """Lets go of what only cycles still hold, if anything is still to be let go of."""
    if not done():
        gc.collect()


def text(fields: Mapping[str, Any]) -> str:
    """`give(shape=(3,), ndim=-1)`: the call that makes a producer of these fields."""
    told = {name: value for name, value in fields.items() if name != "data" or value != FLOATS}
    return "give({})".format(", ".join(f"{name}={value!r}" for name, value in told.items()))


class Given:
    """A producer that hands out one managed tensor, made field by field by native code, and keeps
    a record of what it was asked and of its deleter."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.text = text(fields)
        """The call that makes it."""
        self.fields = dict(fields)
        self.knows: str | None = self.fields.pop("knows", None)
        self.raises: BaseException | None = self.fields.pop("raises", None)
        self.returns: Any = self.fields.pop("returns", give)
        self.device = self.fields.pop("dunder_device", None) or self.fields.get("device", (1, 0))
        self.tensors: list[Any] = []
        self.asked: list[dict[str, Any]] = []
        self.capsule: Any = None
        """The last one, when `keep` is set: to see what became of its name."""
        self.keep = False

    def __dlpack_device__(self) -> tuple[int, int]:
        """What the struct says, unless `dunder_device` was given, which may be an exception."""
        if isinstance(self.device, BaseException):
            raise self.device
        out: tuple[int, int] = self.device
        return out

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        **others: Any,
    ) -> Any:
        """The versioned struct for who asks for it, else the legacy one: what both have in common
        is the same. BufferError where the legacy struct cannot say what was asked of us, TypeError
        for what an old producer does not know."""
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
        if max_version is None or tuple(max_version) < (1, 0):
            if {"version", "flags", "unmapped_body"} & set(fields) or fields.get(
                "versioned"
            ) is True:
                raise BufferError("this tensor has a versioned struct only, and none was asked for")
            fields["versioned"] = False
        self.tensors.append(_adversary.make(**fields))
        capsule = self.tensors[-1].capsule()
        if self.keep:
            self.capsule = capsule
        return capsule

    @property
    def unasked(self) -> bool:
        """Whether it refused a consumer that knows the legacy struct only."""
        return bool(self.asked) and not self.tensors

    @property
    def deleter_calls(self) -> int:
        """Of every tensor that was handed out."""
        return sum(tensor.deleter_calls for tensor in self.tensors)

    @property
    def address(self) -> int:
        """Of the last tensor's own bytes."""
        return int(self.tensors[-1].address)

    @property
    def bytes(self) -> bytes:
        """What the last tensor's memory holds now."""
        data: bytes = self.tensors[-1].bytes()
        return data


def give(**fields: Any) -> Given:
    """A producer whose managed tensor has exactly these fields, however wrong: shape, strides,
    data, dtype (code, bits, lanes), device (type, id), byte_offset, ndim, flags, version,
    versioned … `knows="stream"` names the keywords that its `__dlpack__` takes, `raises` is what it
    raises, `returns` what it returns instead of a capsule, `dunder_device` what `__dlpack_device__`
    says or raises. `.deleter_calls` counts what the consumer did. The data is 0.0, 1.0 … 15.0 as
    float32 when none is given."""
    return Given({"data": FLOATS, **fields})
