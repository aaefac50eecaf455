"""Hostile buffers: buffer exporters with false fields, through every entry point."""

from __future__ import annotations

from typing import Any

from native.corpus import FLOATS

import refarray

from .case import Violation, add, case, expect, refused
from .structs import UnraisableLog, check_accepted, drop_while_raising

INT64_MIN = -(2**63)
WILD = 0xDEAD0008
THREE = {"itemsize": 4, "shape": (3,), "len": 12}

#: Rows of the catalogue, name, and fields of an exporter that is refused.
REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    ("RB C9 R1", "ndim-negative", {"ndim": -1, "shape": (3,)}),
    ("RB C9 R2", "ndim65", {"ndim": 65, "shape": (3,)}),
    ("RB C9 R3", "ndim-max", {"ndim": 2**31 - 1, "shape": (3,)}),
    ("RB C9 R3", "ndim-min", {"ndim": -(2**31), "shape": (3,)}),
    ("RB C10 R8", "shape-null", {"ndim": 2}),
    ("RB C10 R8", "shape-null-strides", {"ndim": 2, "strides": (8, 4)}),
    ("RB", "scalar-wrong-len", {"ndim": 0, "len": 64}),
    ("RB C11 R4", "negative", {"shape": (-1,), "len": -4}),
    ("RB C11 R4", "negative-min", {"shape": (INT64_MIN,), "len": 0}),
    ("RB C11 R4", "negative-beside-zero", {"ndim": 2, "shape": (0, -3), "len": 0}),
    ("RB C11 R4", "negative-product", {"ndim": 2, "shape": (-2, -2), "len": 16}),
    ("RB C12 R5", "product", {"ndim": 2, "shape": (2**32, 2**32), "len": 0}),
    ("RB C12 R6", "bytes", {"shape": (2**62,), "len": 0}),
    ("RB C12 R7", "huge-times-zero", {"ndim": 3, "shape": (2**62, 2**62, 0), "len": 0}),
    ("RB C13 R12", "stride", {"shape": (2,), "strides": (2**62,), "len": 8}),
    ("RB C13 R12", "stride-min", {"shape": (2,), "strides": (INT64_MIN,), "len": 8}),
    ("RB C13 R13", "extent", {"shape": (4,), "strides": (2**61,), "len": 16}),
    ("RB R14", "wraps-above", {"data": 2**64 - 8, "shape": (4,), "len": 16}),
    ("RB R14", "wraps-below", {"data": 8, "shape": (4,), "strides": (-8,), "len": 16}),
    ("RB C5 R18", "null-data", {"data": None, "shape": (3,), "len": 12}),
    ("RB C5 R18", "null-with-offset", {"data": 16, "shape": (3,), "len": 12}),
    ("RB", "len-short", {"shape": (3,), "len": 8}),
    ("RB", "len-long", {"shape": (3,), "len": 64}),
    ("RB", "len-negative", {"shape": (3,), "len": -1}),
    ("RB", "len-min", {"shape": (3,), "len": INT64_MIN}),
    ("RB", "itemsize0", {"itemsize": 0, "shape": (3,), "len": 0}),
    ("RB", "itemsize-negative", {"itemsize": -4, "shape": (3,), "len": 12}),
    ("RB", "itemsize-other", {"itemsize": 8, "shape": (3,), "len": 24}),
    ("RB", "itemsize0-strides", {"itemsize": 0, "shape": (3,), "strides": (4,), "len": 12}),
    ("RB", "format-null-itemsize4", {"format": None, "shape": (3,), "len": 12}),
    ("RB", "suboffsets", {"shape": (3,), "strides": (4,), "suboffsets": (0,), "len": 12}),
    (
        "RB",
        "suboffsets-last",
        {"ndim": 2, "shape": (1, 3), "strides": (12, 4), "suboffsets": (-1, 8), "len": 12},
    ),
    *(
        ("RB R30", f"format-{text!r}", {"format": text, **THREE})
        for text in (
            *("", "Zf ", "T{f:a:}", "T{", "3f", "0f", "f" * 200, "(2,2)f", "ff", "O", "P", "w"),
            *("u", "&f", "X{}", "@", "=", "<", "?f", "c4", "\x01", "é", "f\n", " f", "d", "q"),
            *("4s", "x"),
        )
    ),
]
#: The same of those that from_buffer refuses to share and asarray copies.
COPIED: list[tuple[str, str, dict[str, Any]]] = [
    ("RB R28", "odd-stride", {"shape": (3,), "strides": (6,), "len": 12}),
    (
        "RB R28",
        "odd-negative-stride",
        {"shape": (2,), "strides": (-5,), "data_offset": 8, "len": 8},
    ),
    *(("RB R30", f"format-{text!r}", {"format": text, **THREE}) for text in (">f", "!f", ">i")),
]
#: The same of those that are imported, with the values of the array unless they are None.
IMPORTED: list[tuple[str, str, dict[str, Any], Any]] = [
    ("RB", "ndim64", {"ndim": 64, "shape": (1,) * 64, "len": 4}, None),
    ("RB C7 R9", "scalar", {"ndim": 0, "len": 4}, 0.0),
    (
        "RB C15 R15",
        "backwards",
        {"shape": (3,), "strides": (-4,), "data_offset": 8, "len": 12},
        [2.0, 1.0, 0.0],
    ),
    ("RB C14 R16", "zero-stride", {"shape": (3,), "strides": (0,), "len": 12}, [0.0] * 3),
    ("RB C18 R28", "odd-stride-of-one", {"shape": (1,), "strides": (7,), "len": 4}, [0.0]),
    ("RB C1 R19", "empty-null", {"data": None, "shape": (0,), "len": 0}, []),
    ("RB C2 R19", "empty-wild", {"data": WILD, "shape": (0,), "len": 0}, []),
    (
        "RB C3",
        "empty-garbage-strides",
        {"ndim": 2, "shape": (3, 0), "strides": (2**40, -5), "len": 0},
        None,
    ),
    ("RB", "format-null", {"format": None, "itemsize": 1, "shape": (3,), "len": 3}, None),
    (
        "RB",
        "suboffsets-none",
        {"shape": (3,), "strides": (4,), "suboffsets": (-1,), "len": 12},
        [0.0, 1.0, 2.0],
    ),
    ("RB C24 R53", "read-only", {"shape": (3,), "readonly": True, "len": 12}, [0.0, 1.0, 2.0]),
]


def take_bytes(exporter: Any) -> Any:
    return refarray.from_buffer(exporter, dtype="uint8")


TAKE = (refarray.from_buffer, refarray.asarray, take_bytes)


def expect_balanced_releases(exporter: Any, owner: bool) -> None:
    """Every acquired buffer was released. CPython releases nothing if `obj` is NULL (no owner)."""
    gets, releases = exporter.gets, exporter.releases
    wanted = gets if owner else 0
    if releases != wanted:
        kind = "double deleter" if releases > wanted else "leak"
        raise Violation(kind, f"acquired {gets} times, released {releases} times")


def import_buffer(adv: Any, take: Any, fields: dict[str, Any], outcome: str, values: Any) -> None:
    exporter = adv.exporter(**{"data": FLOATS, **fields})
    owner = fields.get("owner", True)
    if outcome == "copy" and take is refarray.asarray:
        copy = take(exporter)
        expect(not copy.readonly, "a copy is writable")
        return expect_balanced_releases(exporter, owner)
    if outcome in ("reject", "copy"):
        with refused(BufferError):
            take(exporter)
        return expect_balanced_releases(exporter, owner)
    held: list[Any] = []
    try:
        held.append(take(exporter))
    except BufferError:
        expect(outcome == "either", "a legal buffer was refused")
        return expect_balanced_releases(exporter, owner)
    if values is not None:
        expect(held[0].tolist() == values, f"{held[0].tolist()}, not {values}")
    expect(held[0].readonly == fields.get("readonly", False), "readonly differs from the buffer's")
    if owner:
        check_accepted(held[0])
    drop_while_raising(adv, held)
    return expect_balanced_releases(exporter, owner)


def import_buffer_everywhere(adv: Any, fields: dict[str, Any], outcome: str, values: Any) -> int:
    attempts = 2
    for take in (refarray.from_buffer, refarray.asarray):
        import_buffer(adv, take, fields, outcome, values)
    if fields.get("owner", True):
        with UnraisableLog() as log:  # an exception from the release callback is unraisable
            fields_with_hook = {**fields, "on_release": log.raise_error}
            import_buffer(adv, refarray.from_buffer, fields_with_hook, outcome, values)
            expect(len(log.seen) == 1, f"reported {len(log.seen)} times")
            log.seen.clear()
            fields_with_hook = {**fields, "on_release": log.call_refarray}
            import_buffer(adv, refarray.from_buffer, fields_with_hook, outcome, values)
            expect(log.seen == [], f"{log.seen}")
            attempts += 2
    return attempts


for _rows, _name, _fields, _outcome, _values in (
    *((*row, "reject", None) for row in REFUSED),
    *((*row, "copy", None) for row in COPIED),
    *((*row[:3], "import", row[3]) for row in IMPORTED),
    ("RB", "ownerless", {"shape": (3,), "owner": False, "len": 12}, "either", None),
):
    add(_rows, _name, "buffer", import_buffer_everywhere, _fields, _outcome, _values)


def import_bytes(adv: Any, fields: dict[str, Any]) -> None:
    exporter = adv.exporter(**{"shape": (1,), **fields})
    with refused(BufferError, OverflowError, ValueError):
        take_bytes(exporter)
    expect_balanced_releases(exporter, True)


for _name, _fields in {
    "len-negative": {"len": -8},
    "len-min": {"len": INT64_MIN},
    "len-max": {"len": 2**63 - 1},
    "null": {"data": None, "len": 8},
    "wraps": {"data": 2**64 - 4, "len": 8},
}.items():
    add("RB", f"as-bytes-{_name}", "buffer", import_bytes, _fields)


def import_with_answer(adv: Any, answer: str, *kinds: type[BaseException]) -> int:
    for take in TAKE:
        exporter = adv.exporter(shape=(16,), answer=answer)
        with refused(*kinds):
            take(exporter)
        expect_balanced_releases(exporter, True)
    return 3


for _answer, *_kinds in (("raise", BufferError), ("fail silently", SystemError, BufferError)):
    _name = f"answers-{_answer.replace(' ', '-')}"
    add("RB", _name, "buffer", import_with_answer, _answer, *_kinds)


@case("RB R88", "answers-fill-and-raise", "buffer")
def fills_and_raises(adv: Any) -> int:
    """The exporter reported success: its exception is unraisable and the buffer is imported."""
    for take in TAKE:
        with UnraisableLog() as log:
            exporter = adv.exporter(shape=(16,), answer="fill and raise")
            held = [take(exporter)]
            expect(len(log.seen) == 1, f"{log.seen}")
        drop_while_raising(adv, held)
        expect_balanced_releases(exporter, True)
    return 3
