"""Consumers that misread, copy, share or keep some of the tensors that they import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import refarray as ra
from mutants.base import KEPT, Relabelled, fields, named, results
from mutants.consumer_results import field
from refarray.conformance import _adversary

When = Callable[[Any, Any], bool]
Then = Callable[[Any, Any, Any], Any]


def reforged(taken: Any, **changes: Any) -> Any:
    """The imported array described by other fields, over the same memory."""
    capsule = taken.__dlpack__(max_version=(1, 3))
    place = {"capsule": capsule, "taken": taken}
    return ra.from_dlpack(_adversary.make(**{**fields(capsule), **changes, "deleter": place.clear}))


def misread(requirement: str, name: str, when: When, then: Then) -> None:
    """A consumer that returns `then(array, producer, copy)` for what `when(producer, copy)`
    selects."""

    def result(taken: Any, x: Any, copy: Any) -> Any:
        return then(taken, x, copy) if when(x, copy) else taken

    results(requirement)(named(result, name, __name__))


def tensor(shape: tuple[int, ...], strides: tuple[int, ...], **more: Any) -> When:
    """Selects the kit's tensors of this layout, imported without copy=."""

    def selects(x: Any, copy: Any) -> bool:
        same = field(x, "shape") == shape and field(x, "strides") == strides
        return (
            same and copy is None and all(field(x, name) == value for name, value in more.items())
        )

    return selects


def dtype(code: int, bits: int) -> When:
    """Selects the kit's tensors of 37 elements of a dtype, imported without copy=."""
    return lambda x, copy: (
        field(x, "dtype") == (code, bits, 1) and field(x, "shape") == (37,) and copy is None
    )


def given_copy(value: Any, when: When) -> When:
    """Selects what `when` does among imports with copy=value."""
    return lambda x, copy: copy is value and when(x, None)


def changed(**changes: Any) -> Then:
    """Other fields over the same memory."""
    return lambda taken, *_: reforged(taken, **changes)


def moved(count: int) -> Then:
    """The first element is so many bytes further on."""

    def then(taken: Any, *_: Any) -> Any:
        held = fields(taken.__dlpack__(max_version=(1, 3)))
        address = held["data"] + held["byte_offset"] + count
        return reforged(taken, data=address, byte_offset=0)

    return then


def of_zeros(taken: Any, *_: Any) -> Any:
    """Zeros in place of the values."""
    return ra.zeros(taken.shape, dtype=taken.dtype)


def a_copy(taken: Any, *_: Any) -> Any:
    """A copy in place of the shared array."""
    return ra.copy(taken)


def the_memory(_: Any, x: Any, __: Any) -> Any:
    """The producer's own memory, in place of a copy."""
    return ra.from_dlpack(x)


TRANSPOSED = tensor((3, 2), (1, 3))
STRIDED = tensor((3,), (2,), byte_offset=None)
misread("ABI-05", "transposed_as_row_major", TRANSPOSED, changed(strides=(2, 1)))
misread("ABI-05", "transposed_shape_swapped", TRANSPOSED, changed(shape=(2, 3)))
misread("ABI-05", "strided_as_contiguous", STRIDED, changed(strides=(1,)))
misread("ABI-05", "broadcast_as_contiguous", tensor((3,), (0,)), changed(strides=(1,)))
misread("ABI-05", "broadcast_rows_as_rows", tensor((2, 3), (0, 1)), changed(strides=(3, 1)))
misread(
    "ABI-05", "permuted_as_row_major", tensor((2, 4, 3), (12, 1, 4)), changed(strides=(12, 3, 1))
)
misread(
    "ABI-05", "empty_of_one_axis", tensor((2, 0), (1, 1)), lambda *_: ra.zeros(0, dtype=ra.float32)
)
misread("TENS-12", "reversed_as_forwards", tensor((6,), (-1,)), changed(strides=(1,)))
misread("TENS-12", "reversed_rows_forwards", tensor((3, 2), (-2, 1)), changed(strides=(2, 1)))
misread("TENS-01", "strided_without_offset", tensor((3,), (2,), byte_offset=4), moved(-4))
INNER = tensor((2, 2), (4, 1))
misread(  # that it shares the wrong elements under copy=False, too, is no copy
    "TENS-01", "inner_without_offset", lambda x, copy: INNER(x, copy or None), moved(-4)
)
misread("TENS-01", "scalar_without_offset", tensor((), (), byte_offset=12), moved(-12))
misread(
    "TENS-01",
    "legacy_without_offset",
    tensor((3,), (1,), byte_offset=8, versioned=False),
    moved(-8),
)
misread("TENS-01", "scalar_of_zero", tensor((), (), byte_offset=None), moved(64))
misread("TENS-01", "one_by_one_shifted", tensor((1, 1), (1, 1)), moved(4))


def tail_shifted(taken: Any, *_: Any) -> Any:
    """A copy whose last element is another, which a loop over whole vectors would leave out."""
    held = ra.copy(taken)
    held[-1] = 0
    return held


for _id, _name, _code, _bits, _wrong in (
    ("DTYPE-01", "bool_shifted", 6, 8, moved(1)),
    ("DTYPE-02", "int64_shifted", 0, 64, moved(8)),
    ("DTYPE-02", "uint8_as_int8", 1, 8, changed(dtype=(0, 8, 1))),
    ("DTYPE-02", "int32_as_float", 0, 32, changed(dtype=(2, 32, 1))),
    ("DTYPE-02", "uint64_as_int64", 1, 64, changed(dtype=(0, 64, 1))),
    ("DTYPE-03", "half_as_bfloat16", 2, 16, changed(dtype=(4, 16, 1))),
    ("DTYPE-03", "double_strided", 2, 64, changed(strides=(0,))),
    ("DTYPE-04", "complex64_shifted", 5, 64, moved(4)),
    ("DTYPE-04", "complex128_shifted", 5, 128, moved(8)),
    ("DTYPE-05", "bfloat16_as_half", 4, 16, changed(dtype=(2, 16, 1))),
    ("DTYPE-06", "e5m2_as_e4m3fn", 12, 8, changed(dtype=(10, 8, 1))),
    ("DTYPE-06", "e4m3fn_shifted", 10, 8, moved(1)),
):
    misread(_id, _name, dtype(_code, _bits), _wrong)

misread("TENS-18", "copies_strided", STRIDED, a_copy)
misread("TENS-18", "copies_transposed", TRANSPOSED, a_copy)
misread("TENS-18", "copies_double", dtype(2, 64), a_copy)
misread("TENS-18", "copies_legacy_odd", tensor((37,), (1,), versioned=False, dtype=None), a_copy)
misread("COPY-06", "copy_false_copies_strided", given_copy(False, STRIDED), a_copy)
misread("COPY-06", "copy_false_copies_bool", given_copy(False, dtype(6, 8)), a_copy)
misread(
    "COPY-06",
    "copy_false_copies_scalar",
    given_copy(False, tensor((), (), byte_offset=None)),
    a_copy,
)


def ignored_copy(when: When) -> When:
    """Selects what `when` does among imports with copy=True from a producer that ignores it."""
    return lambda x, copy: copy is True and field(x, "flags") is None and when(x, None)


def served_copy(when: When) -> When:
    """Selects what `when` does among imports with copy=True from a producer that copies."""
    return lambda x, copy: copy is True and field(x, "flags") == 2 and when(x, None)


misread("COPY-07", "copy_shares_strided", ignored_copy(STRIDED), the_memory)
misread("COPY-07", "copy_shares_transposed", ignored_copy(TRANSPOSED), the_memory)
misread("COPY-07", "copy_shares_int16", ignored_copy(dtype(0, 16)), the_memory)
misread("COPY-07", "copy_of_strided_in_memory_order", ignored_copy(STRIDED), of_zeros)
misread("COPY-07", "copy_of_reversed_zeroed", ignored_copy(tensor((6,), (-1,))), of_zeros)
misread("COPY-07", "copy_loses_tail", ignored_copy(dtype(2, 64)), tail_shifted)
misread("COPY-05", "served_copy_of_inner_zeroed", served_copy(tensor((2, 2), (4, 1))), of_zeros)
misread("COPY-05", "served_copy_of_int64_zeroed", served_copy(dtype(0, 64)), of_zeros)


def own(when: Callable[[Any], bool]) -> When:
    """Selects the library's own arrays under copy=True."""
    return lambda x, copy: isinstance(x, ra.Array) and copy is True and when(x)


misread("COPY-05", "own_copy_shares_strided", own(lambda x: x.strides == (2,)), the_memory)
misread("COPY-05", "own_copy_shares_double", own(lambda x: x.dtype == ra.float64), the_memory)
misread("COPY-05", "own_copy_of_transposed_zeroed", own(lambda x: x.strides == (1, 3)), of_zeros)
misread("COPY-05", "own_copy_loses_tail", own(lambda x: x.shape == (37,)), tail_shifted)


def writable(taken: Any, *_: Any) -> Any:
    """The same memory without READ_ONLY."""
    return reforged(taken, flags=0)


def read_only(when: When) -> When:
    """Selects what `when` does among READ_ONLY tensors."""
    return lambda x, copy: field(x, "flags") == 1 and when(x, copy)


misread("FLAG-10", "strided_becomes_writable", read_only(STRIDED), writable)
misread("FLAG-10", "int64_becomes_writable", read_only(dtype(0, 64)), writable)


def kept(taken: Any, *_: Any) -> Any:
    """The array, which is never destroyed."""
    KEPT.append(taken)
    return taken


misread("LIFE-03", "keeps_scalars", tensor((), ()), kept)
misread("LIFE-03", "keeps_empties", tensor((2, 0), (1, 1)), kept)
misread(
    "LIFE-03", "keeps_legacy_strided", tensor((3,), (2,), byte_offset=None, versioned=False), kept
)
misread("LIFE-03", "keeps_int64", dtype(0, 64), kept)


def exports(**changes: Any) -> Then:
    """The array, whose own exports have other fields."""
    return lambda taken, *_: Relabelled(taken, **changes)


misread("TENS-19", "next_export_is_int32", tensor((1, 1), (1, 1)), exports(dtype=(0, 32, 1)))
misread("TENS-01", "next_export_shifted", tensor((), (), byte_offset=12), exports(byte_offset=4))
