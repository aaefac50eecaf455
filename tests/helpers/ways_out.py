"""The tables of docs/interop.md that say what each way out of an array's memory answers."""

from __future__ import annotations

import ctypes
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import refarray

from .c_table import TABLE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "interop.md"
MODES: dict[str, dict[str, bool]] = {
    "open": {},
    **{f"{name}=True": {name: True} for name in ("strict", "immutable", "lazy", "poison_views")},
}
ELEMENTS = "3, 7, 7"


def to_tensor(x: Any) -> None:
    if tensor := TABLE.to_tensor(x):  # 0 with an exception set, which ctypes raises
        deleter = ctypes.c_size_t.from_address(tensor + 16).value
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(deleter)(tensor)


def borrow(x: Any) -> None:
    room = (ctypes.c_uint64 * 7)()
    TABLE.borrow(x, ctypes.addressof(room), ctypes.addressof(room) + 48)


def names_for(x: Any) -> dict[str, Any]:
    """What the code in the tables uses."""
    names = {"x": x, "pickle": pickle, "to_tensor": to_tensor, "borrow": borrow}
    try:
        import numpy
    except ModuleNotFoundError:
        return names
    return {**names, "numpy": numpy}


def can_run(code: str) -> bool:
    """Whether it needs no NumPy, or has it."""
    return "numpy." not in code or "numpy" in names_for(None)


def rows_of(name: str) -> Iterator[list[str]]:
    """The rows of a table, the heading first."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition(f"<!-- {name}: begin -->")[2].partition(f"<!-- {name}: end -->")[0]
    for line in table.strip().splitlines():
        if not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def code_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def answers(column: str) -> dict[str, str]:
    """What each piece of code answers for memory of a kind: by the heading of its column."""
    heading, *rows = rows_of("ways-out")
    at = [cell.strip("`") for cell in heading].index(column)
    return {code: row[at].strip("`") for row in rows for code in code_in(row[0])}


def exceptions_of(mode: str) -> dict[str, str]:
    """The answers that differ in a namespace."""
    rows = [row for row in rows_of("ways-out-modes") if row[0].strip("`") == mode]
    assert rows or mode in ("open", "immutable=True")
    return {code: row[2].strip("`") for row in rows for code in code_in(row[1])}


def expected(column: str, mode: str) -> dict[str, str]:
    """The answers for memory of a kind in a namespace."""
    out = answers(column)
    for code, instead in exceptions_of(mode).items():
        assert code in out
        out[code] = instead
    return out


def found(x: Any, code: str) -> str:
    """What it answers: the exception, or what a ledger counts."""
    names = names_for(x)
    with refarray.ledger() as ledger:
        try:
            result = eval(code, names)
        except Exception as error:
            assert (ledger.copies, ledger.transfers) == (0, 0)
            return type(error).__name__
    if ledger.transfers:
        check_forbidden(code, names)
        return "transferred"
    if ledger.copies:
        return "copied"
    return "read" if is_detached(result) else "shared"


def check_messages(column: str, x: Any) -> None:
    """What raises says how to get a copy; CUDA memory cannot be had so."""
    names = names_for(x)
    for code, answer in answers(column).items():
        if answer.endswith("Error") and "cuda" not in code and can_run(code):
            with pytest.raises(Exception, match=r"x\.to_device\("):
                raise AssertionError(code, eval(code, names))


def is_detached(result: Any) -> bool:
    """Whether it keeps its elements when the array changes."""
    if isinstance(result, bytes | str | list | int | float | complex):
        return True
    flags = getattr(result, "flags", None)  # of an ndarray
    return flags is not None and bool(flags.owndata)


def check_forbidden(code: str, names: dict[str, Any]) -> None:
    """A ledger that forbids transfers lets nothing out."""
    with refarray.ledger(forbid="transfer") as ledger:
        try:
            result = eval(code, names)
        except refarray.LedgerError:
            result = ""
    assert ledger.refused > 0 and ledger.transfers == 0
    assert isinstance(result, str) and ELEMENTS not in result


def check(column: str, mode: str, make: Callable[[Any], Any]) -> None:
    """Compare the whole column; `make` makes the array with the functions of the namespace."""
    wanted = expected(column, mode)
    space = refarray.namespace(**MODES[mode])
    differ = {
        code: (answer, got)
        for code, answer in wanted.items()
        if can_run(code)
        if (got := found(make(space), code)) != answer
    }
    assert not differ, differ
