"""Exchange tables that corrupt one part of what they give or make, for some arrays only."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import KEPT
from mutants.corrupting import Table
from mutants.exchange_table import NAME, BrokenTable, adversary


class DLTensor(ctypes.Structure):
    """As in dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_uint64),
        ("strides", ctypes.c_uint64),
        ("byte_offset", ctypes.c_uint64),
    )


class Given:
    """The tensor that a function of the table gives or gets, with access to its members."""

    def __init__(self, address: int, flags: int) -> None:
        self.tensor = DLTensor.from_address(address)
        self.flags = ctypes.c_uint64.from_address(flags) if flags else ctypes.c_uint64(0)

    def entries(self, name: str) -> tuple[int, ...]:
        """Shape or strides."""
        address = getattr(self.tensor, name)
        if not address or not 0 < self.tensor.ndim < 8:
            return ()
        return tuple((ctypes.c_int64 * self.tensor.ndim).from_address(address))

    def replace(self, name: str, *values: int) -> None:
        """Points shape or strides at other numbers."""
        made = (ctypes.c_int64 * len(values))(*values)
        KEPT.append(made)
        setattr(self.tensor, name, ctypes.addressof(made))


LAZY: dict[type, Any] = {}


class HookedTable:
    """Descriptor: builds the table of a class, with its hook, at the first lookup."""

    def __get__(self, _: Any, kind: Any) -> Any:
        if kind not in LAZY:
            LAZY[kind] = adversary.mutant_table(ra.Array, kind, "hooked", kind.name, kind.hook)
        return LAZY[kind]


class Hooked(BrokenTable):
    """A table whose functions call `hook` on success; it changes the tensor, or replaces the array
    that to_py has made."""

    @staticmethod
    def hook(function: str, array: Any, tensor: int, flags: int) -> Any:
        return array


setattr(Hooked, NAME, HookedTable())

When = Callable[[Given], bool]
rows = Table(__name__)


def table_mutant(
    requirement: str, name: str, function: str, when: When, change: Callable[[Given], Any]
) -> None:
    """A table that applies `change` to the tensors of one function that `when` selects."""

    def hook(called: str, array: Any, tensor: int, flags: int) -> Any:
        if called == function and tensor:
            given = Given(tensor, flags)
            if when(given):
                change(given)
        return array

    rows.derive(requirement, name, Hooked, hook=staticmethod(hook))


def made_mutant(
    requirement: str, name: str, when: Callable[[Any], bool], change: Callable[[Any], Any]
) -> None:
    """A table whose to_py returns `change(array)` for the arrays that `when` selects."""

    def hook(called: str, array: Any, *_: int) -> Any:
        if called != "made" or not when(array.source):
            return array
        return change(array)

    rows.derive(requirement, name, Hooked, hook=staticmethod(hook))


def strided(*wanted: int) -> When:
    """Selects tensors with these strides."""
    return lambda given: given.entries("strides") == wanted


def typed(code: int, bits: int) -> When:
    """Selects tensors of a dtype."""
    return lambda given: (given.tensor.code, given.tensor.bits) == (code, bits)


def scalar(given: Given) -> bool:
    """Selects tensors without axes."""
    return bool(given.tensor.ndim == 0)


def put(**values: int) -> Callable[[Given], None]:
    """Sets members."""

    def change(given: Given) -> None:
        for name, value in values.items():
            setattr(given.tensor, name, value)

    return change


def shift(count: int) -> Callable[[Given], None]:
    """Moves the first element by a number of bytes."""

    def change(given: Given) -> None:
        given.tensor.data += count

    return change


def flag(bit: int) -> Callable[[Given], None]:
    """Sets a flag."""

    def change(given: Given) -> None:
        given.flags.value |= bit

    return change


def copied(given: Given) -> None:
    """Replaces the memory by a copy of it."""
    made = ctypes.create_string_buffer(ctypes.string_at(given.tensor.data, 148), 148)
    KEPT.append(made)
    given.tensor.data = ctypes.addressof(made)


for _prefix, _function, _id in (("From", "from_py", "CAPI-14"), ("Lend", "dltensor", "CAPI-15")):
    for _name, _when, _change in (
        ("TransposedRowMajor", strided(1, 3), lambda given: given.replace("strides", 2, 1)),
        ("ReversedForwards", strided(-1), lambda given: given.replace("strides", 1)),
        ("StridedShifted", strided(2), shift(4)),
        ("BroadcastContiguous", strided(0), lambda given: given.replace("strides", 1)),
        ("TransposedShapeSwapped", strided(1, 3), lambda given: given.replace("shape", 2, 3)),
        ("Int64AsUint64", typed(0, 64), put(code=1)),
        ("Complex64AsDouble", typed(5, 64), put(code=2)),
        ("HalfShifted", typed(2, 16), shift(2)),
        ("BoolOfOtherBits", typed(6, 8), put(bits=1)),
        ("StridedOnOtherDevice", strided(2), put(device_type=3)),
        ("ScalarWithByteOffset", scalar, put(byte_offset=4)),
        ("Float64Copied", typed(2, 64), copied),
    ):
        if (_prefix, _name) != ("Lend", "BroadcastContiguous"):  # read-only: it lends none
            table_mutant(_id, f"{_prefix}{_name}", _function, _when, _change)
table_mutant("CAPI-14", "FromFlagsStridedAsCopy", "from_py", strided(2), flag(2))
table_mutant("CAPI-14", "FromTransposedReadOnly", "from_py", strided(1, 3), flag(1))
table_mutant("CAPI-14", "FromStrayFlag", "from_py", typed(0, 8), flag(1 << 20))
for _name, _when, _change in (
    ("IgnoresByteOffset", lambda given: given.tensor.byte_offset == 8, put(byte_offset=0)),
    ("TransposedRowMajor", strided(1, 3), lambda given: given.replace("strides", 2, 1)),
    ("BroadcastContiguous", strided(0, 1), lambda given: given.replace("strides", 3, 1)),
    ("HalfAsBfloat16", typed(2, 16), put(code=4)),
    ("Int16AsUint16", typed(0, 16), put(code=1)),
    ("PermutedShape", strided(12, 1, 4), lambda given: given.replace("shape", 2, 3, 4)),
):
    table_mutant("CAPI-17", f"To{_name}", "to_py", _when, _change)


def zero_last(array: Any) -> Any:
    """The array with its last element set to zero."""
    array.source[-1] = 0
    return array


def leaked(array: Any) -> Any:
    """The array, which stays alive."""
    KEPT.append(array)
    return array


made_mutant("CAPI-17", "ToLosesTail", lambda array: array.shape == (37,), zero_last)
made_mutant("CAPI-17", "ToLeaksScalars", lambda array: array.shape == (), leaked)
made_mutant(
    "CAPI-17",
    "ToCopiesStrided",
    lambda array: array.strides == (2,),
    lambda array: type(array)(ra.copy(array.source)),
)
