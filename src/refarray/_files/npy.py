"""The header of .npy files, versions 1.0 to 3.0: text in the syntax of a Python dict."""

from __future__ import annotations

import re
import sys
from typing import Any, NamedTuple

from refarray._files.scanner import NUMBER, Scanner, count_bits
from refarray._native import DType
from refarray._numpy import _NATIVE

MAGIC = b"\x93NUMPY"
LONGEST = 10_000  # bytes of a header's text, as for NumPy
#: Bytes of a file that are enough to parse its header.
HEAD = 12 + LONGEST
ALIGNMENT = 64  # of the elements in files of save(), as in NumPy's

KEYS = ("descr", "fortran_order", "shape")
QUOTED = re.compile(r"""(?=["'])(?:'([^'\\\x00-\x1f\x7f]*)'|"([^"\\\x00-\x1f\x7f]*)")""")
TRUTH = re.compile(r"(True|False)\b")
LONG = re.compile(NUMBER.pattern + r"L?")  # NumPy on Python 2 wrote 3L
NATIVE, OTHER = "<>" if sys.byteorder == "little" else "><"  # byte orders
CODE = re.compile(r"([<>|])([A-Za-z])(0|[1-9][0-9]{0,8})")
#: Types without a name: as NumPy writes the dtypes of ml_dtypes, all others as V.
UNNAMED = {("f", 1): "float8_e5m2", ("W", 4): "complex32"}
_CODES = {name: code for code, name in _NATIVE.items()}


class Header(NamedTuple):
    """What a header says: the type as NumPy writes it, and where the elements are."""

    code: str
    fortran_order: bool
    shape: tuple[int, ...]
    offset: int


def parse(head: bytes, size: int) -> Header:
    """Return what the header says, from the first HEAD bytes of a file of `size` bytes.

    Raises ValueError for a malformed one.
    """
    version = f"{head[6]}.{head[7]}" if len(head) > 7 else "missing"
    if version not in ("1.0", "2.0", "3.0"):
        raise ValueError(f"the version of .npy is {version}; it must be 1.0, 2.0 or 3.0")
    start = 10 if version == "1.0" else 12
    length = int.from_bytes(head[8:start], "little")
    if length > LONGEST:
        raise ValueError(f"the header's length is {length}; the limit is {LONGEST} bytes")
    text = head[start : start + length]
    if len(text) < length or len(head) < start:
        raise ValueError(f"the file has {size} bytes; its header alone {start + length}")
    if not text.isascii():
        raise ValueError(f"header: {text[:60]!r} is not ASCII, as it is without names of fields")
    fields = _fields(Scanner(text.decode("ascii")))
    return Header(fields["descr"], fields["fortran_order"], fields["shape"], start + length)


def _fields(scanner: Scanner) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for _ in scanner.items("{", "}", comma_at_end=True):
        key = _quoted(scanner, f"one of the keys {KEYS}")
        if key not in KEYS or key in out:
            raise ValueError(
                f"header: the key {key!r} is {'repeated' if key in out else 'unknown'}"
            )
        scanner.take(":")
        out[key] = _READERS[key](scanner)
    scanner.end()
    if missing := [key for key in KEYS if key not in out]:
        raise ValueError(f"header: the key {missing[0]!r} is missing")
    return out


def _quoted(scanner: Scanner, what: str) -> str:
    scanner.match(QUOTED, what)
    start = scanner.text.rfind(scanner.text[scanner.at - 1], 0, scanner.at - 1)
    return scanner.text[start + 1 : scanner.at - 1]


def _shape(scanner: Scanner) -> tuple[int, ...]:
    out: list[int] = []
    scanner.take("(")
    comma = True
    while not scanner.has(")"):
        if not comma:
            scanner.fail("',' or ')'")
        out.append(scanner.count(f"shape[{len(out)}]", LONG))
        comma = scanner.has(",")
    if len(out) == 1 and not comma:
        raise ValueError(f"header: shape is ({out[0]}), a number; it must be a tuple")
    return tuple(out)


_READERS: dict[str, Any] = {
    "descr": lambda scanner: _quoted(scanner, "descr, the type of numbers as text"),
    "fortran_order": lambda scanner: scanner.match(TRUTH, "True or False") == "True",
    "shape": _shape,
}


def to_dtype(code: str, wanted: DType | None) -> DType:
    """Return the dtype of a header's type; `wanted` is the caller's, or None.

    Raises BufferError for types that arrays do not have and for unnamed ones without `wanted`,
    and ValueError if `wanted` is another type.
    """
    found = CODE.fullmatch(code)
    order, kind, size = found.groups() if found else ("", "", "0")
    key = (kind, int(size))
    dtype = None
    is_other = order == OTHER and size != "1"
    if key in _NATIVE and (order != "|" or size == "1"):
        dtype = DType(_NATIVE[key])
        if is_other:
            raise BufferError(
                f"the elements are {'big' if order == '>' else 'little'}-endian, {code!r}, which "
                "no array shares here; "
                'refarray.asarray(numpy.load(path, mmap_mode="r")) copies them'
            )
    elif order == "" or is_other or not (kind == "V" or key in UNNAMED) or size == "0":
        raise BufferError(f"refarray has no dtype for elements of {code!r}")
    elif wanted is None:
        hint = UNNAMED.get(key, "bfloat16" if size == "2" else "float8_e4m3fn")
        raise BufferError(
            f"the elements are {code!r}, {size} bytes each of a type that .npy does not name; "
            f'dtype= must, as in open(path, dtype="{hint}")'
        )
    if wanted is None:
        assert dtype is not None
        return dtype
    if dtype not in (None, wanted) or count_bits((), stored_bits(wanted)) != 8 * int(size):
        raise ValueError(f"dtype is {wanted}; the file has elements of {code!r}")
    return wanted


def stored_bits(dtype: DType) -> int:
    """Return the bits that an element takes in memory."""
    return 8 * dtype.itemsize if dtype.padded else dtype.bits * dtype.lanes


def make(dtype: DType, shape: tuple[int, ...], *, fortran_order: bool) -> bytes:
    """Return the beginning of a file, up to its elements. Raises BufferError for packed dtypes."""
    kind, size = _CODES.get(dtype.name, ("V", dtype.itemsize))
    if stored_bits(dtype) % 8 != 0:
        raise BufferError(
            f".npy has no elements of {stored_bits(dtype)} bits ({dtype}); "
            f'x.astype("{dtype}_padded") has a byte for each'
        )
    order = "|" if (kind, size) in _NATIVE and size == 1 else NATIVE
    text = (
        f"{{'descr': '{order}{kind}{size}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}"
    )
    length = -(-(10 + len(text) + 1) // ALIGNMENT) * ALIGNMENT - 10
    return MAGIC + b"\1\0" + length.to_bytes(2, "little") + f"{text:{length - 1}}\n".encode()
