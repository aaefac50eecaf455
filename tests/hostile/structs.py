"""Hostile structs: malformed managed tensors through every entry point. The cases are those of
the requirements' corpus and more rows of the catalogue."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

from native import corpus, producers
from native.corpus import FLOATS, SUPPORTED

import refarray
from refarray import _native

from .case import Violation, add, expect, expect_deleter_calls

EntryPoint = Callable[[Any, Any], Any]

#: Catalogue rows covered by each row of the corpus, keyed by the start of the case name.
COVERS = {
    "01": "R19",
    "02": "R19 R20",
    "03": "R7 R19",
    "04": "R10",
    "05": "R18 R20",
    "06": "R33",
    "07": "R9",
    "08": "R9",
    "09": "R1 R2 R3",
    "10": "R8",
    "11": "R4",
    "12": "R5 R6 R7",
    "13": "R12 R13 R14",
    "14": "R16",
    "15": "R15",
    "16": "R21 R22 R23",
    "17": "R21",
    "18": "R12",
    "19": "R10 R11",
    "20": "R50",
    "21": "R51",
    "22": "R43",
    "23": "R43",
    "24": "R53",
    "25": "R27 R52",
    "26": "R26",
    "28": "R24",
    "29": "R31",
    "30": "R32 R33",
    "31": "R35 R70",
    "32": "R31 R35",
    "42": "R3 R56",
}


def fields_of(kind: str, /, **fields: Any) -> tuple[dict[str, Any], str, dict[str, Any]]:
    values = fields.pop("values", None)
    return {"data": FLOATS, **fields}, kind, {} if values is None else {"values": values}


#: Cases beyond the corpus: rows, name, (fields, outcome, expected attributes).
EXTRA = [
    ("R17", "overlapping", fields_of("import", shape=(3, 3), strides=(1, 1))),
    (
        "R17",
        "overlapping-backwards",
        fields_of("import", shape=(3, 2), strides=(-1, 1), data_offset=16),
    ),
    ("R14", "begins-below-zero", fields_of("reject", shape=(4,), strides=(-8,), data=64)),
    ("R14", "ends-at-the-top", fields_of("reject", shape=(4,), data=2**64 - 8)),
    ("R14", "offset-wraps", fields_of("reject", data=2**64 - 64, byte_offset=128)),
    ("R23", "misaligned-data", fields_of("import", data_offset=3)),
    ("R23", "misaligned-double", fields_of("import", data_offset=4, dtype=(2, 64, 1))),
    ("R25", "float0", fields_of("reject", dtype=(2, 0, 1))),
    ("R25", "float128", fields_of("reject", dtype=(2, 128, 1))),
    ("R25", "float255", fields_of("reject", dtype=(2, 255, 1))),
    ("R25", "int7", fields_of("reject", dtype=(0, 7, 1))),
    ("R25", "bool1", fields_of("reject", dtype=(6, 1, 1))),
    ("R25", "bool16", fields_of("reject", dtype=(6, 16, 1))),
    ("R26", "lanes4", fields_of("import", dtype=(2, 32, 4))),
    ("R26", "lanes0-empty", fields_of("reject", dtype=(2, 32, 0), shape=(0,))),
    ("R26", "lanes-overflow", fields_of("reject", dtype=(2, 64, 65535), shape=(2**45,))),
    ("R27", "fp6-packed", fields_of("import", dtype=(15, 6, 1), shape=(8,))),
    ("R27", "fp6-padded", fields_of("import", dtype=(16, 6, 1), shape=(8,), flags=4)),
    (
        "R27",
        "fp4-negative-stride",
        fields_of("either", dtype=(17, 4, 1), shape=(4,), strides=(-1,), data_offset=2),
    ),
    ("R27", "fp4-huge", fields_of("reject", dtype=(17, 4, 1), shape=(2**63 - 1,), strides=(4,))),
    ("R27", "fp4-padded-lanes", fields_of("either", dtype=(17, 4, 3), shape=(4,), flags=4)),
    ("R29", "complex16", fields_of("reject", dtype=(5, 16, 1))),
    ("R29", "complex32", fields_of("import", dtype=(5, 32, 1))),
    ("R29", "complex64", fields_of("import", dtype=(5, 64, 1))),
    ("R29", "complex128", fields_of("import", dtype=(5, 128, 1))),
    ("R29", "complex192", fields_of("reject", dtype=(5, 192, 1))),
    ("R35", "managed", fields_of("reject", device=(13, 0))),
    ("R35", "pinned-with-a-number", fields_of("import", device=(3, 5))),
    ("R49", "everything-wrong", fields_of("reject", version=(7, 7), ndim=-1, shape=None)),
    ("R50", "major-max-legal-body", fields_of("reject", version=(2**32 - 1, 2**32 - 1))),
    ("R53", "read-only-empty", fields_of("import", shape=(0,), flags=1)),
    ("C12 R5", "sum-of-products", fields_of("reject", shape=(3, 2**62), strides=(1, 1))),
    ("C13 R13", "both-ends", fields_of("reject", shape=(2, 2), strides=(2**61, -(2**61)))),
    ("C10 R8", "shape-null-64-axes", fields_of("reject", shape=None, strides=None, ndim=64)),
]


#: What every case of the corpus shows.
REQUIREMENTS = "CAPI-10 CAPI-18 CAPI-19 CONS-07 LIFE-03 LIFE-13"


def give_back(tensor: Any) -> None:
    """A-33: after a failure the caller of our table still owns the tensor."""
    expect_deleter_calls(tensor, 0)
    tensor.delete()


def to_py(adv: Any, tensor: Any) -> Any:
    try:
        return adv.api(refarray.Array).to_py(tensor)
    except BaseException:
        give_back(tensor)
        raise


ENTRY_POINTS: dict[str, EntryPoint] = {
    "from_dlpack": lambda adv, tensor: refarray.from_dlpack(tensor),
    "asarray": lambda adv, tensor: refarray.asarray(tensor),
    "from_capsule": lambda adv, tensor: refarray.from_capsule(tensor.capsule()),
    "table": lambda adv, tensor: _native._from_exchange_api(producers.foreign(adv, tensor)),
    "to_py": to_py,
}
LEGACY_ENTRY_POINTS = ("from_dlpack", "asarray", "from_capsule")


def check_accepted(array: Any) -> None:
    """Read every attribute of an accepted array, and re-export it three times: the view must not
    change."""
    facts = (array.dtype, array.shape, array.strides, array.readonly, array.device)
    expect(array.ndim == len(array.shape), "ndim is not the number of extents")
    str(array.dtype), array.nbytes, array.itemsize, array.size, array.is_contiguous()
    if array.size <= 10_000 and array.dtype.lanes < 100:
        repr(array)
    step = array
    for _ in range(3):
        try:
            step = refarray.from_capsule(step.__dlpack__(max_version=(1, 3)))
        except BufferError:  # packed elements that DLPack cannot describe
            expect(array.dtype.bits < 8, "a re-export was refused")
            return
        found = (step.dtype, step.shape, step.strides, step.readonly, step.device)
        expect(found == facts, f"a re-export is {found}, not {facts}")


def drop_while_raising(adv: Any, held: list[Any]) -> None:
    """Drop the last reference while an exception is pending; it must stay pending, unchanged."""
    pending = KeyError("pending")
    left = adv.drop_pending(held, pending)
    if left is not pending:
        raise Violation("other", f"the pending exception became {left!r}")


def import_tensor(
    adv: Any,
    tensor: Any,
    entry_point: EntryPoint,
    outcome: str,
    values: dict[str, Any],
    deletes: int,
) -> None:
    """Import one tensor through one entry point. `deletes`: deleter calls due in the end."""
    held: list[Any] = []
    marker = KeyError("being handled")
    error: BaseException | None = None
    try:
        raise marker
    except KeyError:
        try:
            held.append(entry_point(adv, tensor))
        except Exception as caught:
            error = caught
        expect(sys.exception() is marker, "the handled exception changed")
    if error is not None:
        if isinstance(error, Violation):
            raise error
        if not isinstance(error, BufferError) or outcome == "import":
            raise Violation("other", f"raised {error!r} instead of {outcome}") from error
        expect(str(error), "an error without a message")
        del error
        return expect_deleter_calls(tensor, deletes if tensor.issued else 0)
    if outcome == "reject":
        raise Violation("silent accept", f"{held[0].dtype} {held[0].shape} {held[0].strides}")
    for name, value in values.items():
        found = held[0].tolist() if name == "values" else getattr(held[0], name)
        expect(found == value, f"{name} is {found!r}, expected {value!r}")
    check_accepted(held[0])
    expect_deleter_calls(tensor, 0)
    drop_while_raising(adv, held)
    return expect_deleter_calls(tensor, deletes)


def check_inspect(adv: Any, tensor: Any, deletes: int) -> None:
    """inspect() does not consume the capsule, whatever its fields say."""
    capsule = tensor.capsule()
    report = refarray.inspect(capsule)
    expect(repr(report) and report.to_dict(), "an empty inspection")
    expect_deleter_calls(tensor, 0)
    del capsule
    expect_deleter_calls(tensor, deletes)


class UnraisableLog:
    """Captures unraisable exceptions, and offers callbacks for deleters that raise or re-enter."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __enter__(self) -> UnraisableLog:
        self.before, sys.unraisablehook = sys.unraisablehook, self.note
        return self

    def note(self, unraisable: Any) -> None:
        """Keeps text only: the hook's argument is invisible to the cycle collector."""
        self.seen.append(repr(unraisable.exc_value))

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self.before

    def raise_error(self) -> None:
        raise RuntimeError("from a deleter")

    def call_refarray(self) -> None:
        x = refarray.arange(3)
        assert refarray.from_dlpack(x[1:]).tolist() == [1, 2]
        gc.collect(0)


def import_with_hostile_deleters(adv: Any, fields: dict[str, Any], outcome: str) -> None:
    """R44 to R46: a deleter that raises or calls refarray, when the import succeeds or fails."""
    with UnraisableLog() as log:
        tensor = adv.make(**{**fields, "deleter": log.raise_error})
        import_tensor(adv, tensor, ENTRY_POINTS["from_capsule"], outcome, {}, 1)
        expect(len(log.seen) == 1, f"reported {len(log.seen)} times")
        log.seen.clear()
        tensor = adv.make(**{**fields, "deleter": log.call_refarray})
        import_tensor(adv, tensor, ENTRY_POINTS["from_capsule"], outcome, {}, 1)
        expect(log.seen == [], "a deleter that calls us failed")


def import_everywhere(
    adv: Any, fields: dict[str, Any], outcome: str, values: dict[str, Any]
) -> int:
    """Every entry point. Shape and strides end at a guard page, unless the case places them
    elsewhere."""
    if not (fields.get("frozen") or fields.get("unmapped_body")):
        fields = {**fields, "guarded": True}
    versioned = bool(fields.get("versioned", True))
    deletes = int(fields.get("deleter", True) is not None)
    kinds = [fields]
    if versioned and not {"version", "flags"} & set(fields):
        kinds.append({**fields, "versioned": False})
    attempts = 0
    for kind in kinds:
        for name, entry_point in ENTRY_POINTS.items():
            if kind.get("versioned", True) or name in LEGACY_ENTRY_POINTS:
                import_tensor(adv, adv.make(**kind), entry_point, outcome, values, deletes)
                attempts += 1
        check_inspect(adv, adv.make(**kind), deletes)
        attempts += 1
        if deletes:
            import_with_hostile_deleters(adv, kind, outcome)
            attempts += 2
    return attempts


for _case in corpus.CASES:
    _rows = " ".join((f"C{_case.row}", COVERS[str(_case)[:2]], REQUIREMENTS, *_case.req))
    _given = (_case.fields, _case.outcome, _case.expect)
    add(_rows, str(_case), "struct", import_everywhere, *_given)
for _rows, _name, _given in EXTRA:
    add(_rows, f"extra-{_name}", "struct", import_everywhere, *_given)


def import_every_width(adv: Any, code: int) -> int:
    """C27: every width of one type code."""
    for bits in range(256):
        tensor = adv.make(dtype=(code, bits, 1), shape=(1,), data=bytes(64), guarded=False)
        outcome = "import" if (code, bits) in SUPPORTED else "reject"
        import_tensor(adv, tensor, ENTRY_POINTS["from_capsule"], outcome, {}, 1)
        if outcome == "import":
            x = refarray.from_dlpack(adv.make(dtype=(code, bits, 1), shape=(1,), data=bytes(64)))
            found = adv.inspect(x.__dlpack__(max_version=(1, 3)))["dtype"]
            expect(found == (code, bits, 1), f"{(code, bits, 1)} became {found}")
    return 256


for _code in range(32):
    _rows = "C27 R24 R25 DTYPE-01 DTYPE-03 DTYPE-06 DTYPE-07 DTYPE-08 DTYPE-13 DTYPE-17"
    add(_rows, f"widths-of-code-{_code:02}", "struct", import_every_width, _code, repeats=1)
