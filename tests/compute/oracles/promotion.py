"""The promotion tables of the standard, typed by hand, with float16 and bfloat16 beside them."""

from __future__ import annotations

from oracles.formats import ALL, COMPLEX, INTEGERS, REAL_FLOATS

TABLES = """
int8   int8  int16 int32 int64
int16  int16 int16 int32 int64
int32  int32 int32 int32 int64
int64  int64 int64 int64 int64

uint8   uint8  uint16 uint32 uint64
uint16  uint16 uint16 uint32 uint64
uint32  uint32 uint32 uint32 uint64
uint64  uint64 uint64 uint64 uint64

.      uint8 uint16 uint32
int8   int16 int32  int64
int16  int16 int32  int64
int32  int32 int32  int64
int64  int64 int64  int64

float32    float32    float64    complex64  complex128
float64    float64    float64    complex128 complex128
complex64  complex64  complex128 complex64  complex128
complex128 complex128 complex128 complex128 complex128

.        float16   bfloat16
float16  float16   -
bfloat16 -         bfloat16
float32  float32   float32
float64  float64   float64
complex64  complex64  complex64
complex128 complex128 complex128

.    bool
bool bool
"""


def read() -> dict[tuple[str, str], str]:
    """Both orders of every pair that promotes. Without a heading, the rows' names are it."""
    table: dict[tuple[str, str], str] = {}
    for block in TABLES.strip().split("\n\n"):
        rows = [line.split() for line in block.splitlines()]
        heading = [row[0] for row in rows]
        if rows[0][0] == ".":
            heading = rows.pop(0)[1:]
        for name, *results in rows:
            for other, result in zip(heading, results, strict=True):
                if result != "-":
                    table[name, other] = table[other, name] = result
    return table


PROMOTION = read()
UNDEFINED = [(a, b) for a in ALL for b in ALL if (a, b) not in PROMOTION]


def scalar_result(dtype: str, kind: type) -> str | None:
    """The dtype of an array and a Python scalar together; None where the standard has no rule, and
    an error is wanted."""
    if kind is bool:
        return "bool" if dtype == "bool" else None
    if kind is int:
        return None if dtype == "bool" else dtype
    if kind is float:
        return dtype if dtype in (*REAL_FLOATS, *COMPLEX) else None
    if dtype in COMPLEX:
        return dtype
    wide = {
        "float64": "complex128",
        **dict.fromkeys(("float16", "bfloat16", "float32"), "complex64"),
    }
    return wide.get(dtype)


def accumulated(dtype: str) -> str:
    """The dtype of sums and products: small integers become 64 bits wide."""
    if dtype in INTEGERS:
        return "uint64" if dtype.startswith("u") else "int64"
    return dtype
