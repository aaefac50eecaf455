"""The header of safetensors files: JSON with a dtype, a shape and a place for each name."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import NamedTuple

from refarray._files.scanner import Scanner, count_bits
from refarray._native import Array, DType

LONGEST = 100_000_000  # bytes of a header, as for the format's own library
ALIGNMENT = 8  # of the elements of files that save() writes
METADATA = "__metadata__"
KEYS = ("dtype", "shape", "data_offsets")
TEXT = re.compile(r'"([^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)"')

#: The format's names of dtypes, and ours.
DTYPES = {
    "BOOL": "bool",
    "F4": "float4_e2m1fn",
    "F6_E2M3": "float6_e2m3fn",
    "F6_E3M2": "float6_e3m2fn",
    "U8": "uint8",
    "I8": "int8",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "C64": "complex64",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
}
_CODES = {name: code for code, name in DTYPES.items()}


def _check_order(name: str, dtype: DType) -> None:
    """Raise BufferError where the elements of files, which are little-endian, are not the same in
    memory."""
    if sys.byteorder != "little" and dtype.bits > 8:
        raise BufferError(
            f"{name!r}: safetensors has little-endian elements; {dtype} is big-endian here"
        )


class Entry(NamedTuple):
    """The array of a name. begin, end: bytes from the end of the header."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """What a header says. entries: in the order of their elements in the file."""

    entries: list[Entry]
    metadata: dict[str, str]


def parse(header: bytes, size: int) -> Header:
    """Return what a header says of the `size` bytes that follow it.

    Raises ValueError for a malformed one, and BufferError for dtypes that refarray does not have.
    """
    try:
        text = header.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"header: byte {error.start} is not UTF-8: {error.reason}") from None
    scanner = Scanner(text)
    entries: dict[str, Entry] = {}
    metadata = None
    if not text.startswith("{"):
        scanner.fail("'{'")
    for _ in scanner.items("{", "}"):
        name = _text(scanner, "a name")
        if name in entries or (name == METADATA and metadata is not None):
            raise ValueError(f"header: the name {name!r} is repeated")
        scanner.take(":")
        if name == METADATA:
            metadata = _metadata(scanner)
        else:
            entries[name] = _entry(scanner, name)
    scanner.end()
    out = sorted(entries.values(), key=lambda entry: entry[3:])
    check_places(out, size)
    return Header(out, metadata or {})


def check_places(entries: list[Entry], size: int) -> None:
    """Raise ValueError unless the elements follow each other and fill `size` bytes."""
    at = 0
    for name, dtype, shape, begin, end in entries:
        if begin != at:
            what = "overlaps the elements before it" if begin < at else "leaves a gap"
            raise ValueError(
                f"{name!r}: data_offsets[0] is {begin}, which {what}: they end at {at}"
            )
        bits = count_bits(shape, dtype.bits)
        if bits % 8 != 0 or end - begin != bits // 8:
            raise ValueError(
                f"{name!r}: data_offsets is [{begin}, {end}], {end - begin} bytes; shape {shape} "
                f"of {dtype} takes {bits} bits, which must be as many bytes"
            )
        at = end
    if at != size:
        raise ValueError(f"the arrays end at byte {at}; the file has {size} after its header")


def _text(scanner: Scanner, what: str) -> str:
    found = scanner.match(TEXT, f"{what} in quotes")
    if "\\" not in found:
        return found
    try:
        out: str = json.loads(f'"{found}"')
        out.encode()
    except ValueError as error:  # an unknown escape, or half of a surrogate pair
        raise ValueError(f"header: {found[:60]!r} is no text of JSON: {error}") from None
    return out


def _metadata(scanner: Scanner) -> dict[str, str]:
    out: dict[str, str] = {}
    for _ in scanner.items("{", "}"):
        key = _text(scanner, f"a key of {METADATA}")
        if key in out:
            raise ValueError(f"header: the key {key!r} of {METADATA} is repeated")
        scanner.take(":")
        out[key] = _text(scanner, f"the value of {key!r}")
    return out


def _entry(scanner: Scanner, name: str) -> Entry:
    code = ""
    numbers: dict[str, tuple[int, ...]] = {}
    for _ in scanner.items("{", "}"):
        key = _text(scanner, f"one of the keys {KEYS}")
        if key not in KEYS or key in numbers or (key == "dtype" and code):
            raise ValueError(f"header: the key {key!r} of {name!r} is unknown or repeated")
        scanner.take(":")
        if key == "dtype":
            code = _text(scanner, "a dtype")
            if code not in DTYPES:
                raise BufferError(f"{name!r}: refarray has no dtype for elements of {code!r}")
        else:
            numbers[key] = tuple(
                scanner.count(f"a number in {key} of {name!r}") for _ in scanner.items("[", "]")
            )
    offsets = numbers.get("data_offsets", ())
    if not code or "shape" not in numbers or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ValueError(
            f"{name!r} has dtype {code!r}, shape {numbers.get('shape')} and data_offsets "
            f"{offsets}; it must have each, and two offsets in order"
        )
    dtype = DType(DTYPES[code])
    _check_order(name, dtype)
    return Entry(name, dtype, numbers["shape"], *offsets)


def make(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> tuple[bytes, list[Array]]:
    """Return the beginning of a file up to its elements, and the arrays in their order.

    The arrays with the greatest elements are first, so that all are aligned. Raises BufferError for
    dtypes that the format does not have, TypeError for names that are not str, and ValueError for
    names that JSON cannot have.
    """
    header: dict[str, object] = {METADATA: dict(metadata)} if metadata else {}
    for text in (*metadata, *metadata.values(), *arrays):
        if not isinstance(text, str):
            raise TypeError(f"names and metadata must be str, not {type(text).__name__}")
    ordered = sorted(arrays.items(), key=lambda item: -item[1].dtype.bits)
    at = 0
    for name, x in ordered:
        code, bits = _CODES.get(x.dtype.name), count_bits(x.shape, x.dtype.bits)
        if name == METADATA:
            raise ValueError(f"the name {name!r} is not one of an array")
        if code is None or bits % 8 != 0:
            raise BufferError(
                f"{name!r}: safetensors has no arrays of {x.dtype} in shape {x.shape}"
                + ("; .npy has" if code is None else ": the bits must fill whole bytes")
            )
        _check_order(name, x.dtype)
        end = at + bits // 8
        header[name] = {"dtype": code, "shape": x.shape, "data_offsets": [at, end]}
        at = end
    try:
        out = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"names and metadata must be UTF-8: {error}") from None
    out += b" " * (-len(out) % ALIGNMENT)
    if len(out) > LONGEST:
        raise ValueError(f"the header has {len(out)} bytes; the limit is {LONGEST}")
    return len(out).to_bytes(8, "little") + out, [x for _, x in ordered]
