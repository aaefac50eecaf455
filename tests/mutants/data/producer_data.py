"""Producers that corrupt one part of some exports: layout, values, dtype, device or flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import KEPT, Array, breaks, fields, forge, producer
from mutants.corrupting import (
    Change,
    Copy,
    Held,
    Table,
    When,
    dtype,
    legacy,
    set_to,
    shape,
    strides,
    versioned,
)
from refarray.conformance import _adversary

rows = Table(__name__)
corrupt, flagged = rows.corrupt, rows.flagged


def is_slice(array: Any, *_: Any) -> bool:
    """Selects contiguous slices that do not start at their base's first element."""
    return array.ndim == 1 and 0 < array.size < 6 and array.strides == (1,) and starts_late(array)


def starts_late(array: Any) -> bool:
    """Whether the array is a view that begins after its storage does; storage is aligned to 64."""
    held = fields(array.__dlpack__(max_version=(1, 3), copy=False))
    return bool((held["data"] + held["byte_offset"]) % 64)


def at_address(offset: int) -> Change:
    """Moves element (0, ..., 0) by `offset` bytes."""
    return lambda _, held, __: {
        "data": held["data"] + held["byte_offset"] + offset,
        "byte_offset": 0,
    }


corrupt("ABI-05", "DropsNegativeSign", strides(-1), set_to(strides=(1,)))
corrupt("TENS-01", "ReversedFromLowestAddress", strides(-1), at_address(-20))
corrupt("ABI-05", "TransposedAsRowMajor", strides(1, 3), set_to(strides=(2, 1)))
corrupt("ABI-05", "TransposedShapeSwapped", strides(1, 3), set_to(shape=(2, 3)))
corrupt("ABI-05", "BroadcastAsContiguous", strides(0), set_to(strides=(1,)))
corrupt("TENS-01", "SliceFromStorageStart", is_slice, at_address(-8))
corrupt("TENS-01", "SliceOffsetInElements", is_slice, at_address(-6))
corrupt(
    "TENS-01",
    "TransposedForCpuFromSecond",
    lambda array, held, asked: asked["dl_device"] == (1, 0) and array.strides == (1, 3),
    at_address(4),
)
corrupt("TENS-01", "ScalarOfNextElement", shape(), at_address(4))
corrupt("ABI-05", "EmptyAxesSwapped", shape(2, 0), set_to(shape=(0, 2)))
corrupt("ABI-05", "EmptyOfOneAxis", shape(2, 0), set_to(shape=(0,), strides=(1,), ndim=1))
corrupt("ABI-05", "ScalarAsOneElement", shape(), set_to(shape=(1,), strides=(1,), ndim=1))
corrupt("TENS-01", "Int64Shifted", dtype(0, 64), at_address(8))
corrupt("TENS-01", "BoolShifted", dtype(6, 8), at_address(1))
corrupt("TENS-01", "Complex128Shifted", dtype(5, 128), at_address(8))
corrupt("TENS-01", "Float8Shifted", dtype(12, 8), at_address(2))
corrupt("TENS-01", "StridedShifted", strides(2), at_address(4))
corrupt("ABI-05", "TwiceTheStridesOfInt16", dtype(0, 16), set_to(strides=(2,)))
corrupt(
    "ABI-05",
    "OneElementLessOfInt32",
    dtype(0, 32),
    lambda _, held, __: {"shape": (held["shape"][0] - 1,)},
)
corrupt("ABI-05", "LegacyTransposedAsRowMajor", legacy(strides(1, 3)), set_to(strides=(2, 1)))
corrupt("TENS-01", "LegacySliceFromStorageStart", legacy(is_slice), at_address(-8))
corrupt("TENS-01", "LegacyStridedShifted", legacy(strides(2)), at_address(4))
corrupt("DTYPE-04", "LegacyComplex128Halved", legacy(dtype(5, 128)), set_to(dtype=(5, 64, 1)))
corrupt("DTYPE-02", "LegacyUint64AsInt64", legacy(dtype(1, 64)), set_to(dtype=(0, 64, 1)))
corrupt("DEV-03", "LegacyStridedPinned", legacy(strides(2)), set_to(device=(3, 0)))
corrupt("DEV-03", "Int8OnOtherDevice", dtype(0, 8), set_to(device=(2, 0)))
corrupt("DTYPE-02", "Uint16AsInt16", dtype(1, 16), set_to(dtype=(0, 16, 1)))
corrupt("DTYPE-03", "HalfAsBfloat16", dtype(2, 16), set_to(dtype=(4, 16, 1)))
corrupt("DTYPE-04", "Complex64AsDouble", dtype(5, 64), set_to(dtype=(2, 64, 1)))
corrupt("DTYPE-06", "Float8AsByte", dtype(12, 8), set_to(dtype=(1, 8, 1)))
corrupt("DTYPE-03", "StridedWithTwoLanes", strides(2), set_to(dtype=(2, 32, 2)))


def is_read_only_view(array: Any, *_: Any) -> bool:
    """Selects read-only arrays that are not contiguous."""
    return bool(array.readonly) and array.ndim > 0 and array.strides[-1] != 1


flagged("FLAG-02", "ReadOnlyStridedWritable", is_read_only_view, lambda flags: flags & ~1)
flagged(
    "FLAG-02",
    "TransposedReadOnly",
    lambda array, held, _: array.strides == (1, 3) and not held["flags"],
    lambda flags: flags | 1,
)
flagged(
    "FLAG-04",
    "ReversedFlaggedAsCopy",
    strides(-1),
    lambda flags: flags | 2,
)
flagged("FLAG-01", "StrayFlagOnInt64", dtype(0, 64), lambda flags: flags | 1 << 33)
flagged("FLAG-03", "CopyOfStridedUnflagged", strides(2), lambda flags: flags & ~2, (True,))
flagged("FLAG-03", "CopyOfInt64Unflagged", dtype(0, 64), lambda flags: flags & ~2, (True,))
flagged("FLAG-07", "PaddedFlagOnBool", dtype(6, 8), lambda flags: flags | 4)


def copy_of(
    requirement: str,
    name: str,
    when: When,
    make: Callable[[Any], Any],
    copy: Copy = (True,),
) -> None:
    """A producer whose copies of what `when` selects are exports of `make(array)`, an array of
    its own."""

    def export(array: Any, held: Held, _: Held) -> Any:
        made = make(array)
        KEPT.append(made)
        capsule = made.__dlpack__(**({"max_version": (1, 3)} if held["versioned"] else {}))
        return forge(capsule, flags=held["flags"] | 2) if held["versioned"] else capsule

    corrupt(requirement, name, when, export, copy)


def first_values(array: Any) -> Any:
    """The values in memory from element 0 on, regardless of the strides."""
    start = array.__dlpack__(max_version=(1, 3), copy=False)
    held = fields(start)
    KEPT.append(start)
    rows = ra.from_dlpack(_adversary.make(**{**held, **contiguous(held["shape"])}))
    return ra.copy(rows)


def contiguous(extents: tuple[int, ...]) -> Held:
    """Shape and row-major strides."""
    made, step = [], 1
    for extent in reversed(extents):
        made.insert(0, step)
        step *= extent
    return {"shape": extents, "strides": tuple(made)}


def zero_tail(array: Any) -> Any:
    """A copy whose last element is zero."""
    made = ra.copy(array)
    made[-1] = 0
    return made


copy_of("PROD-11", "CopyIgnoresStrides", versioned(strides(2)), first_values)
copy_of(
    "PROD-11", "CopyOfReversedForwards", versioned(strides(-1)), lambda array: ra.copy(array[::-1])
)
copy_of("PROD-11", "CopyOfTransposedInMemoryOrder", versioned(strides(1, 3)), first_values)
copy_of(
    "PROD-11",
    "CopyOfInt64Zeroed",
    versioned(dtype(0, 64)),
    lambda array: ra.zeros(array.shape, dtype=ra.int64),
)
copy_of(
    "PROD-11",
    "CopyOfScalarZeroed",
    versioned(shape()),
    lambda array: ra.zeros((), dtype=array.dtype),
)
copy_of(
    "PROD-11",
    "CopyLosesLastElement",
    versioned(lambda array, *_: array.ndim == 1 and array.size == 37),
    zero_tail,
)
copy_of("PROD-16", "LegacyCopyIgnoresStrides", legacy(strides(2)), first_values)
copy_of(
    "PROD-11",
    "CopyOfReadOnlyZeroed",
    versioned(lambda array, *_: bool(array.readonly)),
    lambda array: ra.zeros(array.shape, dtype=array.dtype),
)
copy_of("TENS-18", "TransposedCopied", strides(1, 3), ra.copy, (None,))
copy_of("TENS-18", "Float64Copied", dtype(2, 64), ra.copy, (None,))
copy_of("TENS-18", "SliceCopied", is_slice, ra.copy, (None,))


def shares(requirement: str, name: str, when: When) -> None:
    """A producer that shares what `when` selects under copy=True and says that it is a copy."""

    def export(array: Any, held: Held, _: Held) -> Any:
        version = {"max_version": (1, 3)} if held["versioned"] else {}
        capsule = array.__dlpack__(**version)
        return forge(capsule, flags=2) if version else capsule

    corrupt(requirement, name, lambda a, h, k: not a.readonly and when(a, h, k), export, (True,))


shares("PROD-11", "CopySharesStrided", versioned(strides(2)))
shares("PROD-11", "CopySharesFloat64", versioned(dtype(2, 64)))
shares("PROD-11", "CopySharesTransposed", versioned(strides(1, 3)))
shares("PROD-16", "LegacyCopySharesReversed", legacy(strides(-1)))


def copies_anyway(name: str, when: When) -> None:
    """A producer that copies what `when` selects under copy=False, without a flag."""

    def export(array: Any, held: Held, _: Held) -> Any:
        made = ra.copy(array)
        KEPT.append(made)
        return made.__dlpack__(**({"max_version": (1, 3)} if held["versioned"] else {}))

    corrupt("PROD-12", name, when, export, (False,))


copies_anyway("CopyFalseCopiesReversed", strides(-1))
copies_anyway("CopyFalseCopiesInt32", dtype(0, 32))
copies_anyway("CopyFalseCopiesScalar", shape())
copies_anyway("CopyFalseCopiesLegacyStrided", legacy(strides(2)))


@breaks("TENS-18")
class SecondExportShifted(Array):
    """Every export of a strided array after the first starts one element late."""

    def export(self, keywords: Held) -> Any:
        capsule = super().export(keywords)
        if self.source.strides != (2,) or keywords["copy"] is not None:
            return capsule
        if not hasattr(self, "exported"):
            self.exported = True
            return capsule
        return forge(capsule, byte_offset=fields(capsule)["byte_offset"] + 4)


class TwoFaults(Array):
    """Exports transposed arrays with the wrong strides and from the wrong element: two findings."""

    def export(self, keywords: Held) -> Any:
        capsule = super().export(keywords)
        if self.source.strides != (1, 3) or keywords["copy"] is True:
            return capsule
        return forge(capsule, strides=(2, 1), data=fields(capsule)["data"] + 4)


twofaults = producer(TwoFaults)
