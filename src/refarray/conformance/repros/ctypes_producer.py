"""Lines of a script that make a producer with given fields by ctypes, as `give` is in the kit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from refarray._system import system
from refarray.conformance.harness.corpus import FLOATS
from refarray.conformance.harness.memory import row_major

NEW = (
    "new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)"
    '(("PyCapsule_New", ctypes.pythonapi))'
)
PAGES = (
    "pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)",
    "edge = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE",
    system.PROTECT.format("edge", system.NO_ACCESS) + "  # no access",
)
READ_ONLY = system.PROTECT.format("edge - mmap.PAGESIZE", system.READ_ONLY)
DESTRUCTOR = (
    (
        "valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)"
        '(("PyCapsule_IsValid", ctypes.pythonapi))'
    ),
    "unused = lambda c: any(valid(c, name) for name in (b'dltensor', b'dltensor_versioned'))",
    (
        "destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)"
        "(lambda c: unused(c) and deleted.append(c) or None)"
    ),
)
"""The destructor of a capsule: deletes the tensor of an unused one."""
FROZEN = {"legacy": 64, "tensor": 144, "shape": 1024, "strides": 2048}
"""Where a producer's parts lie on its read-only page: bytes before the page's end."""
CODE = ("raises", "returns", "dunder_device", "table")
"""Fields whose value is Python code, not a literal."""
KNOWN = {
    *("shape", "strides", "data", "dtype", "device", "byte_offset", "ndim", "flags", "version"),
    *("versioned", "deleter", "manager_ctx", "data_offset", "guarded", "frozen", "unmapped_body"),
    *("knows", "name", "forced", *CODE),
}
"""The fields of `give` that a script can have."""


class CannotStandAlone(Exception):
    """The kit's repro uses something that a script cannot do without refarray."""


@dataclass(frozen=True)
class CtypesProducer:
    """A producer named `given`, with the fields of a call of `give`."""

    fields: Mapping[str, Any]
    reads: str
    """The code that follows. What it does not use is left out."""
    methods: bool = True
    """Whether it has the protocol's methods; without them it is a struct only."""

    @property
    def legacy_only(self) -> bool:
        """Whether it exports the legacy struct whatever the consumer asks for."""
        return self.fields.get("versioned") is False

    @property
    def versioned_only(self) -> bool:
        """Whether the fields exist in the versioned struct only."""
        pinned = {"version", "flags", "unmapped_body", "table"} & set(self.fields)
        return bool(pinned) or self.fields.get("versioned") is True

    @property
    def at_edge(self) -> bool:
        """Whether something lies on a read-only page, or before one that cannot be read."""
        return any(map(self.fields.get, ("guarded", "frozen", "unmapped_body")))

    def lines(self) -> Iterator[str]:
        if unknown := self.fields.keys() - KNOWN:
            raise CannotStandAlone(f"give() with {', '.join(sorted(unknown))}")
        if not {"raises", "returns"} & set(self.fields):
            if self.at_edge:
                yield from PAGES
            yield from self.memory()
            yield from self.structs()
            if self.fields.get("frozen"):
                yield f"{READ_ONLY}  # read-only"
        if self.methods:
            yield from self.with_methods()

    def memory(self) -> Iterator[str]:
        data = self.fields.get("data", FLOATS)
        if isinstance(data, bytes):
            size = max(len(data), 16)
            text = (
                "struct.pack('16f', *range(16))" if data == FLOATS else repr(data.ljust(16, b"\0"))
            )
            yield (
                f"data = (ctypes.c_char * {size}).from_buffer(mmap.mmap(-1, {size}))"
                f"; data.raw = {text}"
            )
        shape = self.fields.get("shape", (3,))
        rows = row_major(shape) if isinstance(shape, tuple) else ()
        strides = self.fields.get("strides", rows)
        out = []
        for name, value in (("shape", shape), ("strides", strides)):
            if not isinstance(value, tuple):
                continue
            count = max(1, len(value))
            guarded = name == "shape" and self.fields.get("guarded")
            if guarded or self.fields.get("frozen"):
                before = 8 * count if guarded else FROZEN[name]
                out.append(f"{name} = (ctypes.c_int64 * {count}).from_address(edge - {before})")
                out.append(f"{name}[:] = {list(value)}")
            else:
                out.append(f"{name} = (ctypes.c_int64 * {count})({', '.join(map(str, value))})")
        if out:
            yield "; ".join(out)

    def address(self, name: str, default: Any) -> str:
        """The expression of the address in a field."""
        value = self.fields.get(name, default)
        if value is None:
            return "0"
        return hex(value) if isinstance(value, int) else f"ctypes.addressof({name})"

    def structs(self) -> Iterator[str]:
        fields = self.fields
        shape = fields.get("shape", (3,))
        ndim = fields.get("ndim", len(shape) if isinstance(shape, tuple) else 0)
        data = self.address("data", FLOATS)
        if offset := fields.get("data_offset"):
            data += f" + {offset}"
        dtype = ", ".join(map(str, fields.get("dtype", (2, 32, 1))))
        device = ", ".join(map(str, fields.get("device", (1, 0))))
        yield (
            f'body = struct.pack("PiiiBBHPPQ", {data}, {device}, {ndim}, {dtype}, '
            f"{self.address('shape', ())}, {self.address('strides', ())}, "
            f"{fields.get('byte_offset', 0)})  # DLTensor: data, device, ndim, dtype, …"
        )
        end = "0"
        if fields.get("deleter", True) is not None:
            made = "ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleted.append)"
            yield f"deleted = []; deleter = {made}"
            if "len(deleted)" in self.reads:
                yield from DESTRUCTOR
            end = "ctypes.cast(deleter, ctypes.c_void_p).value"
        if not self.legacy_only:
            major, minor = fields.get("version", (1, 3))
            head = f'struct.pack("IIPPQ", {major}, {minor}, 0, {end}, {fields.get("flags", 0)})'
            if fields.get("unmapped_body"):
                yield f"tensor = (ctypes.c_char * 32).from_address(edge - 32); tensor.raw = {head}"
            else:
                yield self.struct("tensor", f"{head} + body", 80)
        if not self.versioned_only:
            yield self.struct("legacy", f'body + struct.pack("PP", 0, {end})', 64)

    def struct(self, name: str, content: str, size: int) -> str:
        """The line that makes a struct."""
        if not self.fields.get("frozen"):
            return f"{name} = ctypes.create_string_buffer({content}, {size})"
        made = f"{name} = (ctypes.c_char * {size}).from_address(edge - {FROZEN[name]})"
        return f"{made}; {name}.raw = {content}"

    def with_methods(self) -> Iterator[str]:
        """The class of the producer, and the producer."""
        if not {"raises", "returns"} & set(self.fields):
            yield NEW
        device = self.fields.get("dunder_device", str(self.fields.get("device", (1, 0))))
        note = "called.append('__dlpack_device__'); " if "called" in self.reads else ""
        raises = device.startswith(("BufferError", "Exception"))
        yield "class Given:"
        yield f"    def __dlpack_device__(self): {note}{'raise' if raises else 'return'} {device}"
        if table := self.fields.get("table"):
            yield f"    __dlpack_c_exchange_api__ = {table}"
        body = list(self.body())
        head = "    def __dlpack__(self, **keywords):"
        if (knows := self.fields.get("knows")) is not None:
            names = ", ".join(["self", *(f"{name}=None" for name in knows.split())])
            head = f"    def __dlpack__({names}):"
            body.insert(0, "keywords = vars() | {}; del keywords['self']")
        if len(body) == 1:
            yield f"{head} {body[0]}"
        else:
            yield from (head, *(f"        {x}" for x in body))
        lists = [name for name in ("asked", "called", "capsules") if name in self.reads]
        empty = "; ".join(f"{name} = []" for name in lists)
        yield f"given = Given(){f'; {empty}' if empty else ''}"

    def body(self) -> Iterator[str]:
        if "called" in self.reads:
            yield "called.append('__dlpack__')"
        if "asked" in self.reads:
            yield "asked.append(keywords)"
        if raises := self.fields.get("raises"):
            yield f"raise {raises}"
            return
        if returns := self.fields.get("returns"):
            yield f"return {returns}"
            return
        yield from self.capsules()

    def capsules(self) -> Iterator[str]:
        name = self.fields.get("name", "")
        names = [
            repr(name.encode()) if name else "None" if name is None else repr(usual)
            for usual in (b"dltensor_versioned", b"dltensor")
        ]
        counts = "len(deleted)" in self.reads and self.fields.get("deleter", True) is not None
        end = "destructor" if counts else "None"
        versioned, legacy = (
            f"new(ctypes.addressof({struct}), {each}, {end})"
            for struct, each in zip(("tensor", "legacy"), names, strict=True)
        )
        if self.legacy_only or self.versioned_only:
            text = legacy if self.legacy_only else versioned
        else:
            text = f'{versioned} if keywords.get("max_version") else {legacy}'
        if "capsules" in self.reads:
            yield f"capsules.append({text})"
            yield "return capsules[-1]"
        else:
            yield f"return {text}"
