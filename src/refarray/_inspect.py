"""inspect(): what a DLPack producer exports or a capsule contains, without consuming it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from refarray import _native
from refarray._describe import (
    PADDED,
    alignment_of,
    device_name,
    dtype_name,
    element_bytes,
    flag_names,
    flags_text,
    layout_text,
    type_name,
    version_text,
)

DUNDERS = ("__dlpack__", "__dlpack_device__")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one call of `__dlpack__`."""

    name: str
    request: str
    struct: str | None
    version: tuple[int, int] | None
    error: str | None

    def __str__(self) -> str:
        return self.error or f"{self.struct}{version_text(self.version)}"


@dataclass(frozen=True, slots=True)
class ExchangeAPI:
    """The C exchange API of a type."""

    version: tuple[int, int]
    functions: dict[str, bool] | None  # whether each is present; None: unknown major version
    prev_api: bool  # whether the table links to one of an older version
    usable: bool  # whether refarray can import through the table

    def __str__(self) -> str:
        text = f"{self.version[0]}.{self.version[1]}"
        if self.functions is not None:
            missing = [name for name, is_present in self.functions.items() if not is_present]
            text += (
                f", without {', '.join(missing)}"
                if missing
                else f", all {len(self.functions)} functions"
            )
        text += ", with a table of an older version" if self.prev_api else ""
        return text + ("" if self.usable else ", not usable")


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of inspect(). Fields are None if there is nothing to read, or if the tensor has an
    unknown major version, whose layout may differ."""

    subject: str
    capsule_name: str | None = None
    struct: str | None = None
    version: tuple[int, int] | None = None
    flags: int | None = None
    flag_names: tuple[str, ...] | None = None
    device: tuple[int, int] | None = None
    device_name: str | None = None
    dtype: tuple[int, int, int] | None = None
    dtype_name: str | None = None
    ndim: int | None = None
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    byte_offset: int | None = None
    data: int | None = None
    alignment: int | None = None
    layout: str | None = None
    nbytes: int | None = None
    manager_ctx: int | None = None
    deleter: int | None = None
    dlpack_device: tuple[int, int] | None = None
    dlpack_device_matches: bool | None = None
    dlpack_device_error: str | None = None
    exchange_api: ExchangeAPI | None = None
    answers: tuple[Answer, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types: dicts, lists, strings, numbers and None."""
        plain: dict[str, Any] = as_plain(asdict(self))
        return plain

    def _repr_svg_(self) -> str:
        """Return a picture of the memory layout, for notebooks."""
        from refarray._layout_picture.svg import svg

        return svg(self)

    def _repr_html_(self) -> str:
        """Return the facts and a picture of the memory layout, for notebooks."""
        from refarray._layout_picture.page import card

        return card(self)

    def facts(self) -> list[tuple[str, str]]:
        """Return the lines of the text form, as pairs of name and text."""
        return [*self._tensor_lines(), *self._type_lines()]

    def __repr__(self) -> str:
        lines = self.facts()
        width = max(len(name) for name, _ in lines)
        return "\n".join(
            [
                f"inspection of {self.subject}",
                *(f"  {name:<{width}}  {text}" for name, text in lines),
            ]
        )

    def _tensor_lines(self) -> list[tuple[str, str]]:
        if self.struct is None:
            return [
                (
                    "capsule",
                    f"{self.capsule_name!r}" if self.capsule_name else "none: nothing was exported",
                )
            ]
        lines = [
            ("capsule", f"{self.capsule_name!r}: {self.struct}{version_text(self.version)}"),
            ("flags", "a legacy struct has none" if self.flags is None else flags_text(self.flags)),
        ]
        if self.dtype is None or self.device is None:
            return [*lines, ("tensor", "not read: its major version is unknown")]
        strides = "NULL" if self.strides is None else f"{self.strides} elements"
        aligned = "" if self.alignment is None else f", aligned to {self.alignment} bytes"
        return [
            *lines,
            ("device", f"{self.device_name} {self.device}{self._match_text()}"),
            ("dtype", f"{self.dtype_name} {self.dtype} (code, bits, lanes)"),
            ("shape", str(self.shape)),
            ("strides", strides),
            ("layout", f"{self.layout}, {self.nbytes} bytes of elements"),
            ("data", f"{self.data or 0:#x} + byte_offset {self.byte_offset}{aligned}"),
            ("deleter", f"{self.deleter:#x}" if self.deleter else "NULL"),
        ]

    def _match_text(self) -> str:
        if self.dlpack_device_error:
            return f"; __dlpack_device__ raised {self.dlpack_device_error}"
        if self.dlpack_device is None:
            return ""
        reported = "the same" if self.dlpack_device_matches else self.dlpack_device
        return f"; __dlpack_device__ says {reported}"

    def _type_lines(self) -> list[tuple[str, str]]:
        if not self.answers:
            return []
        lines = [(answer.name, f"{answer.request}: {answer}") for answer in self.answers]
        return [
            *lines,
            (
                "exchange API",
                "not offered" if self.exchange_api is None else str(self.exchange_api),
            ),
        ]


def as_plain(value: Any) -> Any:
    """Convert tuples to lists, recursively."""
    if isinstance(value, dict):
        return {name: as_plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    return value


def describe_capsule(capsule: object) -> dict[str, Any]:
    """Return the fields of Inspection that a capsule determines."""
    raw = _native._inspect_capsule(capsule)
    flags = raw["flags"]
    facts: dict[str, Any] = {
        "capsule_name": raw["name"],
        "struct": raw["struct"],
        "version": raw["version"],
    }
    facts |= {"flags": flags, "manager_ctx": raw["manager_ctx"], "deleter": raw["deleter"]}
    if flags is not None:
        facts["flag_names"] = flag_names(flags)
    if "dtype" not in raw:
        return facts
    facts |= {
        name: raw[name]
        for name in ("device", "dtype", "ndim", "shape", "strides", "byte_offset", "data")
    }
    padded = bool((flags or 0) & PADDED)
    facts["device_name"] = device_name(raw["device"])
    facts["dtype_name"] = dtype_name(raw["dtype"], padded)
    if raw["data"]:
        facts["alignment"] = alignment_of(raw["data"] + raw["byte_offset"])
    shape = raw["shape"]
    if shape is not None and min(shape, default=0) >= 0:
        facts["layout"] = layout_text(shape, raw["strides"])
        facts["nbytes"] = element_bytes(shape, raw["dtype"], padded)
    return facts


def method_of(obj: object, name: str) -> Any:
    """Return a special method of `obj`, found on its type and bound.

    Return None if it has none, or has None, by which a class opts out.
    """
    found, _ = _native._find_on_type((type(obj), name))
    if not found:
        return None
    bind = getattr(type(found[0]), "__get__", None)
    return found[0] if found[0] is None or bind is None else bind(found[0], obj, type(obj))


def call_dlpack(
    obj: Any, name: str, **keywords: object
) -> tuple[Answer, dict[str, Any], BaseException | None]:
    """Call `__dlpack__` once and describe the result: the answer, its facts, and the exception.

    The capsule is released without being consumed; its destructor calls the deleter.
    """
    request = ", ".join(f"{key}={value}" for key, value in keywords.items()) or "no max_version"
    try:
        facts = describe_capsule(method_of(obj, "__dlpack__")(**keywords))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # the exception is part of the report
        return Answer(name, request, None, None, f"{type(error).__name__}: {error}"), {}, error
    return Answer(name, request, facts["struct"], facts["version"], None), facts, None


def was_entered(error: BaseException) -> bool:
    """Whether the producer had begun when it raised. Cython adds an entry without variables to the
    traceback of arguments that it refuses, the interpreter none."""
    entry = error.__traceback__.tb_next if error.__traceback__ else None  # below call_dlpack's
    return entry is not None and (entry.tb_next is not None or entry.tb_frame.f_code.co_nlocals > 0)


def call_dlpack_device(obj: Any, facts: dict[str, Any]) -> dict[str, Any]:
    """Call `__dlpack_device__` and compare its result with the device in the tensor."""
    try:
        kind, number = method_of(obj, "__dlpack_device__")()
        device = (int(kind), int(number))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # as in call_dlpack
        return {"dlpack_device_error": f"{type(error).__name__}: {error}"}
    exported = facts.get("device")
    return {
        "dlpack_device": device,
        "dlpack_device_matches": None if exported is None else device == exported,
    }


def exchange_api_of(kind: type) -> ExchangeAPI | None:
    """Return the exchange API of a type, or None."""
    raw = _native._inspect_exchange_api(kind)
    return (
        None
        if raw is None
        else ExchangeAPI(raw["version"], raw.get("functions"), raw["prev_api"], raw["usable"])
    )


def not_inspectable(obj: object) -> TypeError:
    """Return the exception for an object that inspect() does not accept."""
    name = type_name(obj)
    if isinstance(obj, type):
        return TypeError(
            f"inspect() takes an array, and {obj!r} is a class: pass one of its instances"
        )
    missing = [name for name in DUNDERS if method_of(obj, name) is None]
    try:
        memoryview(obj)  # type: ignore[arg-type]
    except TypeError:
        hint = ""
    else:
        hint = "; it has the buffer protocol: inspect(refarray.from_buffer(x)) shows its memory"
    lacks = " and no ".join(missing)
    return TypeError(f"inspect() takes a DLPack producer or a capsule; {name} has no {lacks}{hint}")


def inspect(obj: object, /) -> Inspection:
    """Describe the tensors that a DLPack producer exports, or the tensor in a capsule.

    obj: a DLPack producer or a capsule. A producer is called twice, for a versioned and for a
        legacy capsule; both are released, so that the producer's deleter runs. One that raises
        something else than its refusal of a keyword is not called again. A capsule is only read
        and can still be consumed.

    The result prints as a table; `to_dict()` returns it for JSON. Raises TypeError for other
    objects, ValueError for a capsule that has been consumed or is not a DLPack capsule, and a
    producer's MemoryError and RecursionError; its other exceptions are part of the result.
    """
    name = type_name(obj)
    if name == "PyCapsule":
        return Inspection(name, **describe_capsule(obj))
    if isinstance(obj, type) or any(method_of(obj, name) is None for name in DUNDERS):
        raise not_inspectable(obj)
    versioned, facts, error = call_dlpack(obj, "versioned", max_version=dlpack_version())
    if error is not None and was_entered(error):  # a second call could call inspect() again
        legacy = Answer("legacy", "not asked", None, None, versioned.error)
    else:
        legacy, legacy_facts, _ = call_dlpack(obj, "legacy")
        facts = facts or legacy_facts
    facts |= call_dlpack_device(obj, facts)
    return Inspection(
        name, **facts, exchange_api=exchange_api_of(type(obj)), answers=(versioned, legacy)
    )


def dlpack_version() -> tuple[int, int]:
    """Return the DLPack version that refarray was built with and requests from producers."""
    version: tuple[int, int] = _native._build_info()["dlpack"]
    return version
