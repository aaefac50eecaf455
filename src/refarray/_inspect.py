"""Owns inspect: what a DLPack producer or a capsule holds, read without consuming anything."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from refarray import _native
from refarray._devices import DLDeviceType

FLAGS = {1: "READ_ONLY", 2: "IS_COPIED", 4: "IS_SUBBYTE_TYPE_PADDED"}
PADDED = 4
CODES = ("int", "uint", "float", "opaque_handle", "bfloat", "complex")  # of any number of bits
SIZED_CODES = {
    6: ("bool", 8),
    7: ("float8_e3m4", 8),
    8: ("float8_e4m3", 8),
    9: ("float8_e4m3b11fnuz", 8),
    10: ("float8_e4m3fn", 8),
    11: ("float8_e4m3fnuz", 8),
    12: ("float8_e5m2", 8),
    13: ("float8_e5m2fnuz", 8),
    14: ("float8_e8m0fnu", 8),
    15: ("float6_e2m3fn", 6),
    16: ("float6_e3m2fn", 6),
    17: ("float4_e2m1fn", 4),
}
MOST_ALIGNED = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    """What `__dlpack__` answered to one request."""

    request: str
    struct: str | None
    version: tuple[int, int] | None
    error: str | None

    def __str__(self) -> str:
        return self.error or f"{self.struct}{version_text(self.version)}"


@dataclass(frozen=True, slots=True)
class ExchangeAPI:
    """The C exchange table that a type offers."""

    version: tuple[int, int]
    functions: dict[str, bool] | None  # None: of a foreign major version, not to be read
    prev_api: bool
    usable: bool

    def __str__(self) -> str:
        text = f"{self.version[0]}.{self.version[1]}"
        if self.functions is not None:
            missing = [name for name, there in self.functions.items() if not there]
            text += f", without {', '.join(missing)}" if missing else f", all {len(self.functions)} functions"
        text += ", an older table behind it" if self.prev_api else ""
        return text + ("" if self.usable else ", not usable")


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found. Fields are None where there is nothing to read or a foreign major version forbids reading."""

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
        """Everything as dicts, lists, strings, numbers and None: what JSON can carry."""
        plain: dict[str, Any] = as_plain(asdict(self))
        return plain

    def __repr__(self) -> str:
        lines = [*self._tensor_lines(), *self._type_lines()]
        width = max(len(name) for name, _ in lines)
        return "\n".join([f"inspection of {self.subject}", *(f"  {name:<{width}}  {text}" for name, text in lines)])

    def _tensor_lines(self) -> list[tuple[str, str]]:
        if self.struct is None:
            return [("capsule", f"{self.capsule_name!r}" if self.capsule_name else "none: nothing was exported")]
        lines = [
            ("capsule", f"{self.capsule_name!r}: {self.struct}{version_text(self.version)}"),
            ("flags", "a legacy struct has none" if self.flags is None else flags_text(self.flags)),
        ]
        if self.dtype is None or self.device is None:
            return [*lines, ("tensor", "not read: its major version is not ours")]
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
        return f"; __dlpack_device__ says {'the same' if self.dlpack_device_matches else self.dlpack_device}"

    def _type_lines(self) -> list[tuple[str, str]]:
        if not self.answers:
            return []
        lines = [("asked for " + answer.request, str(answer)) for answer in self.answers]
        return [*lines, ("exchange API", "not offered" if self.exchange_api is None else str(self.exchange_api))]


def as_plain(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    if isinstance(value, dict):
        return {name: as_plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    return value


def version_text(version: tuple[int, int] | None) -> str:
    """" 1.3", or nothing for a legacy struct."""
    return "" if version is None else f" {version[0]}.{version[1]}"


def flag_names(flags: int) -> tuple[str, ...]:
    """The names of the bits that are set; unknown ones by number."""
    bits = [1 << i for i in range(flags.bit_length()) if flags >> i & 1]
    return tuple(FLAGS.get(bit, f"unknown bit {bit:#x}") for bit in bits)


def flags_text(flags: int) -> str:
    """Flags for people."""
    return f"{' | '.join(flag_names(flags)) or 'none set'} ({flags})"


def device_name(device: tuple[int, int]) -> str:
    """"cpu", "cuda:0": our own names where we have them, DLPack's otherwise."""
    kind, number = device
    hosts = {1: "cpu", 3: "cuda_host", 11: "rocm_host"}
    if kind in hosts:
        return hosts[kind]
    ours = {2: "cuda", 10: "rocm", 13: "cuda_managed"}
    if kind in ours:
        return f"{ours[kind]}:{number}"
    known = {int(member): member.name for member in DLDeviceType}
    return f"{known.get(kind, f'unknown type {kind}')}:{number}"


def dtype_name(dtype: tuple[int, int, int], padded: bool) -> str:
    """The name of a DLPack dtype, whether or not refarray carries it."""
    code, bits, lanes = dtype
    if code in SIZED_CODES:
        base, expected = SIZED_CODES[code]
        name = base if bits == expected else f"{base} of {bits} bits"
    else:
        name = f"{CODES[code]}{bits}" if code < len(CODES) else f"unknown code {code} of {bits} bits"
    return name + (f"x{lanes}" if lanes != 1 else "") + ("_padded" if padded else "")


def packed_strides(shape: tuple[int, ...], axes: range) -> dict[int, int]:
    """Strides of contiguous data whose last-varying axis is the first of `axes`."""
    strides, stride = {}, 1
    for axis in axes:
        strides[axis] = stride
        stride *= shape[axis]
    return strides


def layout_text(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> str:
    """How the elements lie, in words. Axes of extent 1 have no say."""
    if math.prod(shape) == 0:
        return "empty"
    if strides is None:
        return "row-major"
    ndim = len(shape)
    told = [axis for axis in range(ndim) if shape[axis] != 1]
    rows = packed_strides(shape, range(ndim - 1, -1, -1))
    columns = packed_strides(shape, range(ndim))
    if all(strides[axis] == rows[axis] for axis in told):
        return "row-major" if len(told) > 1 else "contiguous"
    if all(strides[axis] == columns[axis] for axis in told):
        return "column-major"
    if any(strides[axis] == 0 for axis in told):
        return "strided, elements repeated (stride 0)"
    return "strided, backwards on some axis" if any(strides[axis] < 0 for axis in told) else "strided"


def element_bytes(shape: tuple[int, ...], dtype: tuple[int, int, int], padded: bool) -> int:
    """Bytes of the elements of a compact copy: bits are summed first where elements are packed (A-05)."""
    bits = dtype[1] * dtype[2]
    if padded:
        bits = (bits + 7) // 8 * 8
    return (math.prod(shape) * bits + 7) // 8


def alignment_of(address: int) -> int:
    """The largest power of two that divides an address, up to a page."""
    return min(address & -address, MOST_ALIGNED)


def describe_capsule(capsule: object) -> dict[str, Any]:
    """The fields of Inspection that one capsule answers."""
    raw = _native._inspect_capsule(capsule)
    flags = raw["flags"]
    facts: dict[str, Any] = {"capsule_name": raw["name"], "struct": raw["struct"], "version": raw["version"]}
    facts |= {"flags": flags, "manager_ctx": raw["manager_ctx"], "deleter": raw["deleter"]}
    if flags is not None:
        facts["flag_names"] = flag_names(flags)
    if "dtype" not in raw:
        return facts
    facts |= {name: raw[name] for name in ("device", "dtype", "ndim", "shape", "strides", "byte_offset", "data")}
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


def ask(obj: Any, request: str, **keywords: object) -> tuple[Answer, dict[str, Any]]:
    """Asks `__dlpack__` once. The capsule is dropped unconsumed, so that its destructor calls the deleter."""
    try:
        facts = describe_capsule(type(obj).__dlpack__(obj, **keywords))
    except Exception as error:  # a producer may raise anything; what it said is part of the answer
        return Answer(request, None, None, f"{type(error).__name__}: {error}"), {}
    return Answer(request, facts["struct"], facts["version"], None), facts


def ask_device(obj: Any, facts: dict[str, Any]) -> dict[str, Any]:
    """What `__dlpack_device__` says, and whether it is what the struct says."""
    try:
        kind, number = type(obj).__dlpack_device__(obj)
        device = (int(kind), int(number))
    except Exception as error:  # as in ask
        return {"dlpack_device_error": f"{type(error).__name__}: {error}"}
    exported = facts.get("device")
    return {"dlpack_device": device, "dlpack_device_matches": None if exported is None else device == exported}


def exchange_api_of(kind: type) -> ExchangeAPI | None:
    """The exchange table of a type, or None."""
    raw = _native._inspect_exchange_api(kind)
    return None if raw is None else ExchangeAPI(raw["version"], raw.get("functions"), raw["prev_api"], raw["usable"])


def type_name(obj: object) -> str:
    """The type of an object, with its module unless it is a builtin."""
    return f"{type(obj).__module__}.{type(obj).__qualname__}".removeprefix("builtins.")


def refuse(obj: object) -> TypeError:
    """Why `obj` is nothing to inspect."""
    name = type_name(obj)
    if isinstance(obj, type):
        return TypeError(f"inspect() takes an array, and {obj!r} is a class: pass one of its instances")
    missing = [name for name in ("__dlpack__", "__dlpack_device__") if not hasattr(type(obj), name)]
    try:
        memoryview(obj)  # type: ignore[arg-type]
    except TypeError:
        hint = ""
    else:
        hint = "; it has the buffer protocol: inspect(refarray.from_buffer(...)) shows how that is read"
    return TypeError(f"inspect() takes a DLPack producer or a capsule; {name} has no {' and no '.join(missing)}{hint}")


def inspect(obj: object, /) -> Inspection:
    """What a DLPack producer exports, or what a capsule holds, without consuming it.

    A producer is asked twice, as old and as new consumers do; both capsules are dropped, so that the producer's own
    deleter runs. A bare capsule is only looked at and can still be consumed. The result prints as a table; its
    `to_dict()` is ready for JSON.

    Raises TypeError for an object that is neither, ValueError for a capsule that was consumed or holds something else.
    """
    name = type_name(obj)
    if name == "PyCapsule":
        return Inspection(name, **describe_capsule(obj))
    dunders = ("__dlpack__", "__dlpack_device__")
    if isinstance(obj, type) or not all(hasattr(type(obj), dunder) for dunder in dunders):
        raise refuse(obj)
    ours = dlpack_version()
    newest, facts = ask(obj, f"max_version={ours}", max_version=ours)
    legacy, legacy_facts = ask(obj, "a legacy capsule")
    facts = facts or legacy_facts
    facts |= ask_device(obj, facts)
    return Inspection(
        name, **facts, exchange_api=exchange_api_of(type(obj)), answers=(newest, legacy)
    )


def dlpack_version() -> tuple[int, int]:
    """The version that we ask for: the one we were built with."""
    version: tuple[int, int] = _native._build_info()["dlpack"]
    return version
