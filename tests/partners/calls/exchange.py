"""Runs the calls of one library in its environment: `exchange.py FILE LIBRARY RESULTS [DONE …]`.

Each kind of array goes through each call; a line of JSON in RESULTS says what was observed. The
line `started` before it tells which kind a crash interrupted; DONE is the number of lines to skip.
A library has the shape and dtype of its file's group unless it says others. The first of its
requirements is itself, and its title; one without requirements is Python's own.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import platform
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import kinds
import ml_dtypes
import numpy as np

import refarray as ra

Names = dict[str, Any]


class Unreadable(Exception):
    """The library accepted the array, but what it holds cannot be read."""


def execute(code: str, names: Names) -> Any:
    """The value of an expression, or None after statements."""
    try:
        compiled = compile(code, "<row>", "eval")
    except SyntaxError:
        exec(compile(code, "<row>", "exec"), names)
        return None
    return eval(compiled, names)


def expected_of(code: str, names: Names) -> Any:
    """Evaluates code of the row that must not fail."""
    try:
        return execute(code, names)
    except Exception as error:
        raise Unreadable(refusal(error)) from error


def refusal(error: BaseException) -> str:
    """Type and first line of an exception, without what differs from run to run."""
    first = (str(error).strip().splitlines() or [""])[0]
    first = re.sub(r"0x[0-9a-fA-F]+", "0x…", first)
    first = re.sub(r"(?:/[\w.+-]+){2,}", "FILE", first)
    first = re.sub(r"\[\d\d:\d\d:\d\d\] ", "", first)
    first = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "NAME", first)
    first = first if len(first) <= 110 else first[:109] + "…"
    return f"{type(error).__name__}: {first}".removesuffix(": ")


def difference(found: Any, expected: np.ndarray[Any, Any]) -> str:
    """What of an array is not as expected: "" or ", as float64", and "wrong: …" for values."""
    try:
        found = np.asarray(found)
    except Exception as error:
        raise Unreadable(refusal(error)) from error
    said = ""
    if found.shape != expected.shape:
        if found.size != expected.size:
            return f"wrong: shape {found.shape}"
        said = f", shape {found.shape}"
        expected = expected.reshape(found.shape)
    if found.dtype != expected.dtype:
        said += f", as {found.dtype.name}"
    return said if equal(found, expected) else f"wrong: values{said}"


def equal(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    if not found.size:
        return True
    if found.dtype == object or expected.dtype == object:
        return bool(np.all(found == expected))
    try:
        wide = [
            each.astype("complex128" if each.dtype.kind == "c" else "float64")
            for each in (found, expected)
        ]
    except (TypeError, ValueError):  # text, structures
        return False
    return bool(np.allclose(*wide, rtol=1e-5, atol=1e-5, equal_nan=True))


def scribble() -> None:
    """Overwrites memory that NumPy or refarray has freed."""
    gc.collect()
    kept: list[Any] = []
    for size in (8, 32, 48, 96, 160, 256, 512, 1024, 4096):
        kept += [np.full(size, 0xA5, dtype=np.uint8) for _ in range(32)]
        kept += [ra.full((size,), 0xA5, dtype="uint8") for _ in range(32)]
    del kept


def alive(names: Names, read: str, last: np.ndarray[Any, Any]) -> None:
    scribble()
    if difference(expected_of(read, names), last).startswith("wrong"):
        raise Freed


class Freed(Exception):
    """The memory did not live as long as its user."""


class Case:
    """One call with one kind of array."""

    def __init__(self, library: Names, row: Names, kind: str, dtype: str, names: Names) -> None:
        self.row = row
        self.read = row.get("read", library.get("read", "y"))
        self.kind = kind
        self.names = dict(names)
        memory = kinds.shape_of(kind, library["shape"])
        self.first = kinds.values(dtype, memory)
        self.second = kinds.values(dtype, memory, second=True)
        self.names["dtype"] = self.first.dtype
        self.names["shape"] = kinds.view(kind, self.first).shape

    def expected(self, which: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What the library must hold, given the values `which`."""
        a = kinds.view(self.kind, which)
        code = self.row.get("expect")
        if code is None:
            return a.copy()
        return np.asarray(expected_of(code, {**self.names, "a": a.copy()}))

    def outcome(self, before: str, after: Any, second: np.ndarray[Any, Any]) -> str:
        """zero-copy or copy, after the values of one side were replaced by the second ones."""
        if not self.first.size:
            return f"empty{before}"
        if equal(np.asarray(self.before), np.asarray(second)):
            raise Unreadable("the row cannot tell whether memory is shared")
        changed = difference(after, second)
        return f"{'copy' if changed.startswith('wrong') else 'zero-copy'}{before}"


class To(Case):
    """refarray → library."""

    def run(self) -> str:
        base = ra.empty(self.first.shape, dtype=self.first.dtype.name)  # aligned, which JAX wants
        base[...] = ra.asarray(self.first)
        x = kinds.view(self.kind, base)
        if self.kind == "read-only":
            x = x.as_readonly()
        names = self.names
        names["x"] = x
        if self.row.get("into"):
            return self.into(x)
        try:
            execute(self.row.get("before", ""), names)
            y = execute(self.row["call"], names)
        except Exception as error:
            return f"refuses {refusal(error)}"
        if y is not None:
            names["y"] = y
        read = self.read
        self.before = self.expected(self.first)
        before = difference(expected_of(read, names), self.before)
        if before.startswith("wrong"):
            return before
        if self.first.size:
            base[...] = ra.asarray(self.second)
        second = self.expected(self.second)
        found = self.outcome(before, expected_of(read, names), second)
        if found.startswith("zero-copy"):
            self.strides(expected_of(read, names), x)
            found += self.written(base)
        last = np.array(expected_of(read, names), copy=True)
        del x, base, names["x"], y
        alive(names, read, last)
        return found

    def strides(self, found: Any, x: Any) -> None:
        """Where both views are of the same elements, their strides agree."""
        found = np.asarray(found)
        if found.shape != x.shape or x.size < 2 or x.dtype.name != found.dtype.name:
            return
        address = ra.asarray(found).as_readonly()
        if pointer(address) != pointer(x):
            return
        for extent, theirs, ours in zip(x.shape, found.strides, x.strides, strict=True):
            if extent > 1 and theirs != ours * x.itemsize:
                raise Unreadable(f"strides {found.strides} bytes instead of {x.strides} elements")

    def written(self, base: Any) -> str:
        """Whether the library writes into a read-only array."""
        code = self.row.get("write")
        if self.kind != "read-only" or code is None:
            return ""
        before = np.array(base.numpy(), copy=True)
        with contextlib.suppress(Exception):
            execute(code, self.names)
        if np.array_equal(before, base.numpy()):
            return ""
        base[...] = ra.asarray(before)
        return ", writable"

    def into(self, x: Any) -> str:
        """The library writes its result into the array."""
        names = self.names
        names["a"] = kinds.view(self.kind, self.first).copy()
        names["b"] = kinds.view(self.kind, self.second).copy()
        try:
            wanted = np.asarray(expected_of(self.row.get("expect", "b"), dict(names)))
        except Unreadable as error:
            return f"none {error}"
        before = np.array(names["a"], copy=True)
        try:
            execute(self.row.get("before", ""), names)
            execute(self.row["call"], names)
        except Exception as error:
            return f"refuses {refusal(error)}"
        if not self.first.size:
            return "empty"
        if equal(before, wanted):
            return "none nothing to write"
        found = difference(ra_read(x), wanted)
        if not found.startswith("wrong"):
            return "zero-copy, writable" if x.readonly else "zero-copy"
        kept = difference(ra_read(x), before)
        return found if kept.startswith("wrong") else "copy"


class From(Case):
    """library → refarray."""

    def run(self) -> str:
        names = self.names
        memory = self.first.copy()
        a = kinds.view(self.kind, memory)
        if self.kind == "read-only":
            a.flags.writeable = False
        names["a"] = a
        try:
            y = execute(self.row["make"], names)
        except Exception as error:
            return f"none {refusal(error)}"
        if y is not None:
            names["y"] = y
        read = self.read
        try:
            theirs = difference(expected_of(read, names), self.expected(self.first))
        except Unreadable as error:
            return f"none {error}"
        if theirs.startswith("wrong"):
            return f"none {theirs.removeprefix('wrong: ')}"
        try:
            r = execute(self.row["call"], names)
        except Exception as error:
            return f"refuses {refusal(error)}"
        self.before = self.expected(self.first)
        before = difference(ra_read(r), self.before)
        if before.startswith("wrong"):
            return before
        after: Any = None
        poked = other_values(r)
        if r.size:
            poke(r, poked)
            after = np.array(expected_of(read, names), copy=True)
        found = self.outcome(before, after, poked)
        if found.startswith("zero-copy"):
            self.strides(expected_of(read, names), r)
            if r.readonly and self.kind != "read-only":
                found += ", read-only"
            elif (
                not r.readonly and not a.flags.writeable and not np.array_equal(memory, self.first)
            ):
                found += ", writable"
        last = np.array(ra_read(r), copy=True)
        keep = {"r": r, "np": np, "ra_read": ra_read}
        del a, y, memory
        names.clear()
        alive(keep, "ra_read(r)", last)
        return found

    strides = To.strides


def pointer(x: Any) -> int:
    """The address of the first element of a refarray array."""
    address: int = ra.inspect(x).data
    return address


def ra_read(x: Any) -> np.ndarray[Any, Any]:
    """The values of a refarray array, with its dtype, but not by the ways under test."""
    flat = ra.reshape(x.copy(), (x.size,)).tolist()
    return np.array(flat, dtype=kinds.numpy_dtype(x.dtype.name)).reshape(x.shape)


def other_values(r: Any) -> np.ndarray[Any, Any]:
    """Values for each element of a refarray array that are not those that it has."""
    second = kinds.values(r.dtype.name, list(r.shape), second=True)
    return kinds.values(r.dtype.name, list(r.shape)) if equal(second, ra_read(r)) else second


def poke(r: Any, values: np.ndarray[Any, Any]) -> None:
    """Writes values into the memory of `r`, even if it is read-only."""
    start, itemsize = pointer(r), r.itemsize
    for place in np.ndindex(*r.shape):
        offset = sum(i * s for i, s in zip(place, r.strides, strict=True)) * itemsize
        ctypes.memmove(start + offset, values[place].tobytes(), itemsize)


def cases(library: Names) -> Iterator[tuple[str, int, str, Callable[[Names], str]]]:
    """Direction, number of the call, kind, and the function that tries it."""
    for direction, case in (("to", To), ("from", From)):
        for number, row in enumerate(library.get(direction, [])):
            for kind, dtype in kinds.kinds({**library, **row}).items():

                def tried(names: Names, case=case, row=row, kind=kind, dtype=dtype) -> str:
                    return case({**library, **row}, row, kind, dtype, names).run()

                yield direction, number, kind, tried


def observe(tried: Callable[[Names], str], names: Names) -> str:
    try:
        return tried(names)
    except Unreadable as error:
        return f"wrong: {error}"
    except Freed:
        return "wrong: the memory is freed before its user"


def main(file: str, name: str, results: str, done: str) -> None:
    tables = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    library = {**tables.get("group", {}), **tables[name]}
    with tempfile.TemporaryDirectory() as folder, Path(results).open("a") as out:

        def note(**line: Any) -> None:
            print(json.dumps(line), file=out, flush=True)

        names: Names = {"np": np, "ra": ra, "ml_dtypes": ml_dtypes, "folder": Path(folder)}
        names["ra_read"] = ra_read
        names["tests"] = Path(__file__).resolve().parents[2]
        exec(library.get("setup", ""), names)
        own = re.split(r"[\[=]", library["requires"][0])[0] if "requires" in library else ""
        note(version=metadata.version(own) if own else platform.python_version())
        for direction, number, kind, tried in list(cases(library))[int(done) :]:
            note(started=[direction, number, kind])
            note(observed=observe(tried, names))


if __name__ == "__main__":
    main(*sys.argv[1:])
