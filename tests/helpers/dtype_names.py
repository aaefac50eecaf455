"""Names of all scalar dtypes, by family."""

from __future__ import annotations

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
KINDS = ["e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"]
FLOAT8 = [f"float8_{kind}" for kind in KINDS]
SUB_BYTE = {"float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4}  # bits
SMALL = ["float16", "bfloat16", *FLOAT8, *SUB_BYTE]
REAL = ["float32", "float64", *SMALL]
COMPLEX = ["complex64", "complex128", "complex32"]
NAMES = ["bool", *INTEGERS, *REAL, *COMPLEX]
