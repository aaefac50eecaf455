"""The corpus of managed tensors for import tests: valid and malformed, each with its outcome."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

FLOATS = struct.pack("16f", *range(16))
CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, MANAGED = 1, 2, 3, 10, 11, 13
WILD = 0xDEAD0008  # an unmapped address
FP4 = (17, 4, 1)
INT64_MIN = -(2**63)

#: The supported pairs (code, bits). An import must reject every other pair.
SUPPORTED = {
    *((code, bits) for code in (0, 1) for bits in (8, 16, 32, 64)),
    *((2, bits) for bits in (16, 32, 64)),
    (4, 16),
    *((5, bits) for bits in (32, 64, 128)),
    (6, 8),
    *((code, 8) for code in range(7, 15)),
    (15, 6),
    (16, 6),
    (17, 4),
}


@dataclass(frozen=True)
class Case:
    """One managed tensor: keywords of adversary.make() and the required outcome of an import."""

    row: int
    name: str
    fields: dict[str, Any]
    outcome: str  # "import", "reject" (BufferError) or "either"
    expect: dict[str, Any] = field(
        default_factory=dict
    )  # attributes of the imported array; "values" means tolist()
    req: tuple[str, ...] = ()

    @property
    def versioned(self) -> bool:
        return bool(self.fields.get("versioned", True))

    def __str__(self) -> str:
        return f"{self.row:02}-{self.name}"


CASES: list[Case] = []


def accept(row: int, name: str, req: str, expect: dict[str, Any], /, **fields: Any) -> None:
    fields.setdefault("data", FLOATS)
    CASES.append(Case(row, name, fields, "import", expect, tuple(req.split())))


def reject(row: int, name: str, req: str, /, **fields: Any) -> None:
    fields.setdefault("data", FLOATS)
    CASES.append(Case(row, name, fields, "reject", {}, tuple(req.split())))


def either(row: int, name: str, req: str, expect: dict[str, Any], /, **fields: Any) -> None:
    fields.setdefault("data", FLOATS)
    CASES.append(Case(row, name, fields, "either", expect, tuple(req.split())))


EMPTY = {"shape": (0,), "values": []}
ROW = {"shape": (3,), "values": [0.0, 1.0, 2.0]}
MATRIX = {"shape": (2, 3), "values": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "strides": (3, 1)}

# 1-4: size zero
accept(1, "empty-null", "TENS-04", EMPTY, shape=(0,), data=None)
accept(1, "empty-legacy", "TENS-04", EMPTY, shape=(0,), data=None, versioned=False)
accept(2, "empty-wild-data", "TENS-04", EMPTY, shape=(0,), data=1)
accept(2, "empty-wild-offset", "TENS-04", EMPTY, shape=(0,), data=None, byte_offset=24)
accept(
    3,
    "empty-garbage-strides",
    "TENS-04 TENS-14",
    {"shape": (3, 0, 2)},
    shape=(3, 0, 2),
    strides=(2**40, -5, 7),
    data=WILD,
)
accept(
    3,
    "empty-extreme-strides",
    "TENS-14",
    {"shape": (0, 4)},
    shape=(0, 4),
    strides=(2**62, INT64_MIN),
    data=None,
)
accept(
    4,
    "empty-no-strides",
    "TENS-07",
    {"shape": (2, 0)},
    shape=(2, 0),
    strides=None,
    data=None,
    versioned=False,
)
# 5-6: NULL data, and size zero on a device that is not available
reject(5, "null-data", "TENS-05", shape=(3,), data=None)
reject(5, "null-data-offset", "TENS-05", shape=(3,), data=None, byte_offset=64)
reject(5, "null-data-scalar", "TENS-05", shape=(), data=None)
reject(5, "null-data-legacy", "TENS-05", shape=(3,), data=None, versioned=False)
reject(6, "empty-cuda", "DEV-07", shape=(0,), data=None, device=(CUDA, 0))
# 7-10: ndim against shape
for suffix, versioned in (("", True), ("-legacy", False)):
    accept(
        7,
        f"scalar-null{suffix}",
        "TENS-06 TENS-08",
        {"shape": (), "values": 0.0},
        shape=None,
        strides=None,
        ndim=0,
        versioned=versioned,
    )
accept(8, "scalar-wild", "TENS-08", {"shape": (), "values": 0.0}, shape=WILD, strides=WILD, ndim=0)
for wrong in (-1, 65, 129, 2**31 - 1, -(2**31)):
    reject(9, f"ndim{wrong}", "TENS-09", shape=(1,), ndim=wrong, guarded=True)
accept(9, "ndim64", "TENS-09", {"shape": (1,) * 64}, shape=(1,) * 64, guarded=True)
reject(10, "shape-null", "TENS-08", shape=None, strides=None, ndim=2)
reject(10, "shape-null-strides", "TENS-08", shape=None, strides=(2, 1), ndim=2)
reject(10, "shape-null-legacy", "TENS-08", shape=None, strides=None, ndim=1, versioned=False)
# 11-13: arithmetic
for shape in ((-1,), (2, -3), (INT64_MIN,), (0, -1), (-1, 0), (-1, -1)):
    reject(
        11,
        "negative" + "x".join(map(str, shape)),
        "TENS-10",
        shape=shape,
        strides=(1,) * len(shape),
    )
reject(12, "product", "TENS-10", shape=(2**62, 8))
reject(12, "cube", "TENS-10", shape=(2**31,) * 3)
reject(12, "product-zero-strides", "TENS-10", shape=(2**32, 2**32), strides=(0, 0))
reject(12, "bytes", "TENS-10", shape=(2**61,), dtype=(2, 64, 1))
reject(12, "bytes-zero-stride", "TENS-10", shape=(2**61,), strides=(0,), dtype=(2, 64, 1))
reject(12, "huge-times-zero", "TENS-10", shape=(2**62, 2**62, 0), strides=(1, 1, 1))
reject(13, "stride", "TENS-10", shape=(2,), strides=(2**62,))
reject(13, "stride-min", "TENS-10", shape=(2,), strides=(INT64_MIN,))
reject(13, "extent", "TENS-10", shape=(2**30,), strides=(2**40,))
reject(13, "extent-sum", "TENS-10", shape=(2, 2), strides=(2**60, 2**60))
reject(13, "wraps-above", "TENS-10", shape=(8,), data=2**64 - 16)
reject(13, "wraps-below", "TENS-10", shape=(8,), strides=(-1,), data=16)
# 14-18: legal layouts
accept(
    14,
    "zero-strides",
    "TENS-13",
    {"shape": (1000, 1000), "strides": (0, 0), "readonly": False},
    shape=(1000, 1000),
    strides=(0, 0),
)
accept(
    15,
    "negative-stride",
    "TENS-12",
    {"values": [3.0, 2.0, 1.0, 0.0], "strides": (-1,)},
    shape=(4,),
    strides=(-1,),
    data_offset=12,
)
accept(16, "offset8", "TENS-01", {"values": [2.0, 3.0, 4.0]}, byte_offset=8)
accept(
    16,
    "offset8-matrix",
    "TENS-01",
    {"values": [[2.0, 3.0], [4.0, 5.0]]},
    shape=(2, 2),
    byte_offset=8,
)
accept(16, "offset8-legacy", "TENS-01", {"values": [2.0, 3.0, 4.0]}, byte_offset=8, versioned=False)
either(
    16,
    "offset1",
    "TENS-01 TENS-20",
    {"values": list(struct.unpack_from("3f", FLOATS, 1))},
    byte_offset=1,
)
reject(16, "offset-2**63", "TENS-01 TENS-10", byte_offset=2**63)
reject(16, "offset-2**64-1", "TENS-01 TENS-10", byte_offset=2**64 - 1)
accept(17, "offset-scalar", "TENS-01", {"shape": (), "values": 2.0}, shape=(), byte_offset=8)
accept(
    18,
    "one-row",
    "TENS-14",
    {"values": [[0.0, 1.0, 2.0, 3.0, 4.0]]},
    shape=(1, 5),
    strides=(12345, 1),
)
accept(18, "one-column", "TENS-14", {"shape": (5, 1)}, shape=(5, 1), strides=(1, -7))
accept(18, "one-huge", "TENS-14", {"values": [0.0]}, shape=(1,), strides=(2**62,))
accept(18, "one-min", "TENS-14", {"values": [0.0]}, shape=(1,), strides=(INT64_MIN,))
# 19-23: versions and NULL members
VERSIONS: dict[str, dict[str, Any]] = {
    "legacy": {"versioned": False},
    "minor0": {"version": (1, 0)},
    "minor1": {"version": (1, 1)},
    "minor2": {"version": (1, 2)},
    "minor3": {"version": (1, 3)},
}
for name, fields in VERSIONS.items():
    clauses = "" if name in ("minor2", "minor3") else "VERS-11 TENS-07"  # here by policy A-02
    accept(19, f"strides-null-{name}", clauses, MATRIX, shape=(2, 3), strides=None, **fields)
for major in (0, 2, 2**32 - 1):
    reject(20, f"major{major}", "VERS-02 ABI-02", version=(major, 3), unmapped_body=True)
    reject(
        22,
        f"major{major}-no-deleter",
        "VERS-02 LIFE-02",
        version=(major, 0),
        unmapped_body=True,
        deleter=None,
    )
accept(21, "minor99", "VERS-03", ROW, version=(1, 99))
reject(21, "minor99-new-code", "VERS-03 ABI-04", version=(1, 99), dtype=(18, 32, 1))
accept(21, "minor-max", "VERS-03", ROW, version=(1, 2**32 - 1))
accept(22, "no-deleter-empty", "LIFE-02", EMPTY, shape=(0,), data=None, deleter=None)
accept(22, "no-deleter", "LIFE-02", ROW, deleter=None)
reject(22, "no-deleter-null-data", "LIFE-02 TENS-05", data=None, deleter=None)
accept(23, "no-context", "LIFE-28", ROW, manager_ctx=False)
# 24-25: flags
accept(24, "flags0", "FLAG-10", {"readonly": False}, flags=0)
accept(24, "read-only", "FLAG-10", {"readonly": True, **ROW}, flags=1)
accept(24, "copied", "FLAG-10", {"readonly": False, **ROW}, flags=2)
accept(24, "read-only-copied", "FLAG-10", {"readonly": True, **ROW}, flags=3)
accept(
    25,
    "padded-fp4",
    "FLAG-07 DTYPE-09",
    {"dtype": "float4_e2m1fn_padded", "readonly": False},
    flags=4,
    dtype=FP4,
    shape=(8,),
)
accept(25, "packed-fp4", "DTYPE-09", {"dtype": "float4_e2m1fn"}, dtype=FP4, shape=(8,))
either(25, "padded-float32", "FLAG-07", ROW, flags=4)
accept(25, "unknown-bit", "FLAG-08", ROW, flags=1 << 3)
accept(25, "unknown-top-bit", "FLAG-08", ROW, flags=1 << 63)
accept(25, "unknown-bit-read-only", "FLAG-08", {"readonly": True, **ROW}, flags=1 << 3 | 1)
reject(25, "unknown-bit-new-minor", "FLAG-08", flags=1 << 3, version=(1, 4))
reject(25, "unknown-bit-fp4", "FLAG-08", flags=1 << 3, dtype=FP4, shape=(8,))
# 26-28: dtypes (27 is in test_import, which tries every code with every width)
reject(26, "lanes0", "DTYPE-12", dtype=(2, 32, 0))
accept(26, "lanes2", "DTYPE-12", {"dtype": "float32x2", "shape": (3,)}, dtype=(2, 32, 2))
either(
    26,
    "lanes-max",
    "DTYPE-12",
    {"dtype": "float32x65535"},
    dtype=(2, 32, 65535),
    shape=(1,),
    data=bytes(4 * 65535),
)
accept(26, "fp4-lanes2", "DTYPE-08", {"dtype": "float4_e2m1fnx2"}, dtype=(17, 4, 2))
for code, bits in ((3, 64), (3, 8), (18, 16), (18, 32), (19, 8), (99, 8), (255, 8), (255, 255)):
    clauses = "DTYPE-13 DTYPE-14" if code == 3 else "ABI-04 DTYPE-13"
    reject(28, f"code{code}-{bits}", clauses, dtype=(code, bits, 1))
# 29-32: devices, on a machine without a GPU
for kind in (-1, 0, *range(4, 10), 12, *range(14, 23), 99, 2**31 - 1, -(2**31)):
    clauses = "DEV-07 DEV-10" if kind in (4, 7, 8) else "ABI-03 DEV-07"
    reject(29, f"device{kind}", clauses, device=(kind, 0), data=WILD)
for kind in (CUDA, ROCM, MANAGED):
    reject(32, f"device{kind}-host-pointer", "DEV-07", device=(kind, 0))
accept(
    30, "cpu-minus1", "CONS-10", {**ROW, "device": "cpu"}, device=(CPU, -1), dunder_device=(1, 0)
)
accept(30, "cpu7", "CONS-10", {**ROW, "device": "cpu"}, device=(CPU, 7), dunder_device=(1, 0))
reject(30, "cuda99", "DEV-07", device=(CUDA, 99))
reject(30, "cuda-minus1", "DEV-07", device=(CUDA, -1))
either(31, "struct-cpu", "CONS-10", ROW, device=(CPU, 0), dunder_device=(CUDA, 0))
reject(31, "struct-cuda", "CONS-10", device=(CUDA, 0), dunder_device=(CPU, 0))
accept(31, "cuda-host", "DEV-04", {**ROW, "device": "cuda_host"}, device=(CUDA_HOST, 0))
accept(31, "rocm-host", "DEV-04", {**ROW, "device": "rocm_host"}, device=(ROCM_HOST, 0))
accept(
    31,
    "pinned-but-cpu",
    "CONS-10",
    {**ROW, "device": "cpu"},
    device=(CPU, 0),
    dunder_device=(CUDA_HOST, 0),
)
# 42: the consumer reads nothing beyond the entries and writes nothing of the producer's
accept(42, "guarded", "ABI-05", MATRIX, shape=(2, 3), guarded=True)
accept(42, "guarded-legacy", "ABI-05", MATRIX, shape=(2, 3), guarded=True, versioned=False)
accept(42, "frozen", "LIFE-19", MATRIX, shape=(2, 3), frozen=True)
accept(
    42,
    "frozen-no-strides",
    "LIFE-19",
    MATRIX,
    shape=(2, 3),
    strides=None,
    frozen=True,
    versioned=False,
)
