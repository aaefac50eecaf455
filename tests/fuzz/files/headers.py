"""What the bytes of an input of the fuzz target for files mean: a header of .npy or safetensors.

An input is a seed: it chooses a well-formed header and what is changed in it. `run` raises for any
exception but those that malformed headers have, and if an independent reader finds something else:
of .npy, whose readers elsewhere take more, in what was accepted; of safetensors in what was refused
too. `python headers.py COUNT [FIRST]` runs COUNT inputs and prints how many were accepted.
"""

from __future__ import annotations

import ast
import json
import math
import random
import re
import sys
from typing import Any

from refarray import DType
from refarray._files import npy, safetensors
from refarray._files.scanner import count_bits

GREATEST = 2**63 - 1
NUMBERS = [
    *("0", "1", "2", "3", "8", "00", "01", "-0", "-1", "1.0", "1e2", "2L", "9" * 19, "9" * 30),
    *(str(2**31), str(2**32), str(2**62), str(2**63 - 1), str(2**63), str(2**64), "1_0", "0x10"),
]
PIECES = [
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        '"',
        "'",
        " ",
        "\n",
        "\\",
        "\\u0041",
        "\\ud800",
        "\0",
    ),
    *("None", "True", "False", "null", "NaN", "é", "\ufeff", "[" * 50, "{" * 50, '{"a":' * 50),
    *("'descr'", "'shape'", "'fortran_order'", "'<f4'", "'|O'", "'>i4'", '"dtype"', '"shape"'),
    *(
        '"data_offsets"',
        '"F32"',
        '"F4"',
        '"BOOL"',
        '"__metadata__"',
        '"a"',
        "#",
        "''",
        "u'x'",
        "\f",
    ),
]
EDITS = 3  # of a header, at most
PLACES = ("dtype", "shape", "data_offsets")
NPY_CODES = ["<f4", ">f8", "|b1", "|u1", "<c16", "<V2", "|V1", "<f1", "<W4", "|O", "<M8[ns]", "<U3"]
SHAPES = [(), (0,), (1,), (3,), (2, 3), (2, 0, 3), (1,) * 5, (1,) * 65, (2**40, 2**40), (2**62, 0)]
SHAPES.append((2**62, 4, 0))  # strides for it would overflow
SMALL = [shape for shape in SHAPES if math.prod(shape) < 100]


class Wrong(Exception):
    """An answer that differs from the independent reader's."""


def edited(numbers: random.Random, text: str) -> str:
    """The text with a few changes."""
    for _ in range(numbers.randrange(EDITS + 1)):
        at = numbers.randrange(len(text) + 1)
        end = min(len(text), at + numbers.randrange(1, 12))
        choice = numbers.randrange(6)
        if choice == 0:  # another number
            found = list(re.finditer(r"\d+", text))
            if found:
                chosen = numbers.choice(found)
                new = numbers.choice(NUMBERS)
                if numbers.randrange(2):  # near to the old one, of at most 40 digits
                    new = str(int(chosen[0][:40]) + numbers.choice((-8, -1, 1, 8)))
                text = text[: chosen.start()] + new + text[chosen.end() :]
        elif choice == 1:
            text = text[:at] + numbers.choice(PIECES) + text[at:]
        elif choice == 2:
            text = text[:at] + text[end:]
        elif choice == 3:
            text = text[:end] + text[at:end] + text[end:]
        elif choice == 4:
            text = text[:at] + numbers.choice(PIECES) + text[end:]
        else:  # two items change places
            parts = text.split(",")
            first, second = numbers.randrange(len(parts)), numbers.randrange(len(parts))
            parts[first], parts[second] = parts[second], parts[first]
            text = ",".join(parts)
    return text


# --- .npy


def make_npy(numbers: random.Random) -> tuple[bytes, int]:
    """The beginning of a file, and the file's size."""
    code, shape = numbers.choice(NPY_CODES), numbers.choice(SHAPES)
    text = f"{{'descr': '{code}', 'fortran_order': {numbers.random() < 0.5}, 'shape': {shape}, }}"
    body = edited(numbers, text + " " * numbers.randrange(9) + "\n").encode("utf-8", "replace")
    major = numbers.choice((1, 1, 1, 2, 3)) if numbers.randrange(20) else numbers.randrange(256)
    width = 2 if major == 1 else 4
    length = len(body)
    if numbers.randrange(10) == 0:
        length = max(0, length + numbers.choice((-1, 1, 9, 20_000, 60_000)))
    head = npy.MAGIC + bytes((major, 0)) + min(length, 65535).to_bytes(width, "little") + body
    head = head[: numbers.choice((len(head),) * 9 + (numbers.randrange(len(head) + 1),))]
    return head, len(head) + numbers.randrange(100)


def expected_npy(head: bytes) -> tuple[Any, ...]:
    """What Python's own parser reads in a header that was accepted."""
    width = 2 if head[6] == 1 else 4
    offset = 8 + width + int.from_bytes(head[8 : 8 + width], "little")
    text = head[8 + width : offset].decode("ascii")
    text = re.sub(r"""('[^']*'|"[^"]*"|\d)L?""", r"\1", text)  # Python 3 has no 3L
    node = ast.parse(text.strip(), mode="eval").body
    if not isinstance(node, ast.Dict):
        raise Wrong(f"accepted what is no dict: {head!r}")
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
    if sorted(keys) != sorted(npy.KEYS):
        raise Wrong(f"accepted the keys {keys}: {head!r}")
    found = dict(zip(keys, map(ast.literal_eval, node.values), strict=True))
    shape = found["shape"]
    if type(shape) is not tuple or any(type(n) is not int or not 0 <= n <= GREATEST for n in shape):
        raise Wrong(f"accepted the shape {shape}: {head!r}")
    if type(found["fortran_order"]) is not bool or type(found["descr"]) is not str:
        raise Wrong(f"accepted values of other types: {head!r}")
    return (found["descr"], found["fortran_order"], shape, offset)


def run_npy(numbers: random.Random) -> bool:
    head, size = make_npy(numbers)
    try:
        header = npy.parse(head, size)
    except ValueError:
        return False
    if tuple(header) != expected_npy(head):
        raise Wrong(f"read {header}: {head!r}")
    wanted = DType(numbers.choice(("bfloat16", "float8_e5m2", "complex32", "float32", "bool")))
    try:
        dtype = npy.to_dtype(header.code, numbers.choice((None, wanted)))
        count_bits(header.shape, 8 * dtype.itemsize)
    except (BufferError, ValueError):
        return False
    if dtype.itemsize != int(header.code[2:]) or math.prod(header.shape) > GREATEST:
        raise Wrong(f"took {header.code} for {dtype}: {head!r}")
    return True


# --- safetensors


def make_safetensors(numbers: random.Random) -> tuple[bytes, int]:
    """A header, and the bytes after it."""
    entries: dict[str, Any] = {}
    at = 0
    for name in numbers.sample(["a", "b", "c.weight", "é", "", '"'], numbers.randrange(4)):
        code = numbers.choice(list(safetensors.DTYPES))
        shape = numbers.choice(SMALL)
        if numbers.randrange(10) == 0:  # a gap or an overlap
            at = max(0, at + numbers.choice((-1, 1)))
        end = at + -(-math.prod(shape) * DType(safetensors.DTYPES[code]).bits // 8)
        fields = list(zip(PLACES, (code, shape, (at, end)), strict=True))
        numbers.shuffle(fields)
        entries[name] = dict(fields)
        at = end
    pairs = list(entries.items())
    numbers.shuffle(pairs)
    if numbers.randrange(3) == 0:
        pairs.insert(
            numbers.randrange(len(pairs) + 1), ("__metadata__", {"k": "v", "format": "pt"})
        )
    text = json.dumps(dict(pairs), separators=numbers.choice(((",", ":"), (", ", ": "))))
    header = bytearray(edited(numbers, text).encode("utf-8", "replace"))
    if header and numbers.randrange(20) == 0:
        header[numbers.randrange(len(header))] = numbers.randrange(256)
    return bytes(header), at + (numbers.choice((-1, 1, 8)) if numbers.randrange(20) == 0 else 0)


def expected_safetensors(header: bytes, size: int) -> list[tuple[Any, ...]] | None:
    """What the standard library's parser and the rules of the format make of a header."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("repeated")
        return dict(pairs)

    def whole(digits: str) -> int:
        return int(digits) if len(digits) < 20 and digits[0] != "-" else -1

    def is_text(value: Any) -> bool:
        return isinstance(value, str) and value.encode() is not None

    def sizes(value: Any) -> bool:
        return type(value) is list and all(type(n) is int and 0 <= n <= GREATEST for n in value)

    try:
        found = json.loads(header.decode(), object_pairs_hook=unique, parse_int=whole)
        if header[:1] != b"{" or not all(map(is_text, found)):
            return None
        metadata = found.pop("__metadata__", {})
        if type(metadata) is not dict or not all(map(is_text, [*metadata, *metadata.values()])):
            return None
    except (ValueError, RecursionError):
        return None
    out = []
    for name, fields in found.items():
        if type(fields) is not dict or set(fields) != set(PLACES):
            return None
        code, shape, offsets = (fields[key] for key in PLACES)
        if type(code) is not str or code not in safetensors.DTYPES:
            return None
        if not sizes(shape) or not sizes(offsets) or len(offsets) != 2 or len(shape) > 64:
            return None
        dtype = DType(safetensors.DTYPES[code])
        if math.prod(n or 1 for n in shape) * dtype.bits > 8 * GREATEST:
            return None
        if 8 * (offsets[1] - offsets[0]) != math.prod(shape) * dtype.bits:
            return None
        out.append((name, dtype, tuple(shape), *offsets))
    out.sort(key=lambda entry: entry[3:])
    ends = [0, *(entry[4] for entry in out)]
    return out if [*(entry[3] for entry in out), size] == ends else None


def run_safetensors(numbers: random.Random) -> bool:
    header, size = make_safetensors(numbers)
    try:
        entries = [tuple(entry) for entry in safetensors.parse(header, size).entries]
    except (BufferError, ValueError):
        entries = None
    if entries != expected_safetensors(header, size):
        raise Wrong(f"read {entries} of {size} bytes: {header!r}")
    return entries is not None


FORMATS = (run_npy, run_safetensors)


def run(data: bytes) -> bool:
    """Run one input. Return whether its header was accepted."""
    numbers = random.Random(data)
    return FORMATS[data[0] % 2 if data else 0](numbers)


def main(count: int, first: int = 0) -> None:
    accepted = [0, 0]
    for number in range(first, first + count):
        accepted[number % 2] += run(number.to_bytes(8, "little"))
    print(f"{count} inputs, accepted: {accepted[0]} of .npy, {accepted[1]} of safetensors")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
